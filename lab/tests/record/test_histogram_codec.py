"""The transport format of histograms: against the package hdrhistogram, both ways; what is no histogram."""

import base64
import zlib
from dataclasses import replace

import pytest
from crumple.record import histogram_codec
from crumple.record.histogram_codec import NotAHistogramError
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

LONGEST_NS = 3_600_000_000_000
counted = st.dictionaries(st.integers(1, LONGEST_NS), st.integers(1, 2**40), max_size=40)


def recorded(counts: dict[int, int], lowest: int = 1, digits: int = 3) -> HdrHistogram:
    made = HdrHistogram(lowest, LONGEST_NS, digits)
    for value, count in counts.items():
        made.record_value(value, count)
    return made


@pytest.mark.long
@settings(max_examples=60)
@given(counted, st.sampled_from([1, 1_000]), st.integers(1, 4))
def test_it_reads_what_hdrhistogram_writes(counts: dict[int, int], lowest: int, digits: int) -> None:
    made = recorded(counts, lowest, digits)
    cells = histogram_codec.read(made.encode().decode())
    assert cells.counts == {at: count for at, count in enumerate(made.counts) if count}
    assert list(cells.counts) == sorted(cells.counts)
    assert (cells.half, cells.unit_magnitude) == (made.sub_bucket_half_count, made.unit_magnitude)
    assert cells.buckets == made.bucket_count
    for at in cells.counts:
        assert cells.top(at) == made.get_highest_equivalent_value(made.get_value_from_index(at))


@pytest.mark.long
@settings(max_examples=60)
@given(counted, st.integers(1, 4))
def test_hdrhistogram_reads_what_it_writes(counts: dict[int, int], digits: int) -> None:
    made = recorded(counts, digits=digits)
    read = HdrHistogram.decode(histogram_codec.write(histogram_codec.read(made.encode().decode())))
    assert list(read.counts) == list(made.counts)


@settings(max_examples=100)
@given(st.integers(1, LONGEST_NS))
def test_the_middle_of_a_cell_is_within_half_a_thousandth(value: int) -> None:
    cells = histogram_codec.read(recorded({value: 1}).encode().decode())
    (index,) = cells.counts
    assert cells.middle(index) == pytest.approx(value, rel=5e-4, abs=0.5)


@settings(max_examples=60)
@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 2**62), max_size=20))
def test_any_counts_come_back(counts: dict[int, int]) -> None:
    empty = histogram_codec.read(recorded({}).encode().decode())
    there = histogram_codec.read(histogram_codec.write(replace(empty, counts=counts)))
    assert there.counts == counts


def packed(plain: bytes) -> str:
    body = zlib.compress(plain)
    return base64.b64encode(b"\x1c\x84\x93\x14" + len(body).to_bytes(4, "big") + body).decode()


@pytest.mark.parametrize(
    "plain",
    [
        b"",
        b"\x00" * 40,
        b"\x1c\x84\x93\x13" + b"\x00" * 36,  # no digits
        b"\x1c\x84\x93\x13" + (1).to_bytes(4, "big") + bytes(7) + b"\x03" + bytes(24) + b"\x80",  # cut off
        b"\x00" * (5 << 20),
    ],
)
def test_what_is_no_histogram_is_refused(plain: bytes) -> None:
    with pytest.raises(NotAHistogramError):
        histogram_codec.read(packed(plain))


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_no_bytes_break_it(junk: bytes) -> None:
    head = b"\x1c\x84\x93\x13" + len(junk).to_bytes(4, "big") + bytes(7) + b"\x03" + bytes(24)
    try:
        cells = histogram_codec.read(packed(head + junk))
    except NotAHistogramError:
        return
    assert all(count > 0 for count in cells.counts.values())
