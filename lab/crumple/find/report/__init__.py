"""One search for the breaking point as a reader meets it, all from `find_figures.Finding`. Starts nothing."""
