"""Servers: described by their folder, checked, built, started and stopped; `servers` is the way in.

Whether their answers are right is `verify`'s, installing what they need `setup`'s.
"""
