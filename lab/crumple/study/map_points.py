"""The points of a map: one experiment at so much waiting, so much computing and so many users.

A study has some points that come first. A run adds further ones, which `model_map` chooses, as it goes.
"""

from crumple.contract_base import Frozen
from crumple.study.claim import ScaleName
from crumple.study.study import Experiment, Study
from crumple.study.study_load import ClosedShape, Until, WarmUp

# A warm-up lasts for two of a request's waits, so that those of slow starters end in it, and what is measured
# for four: users who wait together are answered together, and each end of the window may cut through them.
WAITS_WARM_UP, WAITS_MEASURED = 2, 4
# Where requests wait for a core, one round of all users on one core is for the warm-up, and two are measured.
ROUNDS_WARM_UP, ROUNDS_MEASURED = 1, 2


class MapPoint(Frozen):
    """What is asked at a point."""

    wait_ms: int
    compute_us: int
    """CPU time of a request."""
    users: int
    """Connections that ask again at once."""

    @property
    def name(self) -> str:
        """The name of its experiment."""
        return f"wait{self.wait_ms}-compute{self.compute_us}-users{self.users}"

    @property
    def waits_s(self) -> float:
        """How long a request waits, in seconds."""
        return self.wait_ms / 1e3

    @property
    def computes_s(self) -> float:
        """How long a request is asked to compute, in seconds of CPU time."""
        return self.compute_us / 1e6

    @property
    def round_s(self) -> float:
        """How long it takes on one core until each user has an answer, by what requests ask for alone."""
        return self.waits_s + self.users * self.computes_s

    @property
    def said(self) -> str:
        """What is asked, in words: "80 ms of waiting, 3 ms of computing, 500 users"."""
        return (
            f"{self.wait_ms} ms of waiting, {self.compute_us / 1e3:g} ms of computing, {self.users:,} users"
        )


def with_first_points(study: Study, scale: ScaleName) -> Study:
    """Return a study at a scale with the experiments of its map's first points; without a map unchanged."""
    if study.map is None:
        return study
    begun = study.model_copy(
        update={
            "map": study.map.model_copy(update={"measured_as": study.experiments[study.map.experiment]}),
            "experiments": {},
        }
    )
    for wait_ms, compute_us, users in study.map.first:
        begun = with_point(begun, MapPoint(wait_ms=wait_ms, compute_us=compute_us, users=users), scale)
    return begun


def with_point(study: Study, point: MapPoint, scale: ScaleName, blocks: int = 1) -> Study:
    """Return the study of a run with the experiment of one more point, or with more blocks of it."""
    assert study.map is not None and study.map.measured_as is not None
    added = _experiment(study.map.measured_as, point, scale, blocks)
    return study.model_copy(update={"experiments": {**study.experiments, point.name: added}})


def point_of(experiment: Experiment) -> MapPoint:
    """Return the point of an experiment of a map."""
    assert isinstance(experiment.shape, ClosedShape)
    return MapPoint(
        wait_ms=int(experiment.parameters["wait_ms"]),
        compute_us=int(experiment.parameters["spin_us"]),
        users=experiment.shape.connections,
    )


def load_s(experiment: Experiment, point: MapPoint, scale: ScaleName, server: str) -> float:
    """Return how long a server is loaded at a point, in seconds."""
    meant = experiment.scales[scale]
    warm_up = meant.warm_up_for(server)
    warmed_s = _lasting(warm_up, point, WAITS_WARM_UP, ROUNDS_WARM_UP) if warm_up else 0.0
    return warmed_s + _lasting(meant.stop, point, WAITS_MEASURED, ROUNDS_MEASURED)


def _lasting(until: Until, point: MapPoint, waits: int, rounds: int) -> float:
    """Return how long a phase lasts: as the scale says, but no fewer than so many waits and rounds."""
    return max(until.at_most_s, waits * point.waits_s, rounds * point.round_s)


def _experiment(template: Experiment, point: MapPoint, scale: ScaleName, blocks: int) -> Experiment:
    meant = template.scales[scale]

    def warmed(given: WarmUp) -> WarmUp:
        return given.model_copy(update={"duration_s": _lasting(given, point, WAITS_WARM_UP, ROUNDS_WARM_UP)})

    update = {
        "blocks": blocks,
        "stop": Until(duration_s=_lasting(meant.stop, point, WAITS_MEASURED, ROUNDS_MEASURED)),
        "warm_up": warmed(meant.warm_up) if meant.warm_up else None,
        "warm_up_of": {server: warmed(each) for server, each in meant.warm_up_of.items()},
    }
    return template.model_copy(
        update={
            "title": point.said,
            "parameters": {**template.parameters, "wait_ms": point.wait_ms, "spin_us": point.compute_us},
            "shape": template.shape.model_copy(update={"connections": point.users}),
            "scales": {scale: meant.model_copy(update=update)},
        }
    )
