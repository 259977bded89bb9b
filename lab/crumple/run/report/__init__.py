"""Reports of a run: everything derives from a `RunView`, and each format is a pure function of it.

Reads stored records; starts and measures nothing.
"""
