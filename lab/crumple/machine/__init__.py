"""This machine: its facts, cores, costs and ceiling, the CPU use of other programs, and its processes."""
