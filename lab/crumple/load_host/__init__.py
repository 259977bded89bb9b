"""The machine that the load comes from, if it is another than the server's: the way to it, and its engine."""
