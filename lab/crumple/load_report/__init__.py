"""One load as a reader meets it: summary, page, CSV and HDR log, all from `figures.Load`. Starts nothing."""
