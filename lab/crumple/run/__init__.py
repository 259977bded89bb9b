"""Run a study: plan its trials, execute them in order, store each one, and report the run.

`study` defines what a study may ask; `verdict` judges what was measured.
"""
