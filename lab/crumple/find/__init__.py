"""The search for the breaking point: which load comes next, whether it held, and where the server breaks.

`load` runs one load. `report` puts the result into words and charts.
"""

import sys

from crumple.called import Called

# So that crumple.find(URL) measures.
sys.modules[__name__].__class__ = Called
