"""What is asked, as written: a study, its claims and load shapes → frozen types, or all that is wrong.

It starts nothing and measures nothing: the order of trials is `run`'s, what a claim comes to `verdict`'s.
"""
