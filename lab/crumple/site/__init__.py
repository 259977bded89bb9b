"""A history of results as a folder of pages that needs no process of ours: index, series, comparisons."""
