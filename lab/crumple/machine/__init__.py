"""This machine: its facts, whether it is fit, its cores, and what it and the engine reach on it.

What servers do on it is for `run` and `record` to say.
"""
