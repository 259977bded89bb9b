"""The Python API: measure from Python, and results that a notebook shows."""
