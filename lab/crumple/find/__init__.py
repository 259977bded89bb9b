"""The search for the breaking point: which load comes next, whether it held, what the levels come to.

`load` puts one load on a server. `report` words and draws the result.
"""
