"""One load on one address: what was typed → a load as it is meant → the engine's spec.

What is seen meanwhile is `live`'s, what came of it `record`'s and `report`'s; a study's trials are `run`'s.
"""
