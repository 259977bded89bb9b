"""The limit of open files raised as far as the server may raise it itself, in turn with loads without.

Predicted: open files are the limit, and requests fail or get no answer: they no longer do · anything else:
the same share of them fails.

Undone as in `one_core`. Files that are open by then stay open; only new ones are counted against the limit.
"""

from contextlib import nullcontext

from crumple.contract import TrialRecord
from crumple.experiment.bench import Bench
from crumple.machine import holding
from crumple.machine.holding import NotHeld
from crumple.observation.outcome import Failing, Refused

# In which loads it is raised: a server that has once met its limit may be slow to recover.
RAISED = (False, True, True, False)


def raise_files(bench: Bench) -> Failing | Refused:
    """Return how many requests fail while it is raised, and how many without."""
    pid = bench.subject.pid
    if pid is None:
        return Refused("the server's process is not known")
    failed, asked = {False: 0, True: 0}, {False: 0, True: 0}
    try:
        for is_raised in RAISED:
            with holding.held(holding.open_files(pid)) if is_raised else nullcontext():
                record = bench.record()
            failed[is_raised] += _failed(record)
            asked[is_raised] += record.scheduled
    except NotHeld as why:
        return Refused(str(why))
    return Failing(failed[True], asked[True], failed[False], asked[False])


def _failed(record: TrialRecord) -> int:
    """Requests that failed, and those that were unanswered in the end of users who got no answer at all."""
    return record.outcomes.failed + min(record.outcomes.unfinished, record.users_unanswered)
