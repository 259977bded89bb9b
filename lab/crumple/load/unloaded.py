"""What a server does without a load: before one, and for a few requests, one at a time, after it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crumple import contract, engine
from crumple.contract import TrialRecord, TrialSpec
from crumple.engine import Engine
from crumple.load import engine_spec, watching
from crumple.load.addresses import port_of
from crumple.machine import at_rest, capacity, connection_ends, program
from crumple.machine.at_rest import AtRest
from crumple.machine.program import Program

if TYPE_CHECKING:
    from crumple.observation.observed import FailuresAlone, WorkAlone

    pass

# The request that opens the connection; and the seconds that it may wait for what the load has left.
FIRST_REQUESTS, FIRST_WITHIN_S = 1, 5.0
# Forty requests follow, for a second at most: enough to read what the server uses for them where each takes a
# fraction of a millisecond.
REQUESTS, WITHIN_S = 40, 1.0
# A server that is woken for a request takes longer, by tenths of a millisecond, than one that has just
# answered.
# Requests come as far apart as under the load, up to 20 milliseconds.
APART_MS = 20.0


@dataclass(frozen=True)
class Before:
    """The server before a load."""

    rest: AtRest | None = None
    """What the server does at rest; None: it is not watched, or that cannot be read."""
    others: int = 0
    """Connections of other clients that it holds."""
    alone: "WorkAlone | FailuresAlone | None" = None
    """What requests take one at a time; None: none were sent, or none ended."""
    program: Program | None = None
    """The program that the server runs; None: it is not watched."""

    @property
    def idle_cores(self) -> float | None:
        """The cores that it keeps busy; None: not known."""
        return self.rest.cores if self.rest is not None else None


def before(spec: TrialSpec, ask: "Callable[[], WorkAlone | FailuresAlone | None] | None" = None) -> Before:
    """Look at the watched server, which takes a moment; nothing is known of one that is not watched.

    Before a load that is too short to be judged nobody waits for that. `ask`: sends requests one at a time,
    which takes a second more; None: none are to be sent.
    """
    pid, address = spec.probe.server_pid, spec.probe.server_address or spec.target.address
    asked = ask or (lambda: None)
    if pid is None:
        return Before(alone=asked())
    what = program.of(pid)
    if not watching.may_be_judged(spec.stop):
        return Before(program=what)
    port = port_of(address)
    others = 0 if port is None else connection_ends.held_by_others(pid, port)
    rest, answered = at_rest.look(pid), asked()
    if port is not None and others:
        # What an earlier load has left is gone by now.
        others = min(others, connection_ends.held_by_others(pid, port))
    return Before(rest, others, answered, what)


def is_judged(record: TrialRecord) -> bool:
    """Whether a load of a watched server lasted long enough to say what limits it."""
    return record.probes.server is not None and record.measured_ns >= 1e9 * watching.JUDGED_MIN_S


def alone(
    loader: Engine, spec: TrialSpec, first_within_s: float = FIRST_WITHIN_S
) -> "WorkAlone | FailuresAlone | None":
    """Send the requests of a load one at a time; None: none ended.

    `first_within_s`: how long to wait for the first of them. Raises EngineFailed and Interrupted.
    """
    return alone_of(engine.run(loader, spec_alone(spec, first_within_s), lambda _: None))


def ask_alone(loader: Engine, spec: TrialSpec) -> TrialRecord:
    """Send the requests of a load one at a time, and return the record. Raises as `alone`."""
    return engine.run(loader, spec_alone(spec), lambda _: None)


def ask_once(loader: Engine, spec: TrialSpec, within_s: float) -> TrialRecord:
    """Send one request of a load alone, and return the record. Raises as `alone`."""
    return engine.run(loader, one_of(spec, within_s), lambda _: None)


def one_of(spec: TrialSpec, within_s: float) -> TrialSpec:
    """Return the load of one request, alone, which may take `within_s`, whatever -t was."""
    stop = contract.RequestsStopSpec(requests=1, within_s=within_s)
    patient = spec.timeouts.model_copy(update={"request_s": max(within_s, spec.timeouts.request_s)})
    return spec_alone(spec).model_copy(update={"warm_up": None, "stop": stop, "timeouts": patient})


def spec_alone(spec: TrialSpec, first_within_s: float = FIRST_WITHIN_S) -> TrialSpec:
    """Return the load of a few requests, one at a time."""
    first = contract.RequestsStopSpec(requests=FIRST_REQUESTS, within_s=first_within_s)
    return spec.model_copy(
        update={
            "label": f"{spec.label}, alone",
            "shape": contract.ClosedShapeSpec(connections=1, pause_ms=min(APART_MS, _apart_ms(spec.shape))),
            "warm_up": contract.WarmUpSpec(connections=None, pauses=True, stop=first),
            "stop": contract.RequestsStopSpec(requests=REQUESTS, within_s=WITHIN_S),
            "threads": 1,
            "cores": spec.cores[:1],
        }
    )


def _apart_ms(shape: contract.ShapeSpec) -> float:
    """How long the server has nothing to do between requests of this load, if it answers at once."""
    if isinstance(shape, contract.OpenShapeSpec):
        return 1e3 / engine_spec.peak_per_s(shape)
    return shape.pause_ms / capacity.connections_of(shape)


def quicker(
    before: "WorkAlone | FailuresAlone | None", after: "WorkAlone | FailuresAlone | None"
) -> "WorkAlone | FailuresAlone | None":
    """Return what requests take alone: before a load the server may be cold, and after it still be busy."""
    # Imported here, and below, because it takes time before a load.
    from crumple.observation.observed import WorkAlone

    both = [each for each in (after, before) if isinstance(each, WorkAlone)]
    calm = [each for each in both if not each.disturbed]
    return min(calm or both, key=lambda each: each.mean_s, default=after or before)


def answered(alone: "WorkAlone | FailuresAlone | None") -> "WorkAlone | None":
    """Return what requests took that were answered; None: none were, or none were sent."""
    if alone is None:
        return None
    from crumple.observation.observed import WorkAlone

    return alone if isinstance(alone, WorkAlone) else None


def alone_of(record: TrialRecord) -> "WorkAlone | FailuresAlone | None":
    """Return what requests took that were sent one after the other, or how many failed if none was answered.

    None: none ended.
    """
    from crumple.observation import one_by_one
    from crumple.observation.observed import FailuresAlone
    from crumple.record.disturbance import disturbance

    found = one_by_one.alone(record, disturbance(record).against)
    failed = record.outcomes.failed
    return FailuresAlone(0, failed) if found is None and failed else found
