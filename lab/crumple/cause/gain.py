"""What more of something would give, and what limits after that. Pure."""

from crumple.cause.finding import Facts
from crumple.drawing import numerals

# What is tried by default: this many times as much.
FACTOR = 2.0


def of_cores(facts: Facts) -> float | None:
    """Return how many requests per second all cores would do, at the CPU time of each; None: not known."""
    load, cores = facts.beyond, facts.asked_cores
    if not cores or not load.per_s or facts.idle_cores is None:
        return None
    return load.per_s * (cores + facts.idle_cores) / cores


def with_more(facts: Facts, what: str, number: float) -> str:
    """Return the change and its gain: "16 workers: some 95 answers per second; then CPU, from about 480".

    `number`: how many there are. The gain is in proportion, as far as cores are left for it.
    """
    load, most = facts.beyond, of_cores(facts)
    more = round(FACTOR * max(1.0, number))
    if not load.per_s:
        return f"more {what}"
    per_s = load.per_s * more / max(1.0, number)
    if most is not None and most < per_s:
        return f"more {what}: up to {numerals.rate(most)}, then CPU"
    then = f", and CPU from about {numerals.rate(most)} on" if most is not None else ""
    return f"{more:,} {what}: some {numerals.rate(per_s)}, if nothing else limits it first{then}"
