"""What limits a server, from one load alone: its record, and how long a request takes without it. Pure."""

from crumple.cause import judged as judging
from crumple.contract import TrialRecord
from crumple.limit.finding import Said
from crumple.machine.at_rest import AtRest
from crumple.observation import loaded
from crumple.observation.at_load import AtLoad
from crumple.observation.loaded import Beside
from crumple.observation.observed import FailuresAlone, Observed, WorkAlone
from crumple.observation.server_facts import ServerFacts


def judged(
    record: TrialRecord,
    all_cores: int,
    alone: WorkAlone | FailuresAlone | None = None,
    others: int | None = 0,
    *,
    rest: AtRest | None = None,
    elsewhere: int | None = None,
) -> tuple[Said, ...]:
    """Return what limits the server under this load, and what does not; findings first.

    `all_cores`: those that the server may use; `elsewhere`: others that the engine may. `alone`: requests
    sent one at a time, or how many of them failed if none was answered. Where it is not known how long one
    takes, requests wait if they queue in front of the server, or threads do for a core. `others`: connections
    of other clients that the server held before the load; `rest`: what it did then. Empty: the load read too
    little to judge.
    """
    if record.probes.server is None or record.probes.stages is None:
        return ()
    return of_load(loaded.from_record(record, all_cores, Beside(rest=rest), elsewhere), alone, others)


def of_load(
    beyond: AtLoad,
    alone: WorkAlone | FailuresAlone | None,
    others: int | None = 0,
    tried: FailuresAlone | None = None,
) -> tuple[Said, ...]:
    """Return the same from what was seen of the server under the load.

    `tried`: how often requests fail under a lower load, where `alone` does not say it.
    """
    work = alone if isinstance(alone, WorkAlone) else None
    tried = alone if isinstance(alone, FailuresAlone) else tried
    alone_s = work.mean_s if work is not None and not work.disturbed else None
    seen = Observed(cores=beyond.all_cores, work=work, rest=beyond.rest, tried=tried)
    return tuple(judging.judged(ServerFacts(seen=seen, beyond=beyond, alone_s=alone_s, others=others)))
