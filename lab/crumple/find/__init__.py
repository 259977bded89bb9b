"""The search for the breaking point: which load comes next, whether it held, what the levels come to.

How one load is put on is `load`'s, how the result looks `report`'s.
"""
