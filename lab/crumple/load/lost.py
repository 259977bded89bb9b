"""Whether a server is lost after a load: it has ended, is stopped, or answers nothing as expected any more.

The record of a load shows an outage until its end (`record/outage.py`). A server may only have paused, so it
is looked at again here: its process, whether anybody listens, and what it answers to one more request.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crumple import contract
from crumple.contract import TrialRecord
from crumple.machine import load_machine
from crumple.machine.guard import Guarded
from crumple.machine.life import End, Life
from crumple.record import failures, limiter_course, outage
from crumple.record.loss import Lost
from crumple.record.outage import Outage

# An outage of one second or more, with failures other than timeouts, counts even if the server answers again.
PASSED_S_MIN = 1.0
# A server crawls if one request alone takes 20 times as long as the median under the load before, or more.
CRAWLS_TIMES = 20.0
# How long one more request may take: at least 3 seconds, and 3 times the longest answer before. If response
# times grew until -t, the longest answer says little, and it may take 10 times as long.
ASKED_S, ASKED_TIMES, GREW_TIMES = 3.0, 3.0, 10.0
# A supervisor may start a server again that has ended: seconds to wait for that, and between two looks.
RESTARTS_S, LOOK_S = 2.0, 0.1
# How a request ends at once, other than by an answer or a refusal.
_AT_ONCE = ("reset", "closed-early", "malformed", "wrong-body")


@dataclass(frozen=True)
class ServerProcess:
    """What can be asked of the server's process."""

    ended: Callable[[], End | None] = lambda: None
    """How it ended; None: it lives, or is not known."""
    is_stopped: Callable[[], bool] = lambda: False
    may_return: bool = True
    """Whether something else than crumple may start it again."""


NOT_KNOWN = ServerProcess()


def after(
    record: TrialRecord,
    process: ServerProcess,
    ask: Callable[[], TrialRecord] | None,
    *,
    was_answered: bool = False,
) -> Lost | None:
    """Return how the server was lost in that load, or before it; None: it was not, as far as is known.

    `ask`: sends one more request; None: none is to be sent. `was_answered`: it answered such requests before
    that load, so that it is lost if it answers none in it.
    """
    seen, end = outage.of(record), process.ended()
    if end is not None and (seen is not None or _is_of(record, end)):
        return _ended(record, seen, end, process, ask)
    due = record.scheduled + record.warm_up.scheduled
    is_silent = bool(due) and not record.outcomes.ok + record.warm_up.outcomes.ok
    if (seen is not None or is_silent) and process.is_stopped():
        return lost_server(record, seen, is_stopped=True)
    if limiter_course.of(record) is not None:
        return None
    if seen is None and not (is_silent and was_answered):
        return find_restart(record)
    if load_machine.refuses(record.spec.target.address):
        return lost_server(record, seen, refuses=True)
    return None if ask is None else _asked(record, seen, ask())


def by_now(
    record: TrialRecord, process: ServerProcess, ask: Callable[[], TrialRecord], *, was_answered: bool
) -> Lost | None:
    """Return how the server was lost in that load, before it or since; None: it was not. As `after`.

    A process that has ended is lost to further loads, also if another one answers in its place.
    """
    found = after(record, process, ask, was_answered=was_answered)
    if found is None and (end := process.ended()) is not None:
        return lost_server(record, None, end=end)
    return found


def lost_server(record: TrialRecord, seen: Outage | None, **how: Any) -> Lost:
    """Return a server that was lost in, or after, that load."""
    comes_and_goes = how.get("end") is not None or record.outcomes.refused > 0
    return Lost(
        outage=seen,
        gaps=outage.gaps(record) if comes_and_goes else (),
        address=record.spec.target.address,
        began_unix_s=record.began_unix_ns / 1e9,
        warm_up_s=record.warm_up_ns / 1e9,
        over_s=record.measured_ns / 1e9,
        **how,
    )


def instead(answer: TrialRecord) -> dict[str, Any]:
    """Return what came instead of an answer to a request that was sent after a load, as fields of `Lost`."""
    ends = {name for name, number in answer.outcomes.as_dict().items() if number}
    return {
        "refuses": "refused" in ends,
        "statuses": tuple(failures.unexpected_statuses(answer)),
        "instead": next((name for name in _AT_ONCE if name in ends), ""),
        "is_cut": any(row.reason == "in-body" for row in answer.reasons),
    }


def asked_s(record: TrialRecord) -> float:
    """How long one more request may take after that load: a server that answers late is not lost."""
    longest_s = (record.histograms.response_time.max_ns or 0) / 1e9
    times = GREW_TIMES if outage.grew_until_timeout(record) else ASKED_TIMES
    return max(ASKED_S, times * longest_s)


def _is_of(record: TrialRecord, end: End) -> bool:
    """Whether the process ended before the load was over."""
    over_s = (record.began_unix_ns + record.warm_up_ns + record.measured_ns) / 1e9
    return end.at_unix_s is None or end.at_unix_s <= over_s


def _ended(
    record: TrialRecord,
    seen: Outage | None,
    end: End,
    process: ServerProcess,
    ask: Callable[[], TrialRecord] | None,
) -> Lost | None:
    """Return how the server was lost whose process has ended; something may have started it again."""
    within_s = RESTARTS_S if process.may_return and ask is not None else 0.0
    if not listens_again(record.spec.target, within_s):
        return lost_server(record, seen, end=end, refuses=True)
    answers_again = ask is not None and ask().outcomes.ok > 0
    found = lost_server(record, seen, end=end, answers_again=answers_again)
    # A process that hands its work over, so that no request fails, is not lost.
    is_whole = seen is None and not found.gaps and not record.outcomes.failed
    return None if answers_again and is_whole else found


def listens_again(target: contract.Target, within_s: float) -> bool:
    """Whether anybody listens there, or does within that time."""
    until_s = time.monotonic() + within_s
    while load_machine.refuses(target.address):
        if time.monotonic() >= until_s:
            return False
        time.sleep(LOOK_S)
    return True


def find_restart(record: TrialRecord) -> Lost | None:
    """Return that nobody listened for a time within the load, if so."""
    if not record.outcomes.refused:
        return None
    found = lost_server(record, None, answers_again=True)
    return found if found.gaps else None


def _asked(record: TrialRecord, seen: Outage | None, answer: TrialRecord) -> Lost | None:
    if not answer.outcomes.ok:
        return lost_server(record, seen, **instead(answer), silent_s=answer.measured_ns / 1e9)
    if seen is None:
        return None
    before_ns, now_ns = record.histograms.response_time.mean_ns, answer.histograms.response_time.mean_ns
    if seen.answered_after and before_ns and now_ns and now_ns > CRAWLS_TIMES * before_ns:
        return lost_server(record, seen, alone_s=now_ns / 1e9)
    ends = record.outcomes
    late = ends.timeout + ends.connect_timeout
    if seen.lasted_s >= PASSED_S_MIN and seen.failed > 2 * late:
        return lost_server(record, seen, answers_again=True)
    return None


def process(pid: int | None, guarded: Guarded | None = None) -> ServerProcess:
    """Return what can be asked of that process from now on; None: nothing. `guarded`: its guard."""
    if pid is None:
        return NOT_KNOWN
    life = Life(pid, guarded)
    return ServerProcess(life.ended, life.is_stopped, may_return=guarded is None)
