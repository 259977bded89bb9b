"""What may happen to a cluster while a study runs on it, and what comes of it.

with made_cluster.made(folder, engine) as cluster:
    for name in FAULTS:
        print(name, suffer(cluster, name))
"""

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import other_hosts
from crumple.run import run_file
from made_cluster import GONE_S, STUDY_NAME, MadeCluster
from other_hosts import Host

# Seconds until all hosts measure, and until a run has ended.
BEGUN_S, ENDED_S = 180.0, 400.0
# What crumple says of a host that is lost, and of a scheduler.
HOST_LOST, SCHEDULER_LOST = "is lost; what it measured is dealt again", "--resume"


@dataclass(frozen=True)
class Fault:
    """A fault. `hurt` brings it about on a host that measures; `heal` undoes it when the run has ended."""

    hurt: Callable[[MadeCluster, Host], None]
    heal: Callable[[MadeCluster, Host], None] = lambda _cluster, _host: None
    ends: bool = False
    """Whether it ends the run, which is then resumed on a new cluster."""


FAULTS = {
    "worker-killed": Fault(lambda cluster, host: cluster.send(signal.SIGKILL, cluster.workers(host))),
    "worker-frozen": Fault(
        lambda cluster, host: cluster.send(signal.SIGSTOP, cluster.workers(host)),
        lambda cluster, host: cluster.send(signal.SIGCONT, cluster.workers(host)),
    ),
    "cut-off": Fault(
        lambda cluster, host: cluster.link_of[host.name].cut(),
        lambda cluster, host: cluster.link_of[host.name].mend(),
    ),
    "scheduler-killed": Fault(lambda cluster, _: cluster.send(signal.SIGKILL, [cluster.keeper]), ends=True),
}


@dataclass(frozen=True)
class Suffered:
    """What came of a fault.

    `lost`: trials that were stored before it and are not, or are others; `missing`: trials of the plan that
    are not stored in the end. `gone_s`: seconds until nothing that it had interrupted measured on the host;
    `left`: how much then still measures there, or on any host when the run has ended. `wrong`: claims whose
    verdict is wrong. `said`: the last of what crumple printed.
    """

    code: int
    before: int
    lost: int
    missing: int
    gone_s: float
    left: int
    wrong: int
    said: str

    @property
    def faults(self) -> list[str]:
        """What of it must not be."""
        counts = {
            "stored trials lost": self.lost,
            "trials missing": self.missing,
            "left": self.left,
            "wrong verdicts": self.wrong,
        }
        return [f"{number} {what}" for what, number in counts.items() if number]


def suffer(cluster: MadeCluster, name: str) -> Suffered:
    """Run the study, bring the fault about once trials are stored and a host measures, and see what comes."""
    fault = FAULTS[name]
    if not cluster.address:
        cluster.bring_up()
    assert other_hosts.at_last(lambda: all(map(cluster.workers, cluster.hosts)), BEGUN_S)
    with cluster.running("run", STUDY_NAME, "--cluster", cluster.address, "--seed", "1") as process:
        if not other_hosts.at_last(lambda: _begun(cluster) or process.poll() is not None, BEGUN_S):
            process.kill()
        assert process.poll() is None, process.communicate()[0]
        # What measures may just have ended.
        assert other_hosts.at_last(lambda: any(map(cluster.engines, cluster.hosts)), BEGUN_S)
        host = max(cluster.hosts, key=lambda each: len(cluster.engines(each)))
        before, measured = _stored(cluster), cluster.measuring(host)
        began_s = time.monotonic()
        fault.hurt(cluster, host)
        gone = other_hosts.at_last(lambda: not _still(cluster, host, measured), GONE_S)
        gone_s = time.monotonic() - began_s
        left = 0 if gone else _still(cluster, host, measured)
        said, _ = process.communicate(timeout=ENDED_S)
        code = process.returncode
    fault.heal(cluster, host)
    if fault.ends:
        cluster.bring_up()
        run = ("run", "--resume", cluster.run_of().name, "--cluster", cluster.address)
        said += cluster.crumple(*run, code=None)
    left += 0 if cluster.is_quiet() else sum(len(cluster.measuring(each)) for each in cluster.hosts)
    after = _stored(cluster)
    store = cluster.run_of()
    planned = {trial.id for trial in run_file.read(store).plan.trials}
    report = json.loads(cluster.crumple("report", str(store.folder), "--json"))
    wrong = sum(each["answer"] == "contradicted" for each in report["claims"])
    lost = sum(after.get(each) != text for each, text in before.items())
    missing = len(planned - store.ids())
    cluster.forget()
    return Suffered(code, len(before), lost, missing, gone_s, left, wrong, said[-400:])


def _still(cluster: MadeCluster, host: Host, measured: list[int]) -> int:
    """How many of these processes measure on a host; one that has ended may wait to be reaped."""
    return len({*measured} & {*cluster.measuring(host)})


def _begun(cluster: MadeCluster) -> bool:
    return bool(_stored(cluster)) and any(map(cluster.engines, cluster.hosts))


def _stored(cluster: MadeCluster) -> dict[str, bytes]:
    files = (cluster.root / "runs").glob(f"{STUDY_NAME}-*/trials/*.json")
    return {each.name: each.read_bytes() for each in files if each.is_file()}
