"""What was seen of a server, alone and under load, as plain figures; pure, nothing is started or sent."""
