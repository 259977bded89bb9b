"""Is the first finding of a diagnosis the same, wherever the server is and wherever the load comes from? A
table with a row for each server, and the share with its interval."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import asked_corpus
import check  # type: ignore[import-not-found]
from asked_corpus import NO_FINDING, PATH, NotServed, Row, Rows
from bounds import Bounds
from crumple.stats import shares
from crumple.stats.interval import CONFIDENCE, Interval

# The place that others are compared with: server, crumple and load are side by side.
BESIDE = "beside"
AGAIN = "again"
SAME_MIN = 0.95


def diagnosed(name: str, address: str, *more: str, path: str = PATH) -> Row:
    """Diagnose a server by the URL of its work, with the idle connections that belong to what is planted.

    `path`: the PATH in which crumple finds ssh.
    """
    with check.idle(address, asked_corpus.idle_of(name)):
        words = ("diagnose", "--no-search", *more, f"http://{address}/work")
        return asked_corpus.asked(*words, path=path)


def compare(
    names: Sequence[str], places: Mapping[str, Callable[[str], Row]], rows: Rows, bounds: Bounds
) -> None:
    """Diagnose each server in each place, print what was found, and judge how often it is the same.

    AGAIN, if it is a place, shows how often a diagnosis agrees with itself, and is not judged.
    """
    print(f"{len(names)} servers; first finding {', '.join(places)}")

    def is_known(name: str) -> bool:
        return all(rows.has((name, place)) for place in places)

    found: list[dict[str, str]] = []
    for far, name in asked_corpus.counted(names, is_known):
        try:
            made = {
                place: rows.once((name, place), partial(diagnoses, name))
                for place, diagnoses in places.items()
            }
        except NotServed as failed:
            print(f"{far:22} {name:24} left out: {failed}", flush=True)
            continue
        first = {place: asked_corpus.first_finding(row) for place, row in made.items()}
        found.append(first)
        said = "  ".join(f"{each:18}" for each in first.values())
        why = "; ".join(asked_corpus.why_none(row) for row in made.values())
        print(f"{far:22} {name:24} {said} {_word(first)}  {why.strip('; ')}", flush=True)
    _judge(found, places, bounds)


def _word(first: dict[str, str]) -> str:
    if first[BESIDE] in NO_FINDING:
        return "does not count"
    others = {cause for place, cause in first.items() if place != AGAIN}
    return "same" if len(others) == 1 else "different"


def _judge(found: Sequence[dict[str, str]], places: Mapping[str, object], bounds: Bounds) -> None:
    """Print how often the finding is the same, of the servers that have one beside crumple."""
    counting = [first for first in found if first[BESIDE] not in NO_FINDING]
    print(f"{len(found)} diagnosed, {len(counting)} of them with a finding beside crumple")
    for place in places if counting else ():
        if place != BESIDE:
            same = share([first[place] == first[BESIDE] for first in counting])
            judged = bounds.at_least(place, same, SAME_MIN) if place != AGAIN else ""
            print(f"{place}: the same in {shown(same)}  {judged}")


def share(are: Sequence[bool]) -> Interval:
    """The share of those that are, with its interval (Clopper and Pearson)."""
    low, high = shares.exact_interval(sum(are) / len(are), len(are), CONFIDENCE)
    return Interval(sum(are) / len(are), low, high, CONFIDENCE, len(are))


def shown(of: Interval) -> str:
    """A share in words."""
    return f"{of.estimate:.1%} of {of.n} ({of.low:.1%} to {of.high:.1%})"
