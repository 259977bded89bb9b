"""What a map says, in sentences: of one request, and of all cells."""

from collections import Counter
from collections.abc import Iterator, Mapping

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.drawing.report_parts import Tone
from crumple.model_map.map_data import MapServer
from crumple.model_map.map_laws import Limit
from crumple.model_map.model_map import ALIKE_WITHIN, ModelMap, Spot, Standing
from crumple.verdict.verdict_sentences import capital, enumerate_parts

MODELS: Mapping[str, str] = {
    "process-per-connection": "process per connection",
    "process-pool": "process pool",
    "thread-per-connection": "thread per connection",
    "thread-pool": "thread pool",
    "event-loop": "event loop",
    "event-loop-per-core": "event loop per core",
    "green-threads": "green threads",
    "hybrid": "hybrid",
}
# What is said of a limit beside a server that is behind.
LIMITS: Mapping[Limit, str] = {
    "users": "",
    "workers": "its workers are the limit",
    "one-core": "it computes on one core",
    "cores": "",
}
LIMIT_NAMES: Mapping[Limit, str] = {
    "users": "the users ask no more",
    "workers": "its workers",
    "one-core": "one core",
    "cores": "the cores",
}
# A share is said without its interval if that reaches at most five points to either side: a reader takes
# "− 8 %" for about as exact.
KNOWN_WITHIN = 0.05
# What of a map holds elsewhere.
CARRIES_OVER = (
    "On another machine the order holds where it follows from ratios: users to workers, waiting to computing "
    "(a pool of k workers on c cores falls behind where requests wait for more than k ÷ c times as long as "
    "they compute), and one core to all. Rates do not carry over, nor does the order where requests hardly "
    "wait and hardly compute: there it is that of the runtimes."
)


def model(server: MapServer) -> str:
    """Return a server's model in words: "process pool of 150"."""
    name = MODELS.get(server.io_model, server.title)
    return name if server.places is None else f"{name} of {server.places}"


def for_request(spot: Spot) -> str:
    """Return who serves the request best, and by how much the others serve less."""
    together = [each for each in spot.servers if each.rank in ("best", "alike")]
    doubtful = [each for each in spot.servers if each.rank == "open"]
    behind = [each for each in spot.servers if each.rank == "behind"]
    said = enumerate_parts([model(each.server) for each in together])
    if len(together) > 1:
        said += f" alike (within {ALIKE_WITHIN * 100:g}{NARROW}%)"
    if doubtful:
        named = enumerate_parts([f"{model(each.server)} ({_bounds(each)})" for each in doubtful])
        said += f", undecided for {named}"
    if behind:
        said += f", then {', '.join(f'{model(each.server)} ({_less(each)})' for each in behind)}"
    return f"For your requests: {said}."


def _less(each: Standing) -> str:
    why, ratio = LIMITS[each.limit] if each.limit else "", each.ratio
    is_narrow = max(ratio.high - ratio.estimate, ratio.estimate - ratio.low) <= KNOWN_WITHIN
    less = f"−{NARROW}{(1 - ratio.estimate) * 100:.0f}{NARROW}%" if is_narrow else _bounds(each)
    return f"{less}{f', {why}' if why else ''}"


def _bounds(each: Standing) -> str:
    """Return an interval of a ratio as signed shares: "−14 to +2 %"."""
    low, high = (f"{(end - 1) * 100:+.0f}".replace("-", "−") for end in (each.ratio.low, each.ratio.high))
    return f"{low} to {high}{NARROW}%"


def of_p99(spot: Spot) -> str:
    """Return who keeps p99 below a second there."""
    kept = [model(each.server) for each in spot.servers if each.is_kept == "yes"]
    doubtful = [model(each.server) for each in spot.servers if each.is_kept == "open"]
    if len(kept) == len(spot.servers):
        return "All of them keep p99 below a second."
    said = "None is known to keep"
    if kept:
        said = f"{capital(enumerate_parts(kept))} keep{'s' * (len(kept) == 1)}"
    also = f"; undecided for {enumerate_parts(doubtful)}" if doubtful else ""
    return f"{said} p99 below a second{also}."


