"""One search for the breaking point as a reader meets it, all from `figures.Finding`. Starts nothing."""
