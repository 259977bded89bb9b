"""Whether a text is a host: a name as the DNS has them, or an address. It resolves nothing. Pure."""

import ipaddress
import re
import socket
from functools import lru_cache

LETTERS_MAX = 253
# Names within a network may have underscores.
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?", re.ASCII | re.IGNORECASE)
_ZONE = re.compile(r"[\w.~-]+", re.ASCII)


@lru_cache(maxsize=1024)
def is_host(text: str) -> bool:
    """Return whether a load could go there, if the name has an address."""
    if ":" in text:
        return _is_ipv6(text)
    if not 0 < len(text) <= LETTERS_MAX:
        return False
    try:
        name = text if text.isascii() else text.encode("idna").decode("ascii")
    except UnicodeError:
        return False
    if len(name) > LETTERS_MAX or not _NAME.fullmatch(name):
        return False
    return _is_ipv4(name) if name.rstrip(".").rpartition(".")[2].isdecimal() else True


def _is_ipv4(text: str) -> bool:
    """Whether it is an address, which may be short: 127.1."""
    try:
        socket.inet_aton(text)
    except OSError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    address, percent, zone = text.partition("%")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return not percent or bool(_ZONE.fullmatch(zone))
