"""What a trial's record says: its figures, and whether it measured the server. Pure.

Only one record at a time; what several come to is `stats`' and `verdict`'s.
"""
