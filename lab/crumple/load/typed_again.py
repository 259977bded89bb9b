"""The command that was typed, as somebody with more rights types it: a remedy can be copied as it is."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping

from crumple.words import masked_flags

# Commands that look for the process of a server. In a notebook none of them was typed.
_VERBS = ("load", "find", "diagnose", "versus")


def command(places: Mapping[str, str] | None = None) -> str:
    """Return the command that was typed, without secrets. `places`: a word → what stands in its place."""
    program, *words = sys.argv
    if words[:1] == [] or words[0] not in _VERBS:
        return "crumple"
    placed = [(places or {}).get(word, word) for word in words]
    return shlex.join([program, *masked_flags.arguments(placed)])


def as_root(typed: str) -> str:
    """Return how a command is typed that needs root's rights: with sudo, if that is installed and needed."""
    return f"sudo {typed}" if os.geteuid() != 0 and shutil.which("sudo") else typed
