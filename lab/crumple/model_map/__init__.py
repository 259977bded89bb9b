"""A map: which I/O model serves most, for how much waiting, how much computing and how many users.

Operational laws and measured costs say what each server would answer anywhere; what was measured corrects
them. Pure: it reads, and starts nothing.
"""
