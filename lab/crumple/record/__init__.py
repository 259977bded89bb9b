"""What one trial's record says: its figures, and whether it measured the server. Pure.

`stats` and `verdict` say what several records come to.
"""
