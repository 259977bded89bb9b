"""One trial's record: its figures, and whether it measured the server. Pure.

`stats` and `verdict` compare and combine several.
"""
