"""Reads a study with its claims and load shapes into frozen types, or reports everything that is wrong.

Nothing is started or measured here: `run` orders the trials, `verdict` judges the claims.
"""
