"""Response times in the percentile distribution format of HdrHistogram (.hgrm): histogram → text."""

from crumple.contract import Histogram

NS_PER_MS = 1e6
# How often the distance to 100 % is divided between two halvings, as HdrHistogram's own tools do.
TICKS_PER_HALF = 5
HEAD = f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}"


def percentiles(stored: Histogram) -> str:
    """Return the whole distribution, in milliseconds, as HdrHistogram's plotters read it."""
    # The hdrhistogram package writes this too, but does not scale the deviation as it does the values.
    lines, footer = [HEAD, ""], []
    deviation_ms = 0.0
    if stored.count:
        # Imported here because only a .hgrm file needs it, and it is an extra.
        from hdrh.histogram import HdrHistogram

        read = HdrHistogram.decode(stored.encoded)
        for step in read.get_percentile_iterator(TICKS_PER_HALF):
            share, count = step.percentile_level_iterated_to / 100, step.total_count_to_this_value
            line = f"{step.value_iterated_to / NS_PER_MS:12.3f} {share:2.12f} {count:10d}"
            lines.append(line if share >= 1 else f"{line} {1 / (1 - share):14.2f}")
        deviation_ms = read.get_stddev() / NS_PER_MS
        footer = [f"#[Buckets = {read.bucket_count:12d}, SubBuckets     = {read.sub_bucket_count:12d}]"]
    mean_ms, max_ms = (each / NS_PER_MS for each in (stored.mean_ns or 0.0, stored.max_ns or 0))
    lines += [
        f"#[Mean    = {mean_ms:12.3f}, StdDeviation   = {deviation_ms:12.3f}]",
        f"#[Max     = {max_ms:12.3f}, Total count    = {stored.count:12d}]",
        *footer,
    ]
    return "\n".join(lines) + "\n"
