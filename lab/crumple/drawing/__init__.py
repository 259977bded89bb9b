"""How numbers, charts, pages and terminals look, independent of what they show."""
