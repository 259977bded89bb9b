"""What a crumple left that was killed together with its guard, cleared away before a command begins."""

from crumple.commands import output
from crumple.processes import leftovers


def away() -> None:
    """End and remove it, and say so."""
    if ended := leftovers.end_all():
        output.say(str(ended))
