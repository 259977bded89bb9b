"""What a map is made of: its servers, what each trial of them showed at which point, and where and when.

A run gives it; small enough to be kept in a file, from which the same map is made again.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from crumple import parsing
from crumple.contract_base import Frozen
from crumple.errors import NotStored
from crumple.record import invariants
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.study.map_points import MapPoint, point_of
from crumple.study.study import Study

# Users who wait together are answered together, so the number of answers depends on where the ends of the
# window cut through them. A window of three mean response times or more shows by those how many are answered.
RESPONSES_IN_WINDOW = 3.0
# How many answers of a user the ends of a window cut off, as a standard deviation: an end lies anywhere
# between two answers.
CUT = math.sqrt(1 / 12)
# The facts of a machine that say where a map was measured.
FACTS = ("cpu_model", "cores", "kernel")
# If more than this share of the users got no answer, the times are those of the others.
UNANSWERED_MAX = 0.01


class MapServer(Frozen):
    """A server of the map."""

    label: str
    title: str
    io_model: str
    places: int | None
    """How many requests it works on at once; null: a waiting request holds no worker."""
    keeps_places: bool
    """Whether a connection keeps its worker, so that users beyond their number get no answer."""


class MapTrial(Frozen):
    """What one trial showed."""

    server: str
    point: MapPoint
    per_s: float
    """Right answers per second."""
    off: float
    """By how much the ends of the window may change that, as a standard deviation of its logarithm."""
    p99_ms: float | None
    """Null: there are too few answers, or some users got none."""
    cpu_us: float | None
    """The server's CPU time of a request."""
    engine_cpu_us: float | None
    """The engine's, where it runs on the server's cores."""
    slowdown: float
    """The factor by which other programs slowed it, at most."""
    leaves_users: bool
    """Whether more than 1 % of the users got no answer, in a second or more."""
    took_s: float
    """How long it took beside the load: the server's start, checks, its end."""


class MapData(Frozen):
    """All that a map is made of."""

    version: Literal[1] = 1
    run: str
    began: str
    """ISO 8601, UTC."""
    machine: dict[str, Any]
    cores: int
    """How many cores server and load share."""
    wait_ms: tuple[int, ...]
    compute_us: tuple[int, ...]
    users: tuple[int, ...]
    servers: tuple[MapServer, ...]
    trials: tuple[MapTrial, ...]
    left_out: int
    """How many trials were measured and do not count."""


def trial(seen: Figures, study: Study, cores: int, took_s: float) -> MapTrial:
    """Return what a trial showed. `took_s`: how long it took beside the load."""
    point = point_of(study.experiments[seen.experiment])
    engine_us = None
    if seen.engine_took is not None and seen.throughput_per_s:
        engine_us = seen.engine_took * cores / seen.throughput_per_s * 1e6
    p99_ns = seen.response_ns.get(0.99)
    per_s, off = served_per_s(seen, point.users)
    answers = seen.unanswered_share <= UNANSWERED_MAX
    return MapTrial(
        server=seen.server,
        point=point,
        per_s=_short(per_s),
        off=_short(off),
        p99_ms=_short(p99_ns / 1e6) if p99_ns and answers else None,
        cpu_us=_short(seen.cpu_per_request_us) if seen.cpu_per_request_us else None,
        engine_cpu_us=_short(engine_us) if engine_us else None,
        slowdown=_short(seen.slowdown),
        leaves_users=not answers,
        took_s=_short(took_s),
    )


def _short(value: float) -> float:
    """Return a figure with the digits that a trial may have, so that a kept map is small."""
    return float(f"{value:.5g}")


def served_per_s(seen: Figures, users: int) -> tuple[float, float]:
    """Return the right answers per second, and by how much that may be off, as a part of it.

    By Little's law where that is more exact than their number: where all users got answers. The time that
    the engine left them unattended is no part of a response time, but of their round.
    """
    if not seen.measured_ns:
        return seen.throughput_per_s, 0.0
    rounds = seen.throughput_per_s * seen.measured_ns / 1e9 / (users * (1 - seen.unanswered_share))
    mean_ns = seen.response_mean_ns
    all_answered = seen.unanswered_share <= UNANSWERED_MAX and seen.failed_share == 0
    if not (mean_ns and all_answered) or seen.measured_ns < RESPONSES_IN_WINDOW * mean_ns:
        return seen.throughput_per_s, CUT / rounds
    # Of each user the mean lacks the last response, which the end of the window cuts off.
    return users * (1 - seen.unattended_share) / mean_ns * 1e9, CUT / rounds**2


def server(label: str, title: str, io_model: str, settings: Mapping[str, Any], *, keeps: bool) -> MapServer:
    """Return a server of the map. `keeps`: whether users keep their connections."""
    places = invariants.workers(io_model, settings)
    return MapServer(
        label=label,
        title=title,
        io_model=io_model,
        places=places,
        keeps_places=keeps and io_model == "process-per-connection" and places is not None,
    )


def counting(trials: Sequence[Figures], study: Study) -> list[Figures]:
    """Return the trials that a map is made of: those that count, and are neither disturbed nor too short.

    It is too short if the users who got answers did not get one each, on average.
    """
    return [each for each in trials if each.valid and each.throughput_per_s > 0 and _shows(each, study)]


def _shows(seen: Figures, study: Study) -> bool:
    users = point_of(study.experiments[seen.experiment]).users
    return not METRICS["throughput"].is_disturbed(seen) and served_per_s(seen, users)[1] <= CUT


def read(file: Path) -> MapData:
    """Return what was kept in a file. Raises NotStored."""
    try:
        return MapData.model_validate_json(file.read_bytes())
    except OSError as error:
        raise NotStored(f"cannot read {file}: {error.strerror}", "name a run, or a kept map") from None
    except ValidationError as error:
        raise NotStored(f"{file} is no map ({parsing.first_fault(error)})", "measure it again") from None
