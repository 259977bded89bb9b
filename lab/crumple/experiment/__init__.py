"""Experiments on a server: each changes one thing, in turn with a control, and undoes it whatever happens."""
