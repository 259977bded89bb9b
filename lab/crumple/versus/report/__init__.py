"""How a comparison of versions reads: words, a terminal's screen, a page, data."""
