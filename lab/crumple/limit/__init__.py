"""What limits a server, and what a change of it would give: the findings, and the laws that predict; pure."""
