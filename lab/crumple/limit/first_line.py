"""The first line of a diagnosis, for other programs: `limit=workers k=4 p=0.97 tested gain=1.9x`. Pure.

Its words are separated by spaces, and each is `name=value`, but for `tested` and `likely`. Words may be
added at its end; those that there are stay as they are.
"""

from collections.abc import Iterator, Sequence

from crumple.limit import finding, what_if
from crumple.limit.finding import Cause, Said, Unclear
from crumple.observation.server_facts import ServerFacts

# A computed probability is never known so well that it is 1.
MOST = 0.99


def line(facts: ServerFacts | None, said: Sequence[Said]) -> str:
    """Return the line. `facts`: what was judged; None: no load was put on."""
    return " ".join(_words(facts, said))


def _words(facts: ServerFacts | None, said: Sequence[Said]) -> Iterator[str]:
    found = finding.first(said)
    if found is None:
        yield "limit=unknown"
        between = next((each.between for each in said if isinstance(each, Unclear) and each.between), {})
        if between:
            causes = (f"{_name(cause)}:{_probability(value)}" for cause, value in between.items())
            yield f"between={','.join(causes)}"
        return
    yield f"limit={found.cause}"
    if found.cause == "none":
        return
    if facts is not None and (number := what_if.lets_in(facts, found.cause)) is not None:
        yield f"k={number:.2g}" if number < 10 else f"k={number:.0f}"
    yield f"p={_probability(found.probability)}"
    yield found.sure
    if facts is not None and (gain := _gain(facts, said, found.cause)) is not None:
        yield f"gain={gain:.1f}x"


def _name(cause: Cause) -> str:
    return "other" if cause == "none" else cause


def _probability(value: float) -> str:
    return f"{min(value, MOST):.2f}"


def _gain(facts: ServerFacts, said: Sequence[Said], cause: Cause) -> float | None:
    """Return the middle of what the usual remedy would give, as a multiple of now; None: not computed."""
    changes = what_if.remedy(facts, cause)
    found = what_if.predicted(facts, said, changes) if changes else None
    return None if found is None else found.middle / facts.beyond.per_s
