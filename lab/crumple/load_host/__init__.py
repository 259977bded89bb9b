"""The machines that loads come from, unless it is the server's own: the ways there, and their engines."""
