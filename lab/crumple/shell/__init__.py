"""What shells and man need to know of the commands: completion, and pages of the manual."""
