"""Reports of a run. Every format is a pure function of a `RunView`, which is read from stored records.

Nothing here starts or measures anything.
"""
