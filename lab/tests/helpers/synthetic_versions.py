"""Versions for tests: synthetic servers that share one clock, and what a comparison of them comes to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from crumple.contract import ProgressLine, SpeedRecord, TrialRecord, TrialSpec
from crumple.engine import EndEarly
from crumple.errors import Interrupted, ServerFailed
from crumple.load.lost import ServerProcess
from crumple.load.site import RunningServer, Site
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.validity import Validity
from crumple.versus import versus_course
from crumple.versus.lengths import Loads
from crumple.versus.standing import Figure, Ratio, Rule
from crumple.versus.turn import VersusBlock
from crumple.versus.versus_course import VersionComparison, VersusMeans
from synthetic_server import DIED, VALID, SyntheticServer

LOADS = Loads(
    budget_s=120.0,
    rate_per_s=None,
    share=0.5,
    connections=16,
    warm_up_s=None,
    arrivals="poisson",
    tolerance=0.05,
    seed=5,
)


@dataclass
class Watcher:
    """A `versus_course.Watcher` that keeps what it is told, in words."""

    told: list[str] = field(default_factory=list)
    turns: list[tuple[int, str, bool]] = field(default_factory=list)
    rule: Rule | None = None

    def calibrating(self, letter: str) -> None:
        self.told.append(f"calibrating {letter}")

    def planned(self, rate_per_s: float, rule: Rule, block_s: float) -> None:
        self.rule = rule
        self.told.append("planned")

    def turn(self, block: int, letter: str, left_s: float) -> None:
        self.turns.append((block, letter))

    def progress(self, progress: ProgressLine) -> None:
        pass

    def block(self, number: int, block: VersusBlock, ratios: Sequence[Ratio], left_s: float) -> None:
        self.told.append(f"block {number}")


@dataclass
class Machine:
    """A machine with a server for each version, by its letter. `watched`: their processes are known.

    `ends_at`, `refuses_at`, `interrupted_at`: the opening, from 1, at which that happens, by the letter.
    `judged`: what is said of a record, if it is not valid; `taken`: what others took from it.
    `paused_s`: time that passes beside the loads.
    `speed_per_s`: number of the load → how fast the server's cores are read, where it is asked for.
    """

    servers: Mapping[str, SyntheticServer]
    afresh: bool = True
    watched: bool = True
    ends_at: Mapping[str, int] = field(default_factory=dict)
    refuses_at: Mapping[str, int] = field(default_factory=dict)
    interrupted_at: Mapping[str, int] = field(default_factory=dict)
    judged: Callable[[TrialRecord], Validity] = lambda _: VALID
    taken: Callable[[TrialRecord], Disturbance] = disturbance
    engine_cores: tuple[int, ...] = ()
    server_cores: tuple[int, ...] = ()
    speed_per_s: Callable[[int], float] | None = None
    watcher: Watcher = field(default_factory=Watcher)
    specs: list[TrialSpec] = field(default_factory=list)
    opened: dict[str, int] = field(default_factory=dict)
    paused_s: float = 0.0

    def clock(self) -> float:
        return sum(each.now_s for each in self.servers.values()) + self.paused_s

    def compare(self, loads: Loads = LOADS) -> VersionComparison:
        return self.compare_with({}, loads)

    def compare_with(
        self, bounds: Mapping[Figure, tuple[float, ...]], loads: Loads = LOADS
    ) -> VersionComparison:
        means = VersusMeans(self._run, self.clock, self.watcher)
        sites = {letter: self._site(letter) for letter in self.servers}
        return versus_course.compare(loads, sites, means, bounds)

    def _site(self, letter: str) -> Site:
        plain = self.servers[letter].site(afresh=self.afresh)

        @contextmanager
        def opened() -> Iterator[RunningServer]:
            self.opened[letter] = self.opened.get(letter, 0) + 1
            if self.refuses_at.get(letter) == self.opened[letter]:
                raise ServerFailed("start", "it ended with code 1 before it answered")
            with plain.opened() as place:
                target = place.target.model_copy(update={"address": f"127.0.0.1:{ord(letter)}"})
                options = replace(
                    place.options, server_pid=1 if self.watched else None, cores=self.engine_cores
                )
                ends = self.ends_at.get(letter) == self.opened[letter]
                yield replace(
                    place,
                    target=target,
                    options=options,
                    process=ServerProcess(lambda: DIED if ends else None, may_return=False),
                )

        return replace(
            plain, opened=opened, assess=self.judged, taken=self.taken, server_cores=self.server_cores
        )

    def _run(self, spec: TrialSpec, on_progress: Callable[[ProgressLine], None]) -> TrialRecord:
        self.specs.append(spec)
        letter = chr(int(spec.target.address.rpartition(":")[2]))
        if self.interrupted_at.get(letter) == self.opened[letter]:
            raise Interrupted("SIGINT")
        lines = spec.model_copy(update={"progress": spec.progress.model_copy(update={"every_ms": 1_000})})
        record = self.servers[letter].run(lines, on_progress, EndEarly())
        if spec.probe.speed_of_cores and self.speed_per_s is not None:
            speed = SpeedRecord(readings=9, mean_per_s=self.speed_per_s(len(self.specs)), cost_ns=1, why=None)
            record = record.model_copy(update={"probes": record.probes.model_copy(update={"speed": speed})})
        return record.model_copy(update={"spec": spec})


def machine(*per_s: float, **changes: object) -> Machine:
    """A machine whose versions answer so many requests per second."""
    letters = "ABCDEFGH"
    servers = {
        letter: SyntheticServer(each, seed=at)
        for at, (letter, each) in enumerate(zip(letters, per_s, strict=False), 1)
    }
    return Machine(servers, **changes)  # type: ignore[arg-type]
