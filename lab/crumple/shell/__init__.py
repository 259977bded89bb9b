"""What shells and man need to know of the commands: completion, and pages of the manual."""

# The first word of a command line that a shell asks at a Tab.
COMPLETE = "--complete"
