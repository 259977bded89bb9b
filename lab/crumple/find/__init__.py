"""The search for the breaking point: which load comes next, whether it held, and where the server breaks.

`load` runs one load. `report` puts the result into words and charts.
"""
