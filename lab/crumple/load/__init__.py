"""One load on one address: what was typed → a load as it is meant → the engine's spec, and its report.

`run` runs the loads of a study.
"""

import sys

from crumple.called import Called

# So that crumple.load(URL) measures.
sys.modules[__name__].__class__ = Called
