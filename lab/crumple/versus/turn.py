"""One version's turn in a block: the records of its two loads → figures, and whether they count. Pure.

The closed load gives throughput and CPU time per request; the load at the rate gives response times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from crumple.contract import HistogramRecord, TrialRecord
from crumple.record import disturbance, due_times, failures, lateness, undisturbed, windows
from crumple.record.disturbance import Disturbance
from crumple.record.undisturbed import Factors
from crumple.record.validity import Validity, Word
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import Bounded, Figure, Off, Rows

# The quantiles that a comparison may show.
QUANTILES: dict[Figure, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
# The least share of what was due at the rate that a server answers within the window if it keeps up.
KEPT_UP_SHARE = 0.9
# How far apart the shares may be for which versions keep the cores busy. With a larger distance what is read
# of their speed is not comparable.
BUSY_APART = 0.1
_UNANSWERED = "of a load depends on requests that had no answer when it ended: it is at least what is shown"


@dataclass(frozen=True)
class PutOn:
    """One load that is over."""

    figures: Mapping[Figure, float]
    """What it showed, whether it counts or not."""
    word: Word
    against: tuple[str, ...]
    """Why it does not count, each a sentence."""
    warnings: tuple[str, ...]
    failed_share: float
    """The share of the requests that ended which failed."""
    answered_share: float
    """Right answers as a share of the requests that were due."""
    times: HistogramRecord = field(repr=False)
    slowdown: float = 1.0
    """By which factor others slowed it at most."""
    factors: Mapping[Figure, Factors] = field(default_factory=dict)
    """How far the figures of a calm machine may lie from these, if others took something."""
    disturbed: tuple[Figure, ...] = ()
    """The figures that do not count, because others may have changed them too much."""
    at_least: tuple[Figure, ...] = ()
    """The figures that requests without an answer decide, so that they are at least what is shown."""
    speed_per_s: float | None = None
    """How many pieces of a fixed work the server's cores did for a second of CPU time; None: not read."""
    busy_share: float | None = None
    """How busy the server kept these cores."""

    @property
    def counts(self) -> bool:
        """Whether its figures are compared."""
        return not self.against

    @property
    def compared(self) -> dict[Figure, float]:
        """The figures that are compared."""
        kept = self.figures.items() if self.counts else ()
        return {name: value for name, value in kept if name not in self.disturbed}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Why figures of it do not count, each a sentence."""
        if not self.disturbed:
            return self.against
        names, most = ", ".join(self.disturbed), disturbance.SLOWDOWN_MAX
        return (*self.against, f"others may have changed {names} by more than a factor of {most:g}")


@dataclass(frozen=True)
class Turn:
    """A turn that is over."""

    letter: str
    """The letter of the version, or TWIN."""
    closed: PutOn
    at_rate: PutOn

    @property
    def figures(self) -> dict[Figure, float]:
        """The figures that are compared."""
        return {name: value for load in self.loads for name, value in load.compared.items()}

    @property
    def against(self) -> tuple[str, ...]:
        """Why loads of it, or figures of these, do not count."""
        return tuple(dict.fromkeys(why for load in self.loads for why in load.left_out))

    @property
    def loads(self) -> tuple[PutOn, PutOn]:
        """Both loads."""
        return self.closed, self.at_rate


@dataclass(frozen=True)
class VersusBlock:
    """One block that is over: its turns, in the order in which they were made."""

    turns: tuple[Turn, ...]

    @property
    def by_letter(self) -> dict[str, Turn]:
        """Letter → its turn."""
        return {turn.letter: turn for turn in self.turns}


def load_by_connections(record: TrialRecord, validity: Validity, taken: Disturbance) -> PutOn:
    """Return what a load by a number of connections came to. `taken`: what others took from it."""
    ok, used_ns = record.outcomes.ok, windows.cpu_ns(record, windows.server(record))
    found: dict[Figure, float] = {}
    if ok:
        found["throughput"] = ok / record.measured_ns * 1e9
        if used_ns is not None:
            found["cpu"] = used_ns / ok
    rate = undisturbed.rate(taken.slowdown)
    return with_factors(_put_on(record, validity, taken, found), {"throughput": rate})


def load_at_rate(record: TrialRecord, validity: Validity, taken: Disturbance) -> PutOn:
    """Return what a load at the rate came to: the quantiles, of all requests due, that it has enough of."""
    late = lateness.spoiled_quantiles(record, tuple(QUANTILES.values()))
    found = {
        name: seen
        for name, q in QUANTILES.items()
        if q not in late and (seen := due_times.quantile(record, q)) is not None
    }
    load = _put_on(record, validity, taken, {name: each.ns for name, each in found.items()})
    quantile_ns = due_times.quantiles_ns(record)
    factors = {
        name: undisturbed.open_quantile(quantile_ns, QUANTILES[name], taken.delayed_share) for name in found
    }
    at_least = tuple(name for name, each in found.items() if each.is_least)
    unanswered = tuple(f"{name} {_UNANSWERED}" for name in at_least[:1])
    return replace(with_factors(load, factors), at_least=at_least, warnings=(*load.warnings, *unanswered))


def with_factors(load: PutOn, factors: Mapping[Figure, Factors]) -> PutOn:
    """Return the load with how far its figures may lie off, and without those that may by too much."""
    disturbed = tuple(
        name for name, each in factors.items() if name in load.figures and disturbance.is_beyond(each)
    )
    return replace(load, factors=factors, disturbed=disturbed)


def rows(blocks: Sequence[VersusBlock]) -> Rows:
    """Return the figures that count: figure → letter → block, from 1 → value."""
    found: dict[Figure, dict[str, dict[int, float]]] = {}
    for number, block in enumerate(blocks, 1):
        for letter, turn in block.by_letter.items():
            for figure, value in turn.figures.items():
                found.setdefault(figure, {}).setdefault(letter, {})[number] = value
    return found


def factors(blocks: Sequence[VersusBlock]) -> Off:
    """Return how far the values of a calm machine may lie from those that count, laid out as `rows`."""
    found: dict[Figure, dict[str, dict[int, Factors]]] = {}
    for number, block in enumerate(blocks, 1):
        for letter, turn in block.by_letter.items():
            for load in turn.loads:
                for figure in load.factors.keys() & load.compared.keys():
                    found.setdefault(figure, {}).setdefault(letter, {})[number] = load.factors[figure]
    return found


def speeds(blocks: Sequence[VersusBlock]) -> Rows:
    """Return how fast the server's cores were when a figure that counts was measured, laid out as `rows`.

    A core that is idle now and then is read slower than one that is busy. So a version that kept the cores
    busy for another share than A did has no speeds.
    """
    found: dict[Figure, dict[str, dict[int, float]]] = {}
    busy: dict[Figure, dict[str, list[float]]] = {}
    for number, block in enumerate(blocks, 1):
        for letter, turn in block.by_letter.items():
            for load in turn.loads:
                if load.counts and load.speed_per_s and load.busy_share is not None:
                    for figure in load.compared:
                        found.setdefault(figure, {}).setdefault(letter, {})[number] = load.speed_per_s
                        busy.setdefault(figure, {}).setdefault(letter, []).append(load.busy_share)
    return {figure: _as_busy(row, busy[figure]) for figure, row in found.items()}


def _as_busy(
    speeds: Mapping[str, Mapping[int, float]], busy: Mapping[str, Sequence[float]]
) -> dict[str, Mapping[int, float]]:
    first = [*busy.get(FIRST, ()), *busy.get(TWIN, ())]
    return {
        letter: row
        for letter, row in speeds.items()
        if letter in (FIRST, TWIN) or (first and abs(fmean(busy[letter]) - fmean(first)) <= BUSY_APART)
    }


def bounded(blocks: Sequence[VersusBlock]) -> Bounded:
    """Return of which figures the values of some blocks are only a bound."""
    found: dict[Figure, dict[str, list[int]]] = {}
    for number, block in enumerate(blocks, 1):
        for letter, turn in block.by_letter.items():
            for figure in turn.at_rate.compared.keys() & {*turn.at_rate.at_least}:
                found.setdefault(figure, {}).setdefault(letter, []).append(number)
    return found


def _put_on(
    record: TrialRecord, validity: Validity, taken: Disturbance, figures: Mapping[Figure, float]
) -> PutOn:
    failed = failures.share(record.outcomes)
    against = validity.problems
    if failed is not None and failed > failures.SHARE_MAX:
        lossy = f"{failed:.1%} of the requests failed, and fast failures would look like fast answers"
        against = (*against, lossy)
    used, cores = windows.cores(record, windows.server(record)), len(record.spec.probe.speed_of_cores)
    return PutOn(
        figures=figures,
        word=validity.word,
        against=against,
        warnings=validity.warnings,
        failed_share=1.0 if failed is None else failed,
        answered_share=record.outcomes.ok / record.scheduled if record.scheduled else 0.0,
        times=record.histograms.response_time,
        slowdown=taken.slowdown,
        speed_per_s=record.probes.speed.mean_per_s if record.probes.speed else None,
        busy_share=used / cores if used is not None and cores else None,
    )
