"""What a server is and what limits it, from what was observed of it: pure, nothing is started or sent."""
