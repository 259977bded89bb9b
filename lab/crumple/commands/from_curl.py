"""What --curl asks → the URL and the flags that ask the same, whichever command sends it."""

import os
import sys
from typing import TypeVar

from crumple.commands import output
from crumple.load.load_flags import CurledFlags

Flags = TypeVar("Flags", bound=CurledFlags)


def translate(flags: Flags, verb: str) -> tuple[str, Flags]:
    """Return the URL of the command of curl, and the flags with what else it asks. Raises UsageError."""
    # Imported here because few requests come from curl.
    from crumple.typed import curl_command, curl_here
    from crumple.words import masked

    assert flags.curl is not None
    if flags.curl == "-" and sys.stdin.isatty():
        output.say("paste the command of curl, then press Ctrl-D on a line of its own")
    text = sys.stdin.read() if flags.curl == "-" else curl_command.text_of(flags.curl)
    found = curl_command.command(text, curl_here.installed_curl(), os.environ.get if flags.env else None)
    masked.hide(found.secrets)
    for note in found.notes:
        output.say(note)
    return found.url, curl_command.beside(flags, found, verb)
