"""A study over a cluster: its blocks are dealt to hosts, over Dask's `distributed`, which is an extra."""
