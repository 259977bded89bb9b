"""Takes the middle out of the longest texts of a JSON stream: memory and time then do not grow with them.

A HAR holds the body of every answer, and a log may be one long array. A parser has to keep a text until its
end, and looks at its beginning again for each block that it reads. It also keeps the path to each level that
is open, so depth is bounded.
"""

import re
from itertools import accumulate
from typing import IO

# Bytes that are read at a time. A text that fills a whole block loses what that block holds of it.
BLOCK_BYTES = 256 << 10
# What stands there instead. It begins with NUL, which no typed text has.
CUT = "\0crumple cut this\0"
_CUT_AS_JSON = b"\\u0000crumple cut this\\u0000"
# Levels that may be open at a time. A HAR has about ten.
DEPTH_MAX = 1_000
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# What a byte adds to the depth.
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
# What the block before may have begun: an escape such as \u00e9, or a letter of several bytes.
_REMNANT = re.compile(rb"[0-9a-fA-F]{0,4}[\x80-\xbf]{0,3}")
_BEGUN_LETTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")


class TooDeep(Exception):  # noqa: N818 - says what happened
    """More levels are open at a time than DEPTH_MAX."""


class Shortened:
    """A stream of JSON without the middle of its longest texts."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_inside = False
        self._begun = b""
        self._depth = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next block; empty at the end. It may be longer than `size`, unless that is 0.

        Raises TooDeep.
        """
        if size == 0:
            return b""
        block = self._begun + self._stream.read(BLOCK_BYTES)
        # An escape must not end up in two blocks.
        backslashes = len(block) - len(block.rstrip(b"\\"))
        self._begun = b"\\" if backslashes % 2 and len(block) > 1 else b""
        block = block.removesuffix(self._begun)
        parts = _ESCAPE.sub(b"", block).split(b'"')
        quotes = len(parts) - 1
        if self._is_inside and not quotes and len(block) >= BLOCK_BYTES // 2:
            return _without_middle(block)
        self._count_levels(b"".join(parts[self._is_inside :: 2]))
        self._is_inside ^= quotes % 2 == 1
        return block

    def _count_levels(self, outside: bytes) -> None:
        """Count the levels that open and close. `outside`: what is in no text."""
        brackets = outside.translate(None, _NO_BRACKETS)
        opened = brackets.count(b"[") + brackets.count(b"{")
        most = self._depth + opened
        if most > DEPTH_MAX:
            most = max(accumulate(map(_STEPS.__getitem__, brackets), initial=self._depth))
        if most > DEPTH_MAX:
            raise TooDeep
        self._depth += 2 * opened - len(brackets)


def _without_middle(block: bytes) -> bytes:
    remnant = _REMNANT.match(block)
    begun = _BEGUN_LETTER.search(block, len(block) - 3)
    return (remnant[0] if remnant else b"") + _CUT_AS_JSON + (begun[0] if begun else b"")
