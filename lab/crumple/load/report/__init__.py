"""One load as a reader meets it, all from `load_figures.Load`: summary, page, CSV and HDR log.

Starts nothing.
"""
