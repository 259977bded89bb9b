"""HdrHistogram's transport format, V2 compressed and base64: text → counts by cell, and back. Pure.

Not the package hdrhistogram: it brings packages that nothing else needs, and arrays of cells that are mostly
empty. A load's histogram has some hundred cells that are not.
"""

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

# The cookies of the two parts of the format, as HdrHistogram writes them.
_COMPRESSED, _PLAIN = 0x1C849304 | 0x10, 0x1C849303 | 0x10
# The lowest byte but one of a cookie says how wide counts are: here, of a width of their own (LEB128).
_WIDTH_BITS = 0xF0
_OUTER = struct.Struct(">II")
# Cookie, length of what follows, offset of the first cell, digits, lowest and highest value, their factor.
_INNER = struct.Struct(">IIIIQQd")
# A number of 63 bits takes nine bytes of seven bits each.
_LEB128_BYTES_MAX = 9
# The most bytes that are decompressed: no histogram of times is longer.
_BYTES_MAX = 4 << 20
# The format keeps one to five decimal digits.
_DIGITS = range(1, 6)


class NotAHistogramError(ValueError):
    """The text is no histogram in this format."""


@dataclass(frozen=True)
class Cells:
    """Counts above 0 by the cell's index, in rising order, and the layout of the cells."""

    counts: Mapping[int, int]
    digits: int
    lowest: int
    highest: int

    @cached_property
    def half(self) -> int:
        """Half as many cells as tell apart the values of the first bucket: a power of two."""
        values = 2 * int(10**self.digits)
        return 1 << ((values - 1).bit_length() - 1)

    @cached_property
    def unit_magnitude(self) -> int:
        """The binary logarithm of the narrowest cell's width."""
        return max(self.lowest, 1).bit_length() - 1

    @cached_property
    def buckets(self) -> int:
        """How many buckets reach from the lowest to the highest value."""
        # Each is twice as wide as the one before.
        first = 2 * self.half << self.unit_magnitude
        return 1 + max(0, (self.highest // first).bit_length())

    def middle(self, index: int) -> int:
        """The middle of a cell."""
        lowest, width = self._cell(index)
        return lowest + width // 2

    def top(self, index: int) -> int:
        """The highest value of a cell."""
        lowest, width = self._cell(index)
        return lowest + width - 1

    def _cell(self, index: int) -> tuple[int, int]:
        """The lowest value of a cell, and its width. All buckets but the first have half the cells."""
        # The first two halves have the same width; each later half is twice as wide as the one before.
        bucket = max(index // self.half - 1, 0)
        shift = bucket + self.unit_magnitude
        return (index - bucket * self.half) << shift, 1 << shift


def read(encoded: str) -> Cells:
    """Decode the text. Raises NotAHistogramError."""
    try:
        raw = base64.b64decode(encoded, validate=True)
        cookie, length = _OUTER.unpack_from(raw)
        if cookie | _WIDTH_BITS != _COMPRESSED | _WIDTH_BITS:
            raise NotAHistogramError(f"it begins with {cookie:#x}")
        if length != len(raw) - _OUTER.size:
            raise NotAHistogramError(f"{length} bytes should follow, not {len(raw) - _OUTER.size}")
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(raw[_OUTER.size :], _BYTES_MAX)
        if not unpacking.eof:
            raise NotAHistogramError("it is cut off or too long")
        cookie, length, _, digits, lowest, highest, _ = _INNER.unpack_from(plain)
    except (ValueError, struct.error, zlib.error) as error:
        raise NotAHistogramError(str(error)) from None
    if cookie != _PLAIN or digits not in _DIGITS:
        raise NotAHistogramError(f"its counts begin with {cookie:#x}")
    return Cells(_counts(plain[_INNER.size : _INNER.size + length]), digits, lowest, highest)


def write(cells: Cells) -> str:
    """Encode the cells."""
    counts = b"".join(_packed(cells.counts))
    head = _INNER.pack(_PLAIN, len(counts), 0, cells.digits, cells.lowest, cells.highest, 1.0)
    packed = zlib.compress(head + counts)
    return base64.b64encode(_OUTER.pack(_COMPRESSED, len(packed)) + packed).decode()


def _counts(packed: bytes) -> dict[int, int]:
    """Unpack the counts: of each number (zigzag, LEB128) one above 0 is a count, one below 0 skips cells."""
    counts: dict[int, int] = {}
    index = at = 0
    while at < len(packed):
        byte = packed[at]
        at += 1
        value = byte & 0x7F
        shift = 7
        while byte & 0x80:
            if at == len(packed):
                raise NotAHistogramError("its last count is cut off")
            byte = packed[at]
            at += 1
            if shift == 7 * (_LEB128_BYTES_MAX - 1):
                # The ninth byte has eight bits.
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            shift += 7
        number = (value >> 1) ^ -(value & 1)
        if number > 0:
            counts[index] = number
            index += 1
        else:
            index += -number or 1
    return counts


def _packed(counts: Mapping[int, int]) -> Iterator[bytes]:
    following = 0
    for index in sorted(counts):
        if index > following:
            yield _leb128(2 * (index - following) - 1)
        yield _leb128(2 * counts[index])
        following = index + 1


def _leb128(value: int) -> bytes:
    """Pack a number that is not below 0 in 1 to 9 bytes."""
    packed = bytearray()
    while value > 0x7F and len(packed) < _LEB128_BYTES_MAX - 1:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    packed.append(value)
    return bytes(packed)
