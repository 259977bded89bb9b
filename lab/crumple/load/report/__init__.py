"""The report of one load, all of it from `load_figures.Load`: summary, page, CSV and HDR log.

Starts nothing.
"""
