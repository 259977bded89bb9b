"""The file that the workload `hash` reads: 65,536 bytes that every machine makes alike.

Where a server finds it is told at its start.
"""

import hashlib
from functools import cache

BLOCKS = 2048


@cache
def content() -> bytes:
    """The bytes: SHA-256 of "crumple 0", of "crumple 1" and so on, one after the other."""
    return b"".join(hashlib.sha256(b"crumple %d" % number).digest() for number in range(BLOCKS))
