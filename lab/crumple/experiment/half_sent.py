"""A load beside connections that have sent half a request, in turn with the same load alone."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from crumple import contract
from crumple.cause import crowding
from crumple.cause.observed import Crowded
from crumple.contract import Request, Target, TrialRecord
from crumple.experiment import idle

# How many connections are held: with two, the throughput of a server with 30 places falls by 7 %. A server
# with two places or fewer then answers nothing, and one is held instead.
HELD = (2, 1)
# How many requests are in flight. A server with few places has fewer than these.
CONNECTIONS = 32
# The loads come in pairs, one of which is beside them. Which is first changes: what drifts harms both alike.
PAIRS = ((False, True), (True, False)) * 2
# How long a load takes: at least the first, and this multiple of a request alone. If that is more than the
# last, no load is put on.
LOAD_S, LOAD_TIMES, LOAD_S_MAX = 0.6, 5, 1.2
# By then the server has answered what the load before had sent, for which nobody waits any more.
WARM_S = 0.4

PutOn = Callable[[tuple[Request, ...], int, contract.Stop, contract.Stop], TrialRecord]


def crowded(put_on: PutOn, target: Target, request: Request, alone_s: float) -> Crowded | None:
    """Return what half-sent requests do to a load of this request.

    None: it takes too long, or they did not come about. `alone_s`: how long a request takes alone.
    """
    load_s = max(LOAD_S, LOAD_TIMES * alone_s)
    if load_s > LOAD_S_MAX:
        return None
    found = None
    for number in HELD:
        pairs = [_pair(put_on, target, request, number, load_s, order) for order in PAIRS]
        found = crowding.crowded(number, [each for each in pairs if each is not None])
        if found is None or found.ratio > 0:
            break
    return found


def _pair(
    put_on: PutOn, target: Target, request: Request, number: int, load_s: float, order: tuple[bool, ...]
) -> tuple[float, float] | None:
    """Return the answers per second beside half-sent requests, and without; None: these were not opened."""
    warm_up, stop = (contract.AfterDuration(duration_s=each) for each in (WARM_S, load_s))
    per_s = {}
    for is_beside in order:
        with held(target, request, number if is_beside else 0) as opened:
            if is_beside and opened < number:
                return None
            record = put_on((request,), CONNECTIONS, stop, warm_up)
        per_s[is_beside] = record.outcomes.ok / (record.measured_ns / 1e9)
    return per_s[True], per_s[False]


@contextmanager
def held(target: Target, request: Request, number: int) -> Iterator[int]:
    """Hold connections that have sent half a request until the `with` ends; give how many there are."""
    with ExitStack() as stack:
        opened = [each for _ in range(number) if (each := idle.connected(target.address))]
        for each in opened:
            stack.enter_context(each)
        yield idle.send_half(opened, target.host, request)
