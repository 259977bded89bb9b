"""The canary: a light request at even gaps beside a load, by an engine of its own, while that is measured.

It shows what the load's users see who ask for little. What it asks comes from the experiment; it judges
nothing.
"""

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from crumple import contract, engine
from crumple.contract import Progress, TrialRecord, TrialSpec
from crumple.engine import EndEarly, Engine, OnProgress
from crumple.errors import CrumpleError

# Samples of processes cost more than the canary's own requests do.
PROBE_INTERVAL_MS = 1_000
# Both end by the clock; one that ends by its requests is not waited for any longer.
END_S = 1.0
# One that has to wait must not hold up the next, or the canary measures the queue of its own.
CONNECTIONS = 32


@dataclass(frozen=True)
class Canary:
    """What is asked beside the load, and how often."""

    request: contract.Request
    rate_per_s: float


def beside(
    load: Engine, spec: TrialSpec, canary: Canary | None, on_progress: OnProgress
) -> tuple[TrialRecord, TrialRecord | None]:
    """Put the load on, and the canary beside it if there is one; their records. Raises EngineFailed."""
    if canary is None:
        return engine.run(load, spec, on_progress), None
    with _Flight(load, spec_of(spec, canary)) as flight:
        if not _by_the_clock(spec):
            on_progress = flight.begins_with(on_progress)
        else:
            flight.begin()
        record = engine.run(load, spec, on_progress)
        return record, flight.landed()


def spec_of(spec: TrialSpec, canary: Canary) -> TrialSpec:
    """The canary's own: one thread on the engine's cores, a connection for each request that waits.

    It lasts as long as the load. A warm-up by the clock is the load's; after one by requests the canary
    begins when that is over.
    """
    stop = spec.stop
    measured_s = stop.within_s if isinstance(stop, contract.AfterRequests) else stop.duration_s
    per_s = canary.rate_per_s
    rate = contract.Rate(from_per_s=per_s, to_per_s=per_s, duration_s=measured_s)
    warm_up = None
    if spec.warm_up is not None and _by_the_clock(spec):
        warm_up = contract.WarmUp(connections=None, pauses=True, stop=spec.warm_up.stop)
    return spec.model_copy(
        update={
            "label": f"{spec.label}/canary",
            "requests": (canary.request,),
            "shape": contract.OpenShape(connections=CONNECTIONS, arrivals="even", rates=(rate,)),
            "connection": "keep-alive",
            "warm_up": warm_up,
            "stop": contract.AfterDuration(duration_s=measured_s),
            "threads": 1,
            "probe": contract.Probe(interval_ms=PROBE_INTERVAL_MS, server_pid=None),
        }
    )


def _by_the_clock(spec: TrialSpec) -> bool:
    return spec.warm_up is None or isinstance(spec.warm_up.stop, contract.AfterDuration)


@dataclass
class _Flight:
    """An engine that runs beside another. Leaving it ends the engine, whatever happened."""

    load: Engine
    spec: TrialSpec
    record: TrialRecord | None = None
    error: CrumpleError | None = None
    _end_early: EndEarly = field(default_factory=EndEarly)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin at once."""
        self._thread = threading.Thread(target=self._fly, name="canary", daemon=True)
        self._thread.start()

    def begins_with(self, on_progress: OnProgress) -> OnProgress:
        """Begin with the first line that says that the load is measured now."""

        def told(progress: Progress) -> None:
            if progress.phase == "measured" and self._thread is None:
                self.begin()
            on_progress(progress)

        return told

    def landed(self) -> TrialRecord | None:
        """Its record, once the load is over; None if that was over before it could begin."""
        if self._thread is None:
            return None
        self._thread.join(END_S)
        if self._thread.is_alive():
            self._end_early()
            self._thread.join()
        if self.error is not None:
            raise self.error
        return self.record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._end_early()
            self._thread.join()

    def _fly(self) -> None:
        try:
            self.record = engine.run(self.load, self.spec, lambda _: None, self._end_early)
        except CrumpleError as error:
            self.error = error
