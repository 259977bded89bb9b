"""crumple diagnose: what a server is, where its time goes and what limits it, from a minute of loads."""
