"""The canary: a second engine sends a light request at even gaps while the load is measured.

Its response times are those of users whose requests cost the server little. The experiment names the request.
"""

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from crumple import contract, engine
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.engine import EndEarly, Engine, OnProgress
from crumple.errors import CrumpleError

# Milliseconds between two samples of the canary's own engine. Long, because sampling processes costs more CPU
# time than sending the canary's requests.
PROBE_INTERVAL_MS = 1_000
# Seconds to wait for the canary when the load is over. A load that ended by the clock ends with its canary,
# which then only has to write its record. The canary of a load that ended by its requests would go on, and is
# stopped.
END_S = 1.0
# The most connections of the canary. It needs several, because a request must not wait for the answer to the
# one before it, or the canary would measure its own queue. At 20 requests/s, 32 let answers take 1.6 s.
CONNECTIONS = 32


@dataclass(frozen=True)
class LightRequests:
    """What is sent beside the load."""

    request: contract.RequestSpec
    rate_per_s: float
    connection: contract.ConnectionUse = "keep-alive"
    """What a connection is used for."""


def beside(
    load: Engine, spec: TrialSpec, light: LightRequests | None, on_progress: OnProgress
) -> tuple[TrialRecord, TrialRecord | None]:
    """Run the load, and the canary beside it if there are `light` requests; return both records.

    Raises EngineFailed.
    """
    if light is None:
        return engine.run(load, spec, on_progress), None
    with _Flight(load, spec_of(spec, light)) as flight:
        if not _by_the_clock(spec):
            on_progress = flight.begins_with(on_progress)
        else:
            flight.begin()
        record = engine.run(load, spec, on_progress)
        return record, flight.landed()


def spec_of(spec: TrialSpec, light: LightRequests) -> TrialSpec:
    """Return the canary's own spec: one thread on the engine's cores, a connection for each waiting request.

    It lasts as long as the load. If the load warms up for a time, the canary does so too. If the load warms
    up for a number of requests, the canary has no warm-up and begins after the load's.
    """
    stop = spec.stop
    measured_s = stop.within_s if isinstance(stop, contract.RequestsStopSpec) else stop.duration_s
    per_s = light.rate_per_s
    rate = contract.RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=measured_s)
    warm_up = None
    if spec.warm_up is not None and _by_the_clock(spec):
        warm_up = contract.WarmUpSpec(connections=None, pauses=True, stop=spec.warm_up.stop)
    return spec.model_copy(
        update={
            "label": f"{spec.label}/canary",
            "requests": (light.request,),
            "shape": contract.OpenShapeSpec(connections=CONNECTIONS, arrivals="even", rates=(rate,)),
            "connection": light.connection,
            "warm_up": warm_up,
            "stop": contract.DurationStopSpec(duration_s=measured_s),
            "threads": 1,
            "probe": contract.ProbeSpec(interval_ms=PROBE_INTERVAL_MS, server_pid=None),
        }
    )


def _by_the_clock(spec: TrialSpec) -> bool:
    return spec.warm_up is None or isinstance(spec.warm_up.stop, contract.DurationStopSpec)


@dataclass
class _Flight:
    """An engine that runs beside another, in a thread. Leaving the context ends it."""

    load: Engine
    spec: TrialSpec
    record: TrialRecord | None = None
    error: CrumpleError | None = None
    _end_early: EndEarly = field(default_factory=EndEarly)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the canary's engine now."""
        self._thread = threading.Thread(target=self._fly, name="canary", daemon=True)
        self._thread.start()

    def begins_with(self, on_progress: OnProgress) -> OnProgress:
        """Return `on_progress`, extended: the canary begins at the first progress of the measured phase."""

        def begin_and_report(progress: ProgressLine) -> None:
            if progress.phase == "measured" and self._thread is None:
                self.begin()
            on_progress(progress)

        return begin_and_report

    def landed(self) -> TrialRecord | None:
        """Return the canary's record after the load; None if the load was over before the canary began."""
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
