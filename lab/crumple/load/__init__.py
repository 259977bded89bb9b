"""One load on one address: what was typed → a load as it is meant → the engine's spec, and its report.

`run` runs the loads of a study.
"""
