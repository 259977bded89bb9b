"""Takes the middle out of the longest texts of a JSON stream: memory and time then do not grow with them.

A HAR holds the body of every answer. A parser has to keep a text until its end, and looks at its beginning
again for each block that it reads.
"""

import re
from typing import IO

# A text that fills a whole block loses what that block holds of it.
BLOCK_BYTES = 256 << 10
# What stands there instead. It begins with NUL, which no typed text has.
CUT = "\0crumple cut this\0"
_CUT_AS_JSON = b"\\u0000crumple cut this\\u0000"
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
# What the block before may have begun: an escape such as \u00e9, or a letter of several bytes.
_REMNANT = re.compile(rb"[0-9a-fA-F]{0,4}[\x80-\xbf]{0,3}")
_BEGUN_LETTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")


class Shortened:
    """A stream of JSON without the middle of its longest texts."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_inside = False
        self._begun = b""

    def read(self, size: int = -1) -> bytes:
        """Return the next block; empty at the end. It may be longer than `size`, unless that is 0."""
        if size == 0:
            return b""
        block = self._begun + self._stream.read(BLOCK_BYTES)
        # An escape must not end up in two blocks.
        backslashes = len(block) - len(block.rstrip(b"\\"))
        self._begun = b"\\" if backslashes % 2 and len(block) > 1 else b""
        block = block.removesuffix(self._begun)
        quotes = _ESCAPE.sub(b"", block).count(b'"')
        if self._is_inside and not quotes and len(block) >= BLOCK_BYTES // 2:
            return _without_middle(block)
        self._is_inside ^= quotes % 2 == 1
        return block


def _without_middle(block: bytes) -> bytes:
    remnant = _REMNANT.match(block)
    begun = _BEGUN_LETTER.search(block, len(block) - 3)
    return (remnant[0] if remnant else b"") + _CUT_AS_JSON + (begun[0] if begun else b"")
