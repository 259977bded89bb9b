"""Compare versions of a service in interleaved blocks, until it is decided or the time is over."""
