"""`crumple versus`: compares versions of a service, in interleaved blocks, until it is decided or time is over."""
