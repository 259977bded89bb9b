# Types of the package hdrhistogram, which has none: of those parts that the lab uses.
from collections.abc import Iterator, Sequence
from typing import Protocol

class PercentileStep(Protocol):
    value_iterated_to: int
    percentile_level_iterated_to: float
    total_count_to_this_value: int

class HdrHistogram:
    counts: Sequence[int]
    sub_bucket_half_count: int
    bucket_count: int
    sub_bucket_count: int
    unit_magnitude: int

    def __init__(
        self, lowest_trackable_value: int, highest_trackable_value: int, significant_figures: int
    ) -> None: ...
    def record_value(self, value: int, count: int = 1) -> bool: ...
    def add(self, other_hist: HdrHistogram) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(encoded_histogram: str | bytes) -> HdrHistogram: ...
    def get_stddev(self) -> float: ...
    def get_percentile_iterator(self, ticks_per_half_distance: int) -> Iterator[PercentileStep]: ...
