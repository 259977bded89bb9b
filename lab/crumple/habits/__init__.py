"""What other load generators send by default, and what their flags mean: data, one module for each tool.

Three things are made of them: what an error says of a flag of another tool (`remedies`), what `--like TOOL`
means (`typed/like.py`), and docs/coming-from.md. The loads themselves are planned in `load`.
"""
