"""The report of one search for the breaking point, all of it from `find_figures.Finding`. Starts nothing."""
