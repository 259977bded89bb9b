"""Getting ready, once: packages, the database and every server's build, after showing them and asking.

What is checked before each run is `run.ready`'s.
"""
