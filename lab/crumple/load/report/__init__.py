"""The report of one load, all of it from `LoadDocument`: screens, page, CSV and HDR log. Starts nothing."""
