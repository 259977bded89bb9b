"""The document of a map: all cells, or one request, with what each server answers there."""

from typing import Any, Literal

from crumple.contract_base import Lenient
from crumple.documents.parts_of_documents import IntervalData
from crumple.model_map import map_words
from crumple.model_map.map_laws import Limit
from crumple.model_map.model_map import ModelMap, Rank, Spot, Standing
from crumple.stats.decision import Answer


class StandingData(Lenient):
    """One server at a point."""

    server: str
    model: str
    """Its I/O model, and how many workers it has."""
    per_s: IntervalData
    """Right answers per second."""
    ratio: IntervalData
    """To those of the best one."""
    rank: Rank
    """Best, alike (at least nine tenths of the best), behind, or open: not known."""
    limit: Limit | None
    """Null: not known, as it answers well below what each limit allows."""
    p99_ms: IntervalData | None
    """Null: users get no answer."""
    keeps_p99: Answer
    """Whether its p99 stays below a second."""
    measured: int
    """How many of its trials are of this very point; 0: it is predicted."""


class SpotData(Lenient):
    """All servers at a point, the one that serves most first."""

    wait_ms: int
    compute_us: int
    users: int
    decided: bool
    """Whether it is known of each server whether it is behind."""
    servers: tuple[StandingData, ...]


class MapDocument(Lenient):
    """A map, or what it says of one request."""

    kind: Literal["map"]
    """The command that makes it."""
    version: Literal[1]
    """Grows when a field changes its meaning."""
    run: str
    """The run that measured it."""
    began: str
    """When; ISO 8601, UTC."""
    machine: dict[str, Any]
    cores: int
    """How many cores server and load shared."""
    said: tuple[str, ...]
    """What it says, in sentences."""
    request: SpotData | None
    """Null: none was asked for."""
    cells: tuple[SpotData, ...]
    """None if a request was asked for."""


def document(drawn: ModelMap, spot: Spot | None) -> MapDocument:
    """Return the document. `spot`: of the request that was asked for; None: all cells."""
    data = drawn.data
    said = map_words.of_spot(spot) if spot else map_words.of_map(drawn)
    return MapDocument(
        kind="map",
        version=1,
        run=data.run,
        began=data.began,
        machine=data.machine,
        cores=data.cores,
        said=tuple(said),
        request=_spot(spot) if spot else None,
        cells=() if spot else tuple(map(_spot, drawn.spots)),
    )


def _spot(spot: Spot) -> SpotData:
    return SpotData(
        wait_ms=spot.point.wait_ms,
        compute_us=spot.point.compute_us,
        users=spot.point.users,
        decided=spot.is_decided,
        servers=tuple(map(_standing, spot.servers)),
    )


def _standing(each: Standing) -> StandingData:
    per_s, ratio = IntervalData.of(each.per_s), IntervalData.of(each.ratio)
    assert per_s is not None and ratio is not None
    return StandingData(
        server=each.server.label,
        model=map_words.model(each.server),
        per_s=per_s,
        ratio=ratio,
        rank=each.rank,
        limit=each.limit,
        p99_ms=IntervalData.of(each.p99_ms),
        keeps_p99=each.is_kept,
        measured=each.measured,
    )
