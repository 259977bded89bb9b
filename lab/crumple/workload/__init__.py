"""What a request asks and the exact answer, with the data that answers are computed from.

It asks nobody: servers and the database hold the same data, and `verify` and the engine compare.
"""