def basis(spot: Spot) -> str:
    """Return whether the point was measured or is predicted."""
    measured = sum(bool(each.measured) for each in spot.servers)
    if not measured:
        return "Predicted: by operational laws and measured costs, corrected by what was measured nearby."
    if measured == len(spot.servers):
        return "Measured at this very point."
    several = f"{measured} of {len(spot.servers)} servers"
    return f"{several} were measured at this very point, the others are predicted."


def of_spot(spot: Spot) -> list[str]:
    """Return what the map says of one request, in three sentences."""
    return [for_request(spot), of_p99(spot), basis(spot)]


def unknown(drawn: ModelMap) -> str:
    """Return of which servers no trial counts; empty: some count of each."""
    known = {belief.server for belief in drawn.beliefs}
    return enumerate_parts([model(each) for each in drawn.data.servers if each not in known] or [""])


def of_map(drawn: ModelMap) -> list[str]:
    """Return what the map says as a whole, in at most three sentences."""
    return [_best(drawn), *_behind(drawn), _kept(drawn)]


def _best(drawn: ModelMap) -> str:
    decided, cells = [spot for spot in drawn.spots if spot.is_decided], len(drawn.spots)
    if not decided:
        return f"None of {cells} cells is decided."
    counted = Counter(each.server for spot in decided for each in spot.front)
    named = [f"{model(server)} in {number}" for server, number in counted.most_common()]
    left = cells - len(decided)
    of = f"{left} of {cells} cells are not decided; of the others," if left else f"Of {cells} cells,"
    every = sum(
        len(spot.front) == len(spot.servers) and all(each.limit == "users" for each in spot.servers)
        for spot in decided
    )
    all_of_them = f"; in {every} all of them do, as the users ask no more" if every else ""
    return (
        f"{of} {', '.join(named)} {'serves' if len(named) == 1 else 'serve'} most or within "
        f"{ALIKE_WITHIN * 100:g}{NARROW}% of it{all_of_them}."
    )


def _behind(drawn: ModelMap) -> Iterator[str]:
    """Yield what limits the servers where they are behind."""
    counted = Counter(
        (each.server, each.limit)
        for spot in drawn.spots
        for each in spot.servers
        if each.rank == "behind" and each.limit in ("workers", "one-core")
    )
    named = [
        f"{model(server)} in {number} cells ({LIMIT_NAMES[limit]})"
        for (server, limit), number in counted.most_common()
    ]
    if named:
        yield f"Limited by themselves, and so behind, are {enumerate_parts(named)}."


def _kept(drawn: ModelMap) -> str:
    counted = Counter({belief.server: 0 for belief in drawn.beliefs})
    for spot in drawn.spots:
        counted.update(each.server for each in spot.servers if each.is_kept == "yes")
    named = [f"{model(server)} in {number}" for server, number in counted.most_common()]
    return f"p99 is known to stay below a second for {enumerate_parts(named)} of all cells."


def how_known(drawn: ModelMap) -> tuple[str, Tone]:
    """Return how what the map says is known, and whether all of it is decided."""
    points = numerals.count(len({each.point for each in drawn.data.trials}), "point")
    is_decided = drawn.decided == len(drawn.spots)
    return f"Measured at {points}, else predicted", "good" if is_decided else "doubtful"


def sure(drawn: ModelMap) -> str:
    """Return how sure the map is: what is decided, and how far readings lie from what the others predict."""
    found, cells = drawn.left_out, len(drawn.spots)
    within = sum(each.is_within for each in found)
    usual = sorted(abs(each.off) for each in found)[len(found) // 2] if found else 0.0
    return (
        f"{drawn.decided} of {cells} cells are decided, by {numerals.count(len(found), 'trial')}. "
        f"Predicted by all others, half of the trials lie within {usual * 100:.2g}{NARROW}%, and {within} of "
        f"{len(found)} in the interval of 95{NARROW}%."
    )
