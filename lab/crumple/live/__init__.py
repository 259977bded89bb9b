"""What the user sees while something goes on, always on stderr: a run, a load, a search.

Nothing is kept or judged here; what is shown afterwards is `report`'s.
"""
