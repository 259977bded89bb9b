"""Judge a run: the verdict on each claim, and the comparison of two runs. Pure: reads no file.

Figures come from `record` and claims from `study`; `run/report` draws pages and tables.
"""
