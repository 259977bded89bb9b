"""This machine: its facts, cores, costs and ceiling, who else works on it, and processes on it."""
