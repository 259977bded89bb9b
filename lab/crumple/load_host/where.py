"""Reads what `--from` or `cluster up` names: an ssh destination, or a command that gives a shell there.

Neither passes through a shell of this machine. What runs there is `sh`, without arguments: so ssh, sudo or
kubectl, which join or quote arguments in different ways, have nothing to change.
"""

import shlex
from dataclasses import dataclass
from pathlib import PurePath

from crumple.errors import UsageError
from crumple.words import masked

# How the system's ssh is called. Its configuration applies, except for what opens a socket on this machine,
# asks somebody, or changes what the streams carry.
SSH = (
    *("ssh", "-T", "-a", "-x"),
    *("-o", "BatchMode=yes"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ControlMaster=no"),
    *("-o", "RemoteCommand=none"),
    *("-o", "LogLevel=ERROR"),
    # A connection that is cut ends ssh, too, so that none is left when crumple was killed.
    *("-o", "ServerAliveInterval=1"),
    *("-o", "ServerAliveCountMax=3"),
)
# Seconds for ssh to connect: a SYN that is lost is sent again after 1, 3 and 7 s.
CONNECT_S = 10


@dataclass(frozen=True)
class Where:
    """A load host as the user named it. `command`: the words of a command; empty: an ssh destination."""

    text: str
    command: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As results and messages say it: without secrets."""
        return masked.load_host(self.text)

    @property
    def is_ssh(self) -> bool:
        """Whether the messages are those of ssh."""
        return PurePath(self.program).name == "ssh"

    @property
    def program(self) -> str:
        """What is started on this machine."""
        return self.command[0] if self.command else SSH[0]

    def argv(self, connect_s: int = CONNECT_S) -> tuple[str, ...]:
        """The command that gives a shell there."""
        if self.command:
            return (*self.command, "sh")
        return (*SSH, "-o", f"ConnectTimeout={connect_s}", "--", self.text, "sh")


def read(text: str, before: str = "--from") -> Where:
    """Return what `text` means. `before`: what is typed before it. Raises UsageError."""
    words = text.strip()
    if not words or not words.isprintable():
        raise UsageError(
            f"{before} {text!r} names no host", f"name one: {before} loader, or {before} user@host"
        )
    if words.startswith("-"):
        raise UsageError(f"{before} {text!r} is an option, not a host", f"name one: {before} user@host")
    if " " not in words:
        return Where(words)
    try:
        command = tuple(shlex.split(words))
    except ValueError as error:
        raise UsageError(f"{before} {text!r} is no command: {error}", "close its quotes") from None
    return Where(words, command)
