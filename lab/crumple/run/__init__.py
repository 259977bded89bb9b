"""A run of a study: its trials in order, each step by step, how they are kept on disk, and the run's report.

`study` says what is asked, `verdict` what it came to.
"""
