"""A run of a study: its trials in order, each step by step, and how they are kept on disk.

Nothing is judged or drawn here; what the study says is `study`'s.
"""
