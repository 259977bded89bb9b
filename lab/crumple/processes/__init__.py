"""Processes, whatever they are for: under the guard, found by their port, followed to their descendants.

No server and no database is known here.
"""
