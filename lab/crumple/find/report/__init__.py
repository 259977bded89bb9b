"""The report of one search for the breaking point, all of it from its document. Starts nothing."""
