"""How numbers, charts, pages and terminals look, whatever they show."""
