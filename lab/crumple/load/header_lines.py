"""Headers as typed: "Name: value", and the one for a user and a password; which ones HTTP allows."""

import base64
import re

from crumple.errors import Mistakes, UsageError

# What a method and the name of a header consist of (RFC 9110, 5.6.2).
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def parse(text: str, *, flag: str = "-H") -> tuple[str, str]:
    """Name and value of "Name: value". Raises UsageError."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"{flag} {text}: that is no header", 'write it as "Name: value"')
    return name.strip(), value.strip()


def basic(flag: str, typed: str) -> str:
    """Return the header value for a user and a password, as in "me:secret". Raises UsageError."""
    if ":" not in typed:
        raise UsageError(f"{flag} {typed}: that names no password", f"write {flag} USER:PASSWORD")
    return "Basic " + base64.b64encode(typed.encode(errors="surrogateescape")).decode()


def check(name: str, value: str, mistakes: Mistakes) -> None:
    """Record what HTTP does not allow in a header."""
    if not TOKEN.fullmatch(name):
        mistakes.add(f'"{name}" is no name of a header', "write letters, digits and hyphens")
    if any((letter < " " and letter != "\t") or letter == "\x7f" for letter in value):
        mistakes.add(f"the header {name} holds a control character", "take line breaks out of it")
