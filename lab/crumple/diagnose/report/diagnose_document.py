"""The document of one diagnosis, which `diagnose` prints and stores: its class."""

from contextlib import AbstractContextManager
from typing import Literal, Self

from crumple import contract
from crumple.cause.experiment_account import ExperimentMade
from crumple.contract import TrialRecord
from crumple.contract_base import Lenient
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.diagnosis import Diagnosis, Preliminary
from crumple.diagnose.report.tenths import Tenth
from crumple.documents.parts_of_documents import SaidField, TimeField
from crumple.documents.result import Result
from crumple.experiment.subject import Subject
from crumple.find.report.find_document import SearchData
from crumple.gate import condition
from crumple.limit.remedy import BeforeAndAfter, Expected, Outcome, Remedy
from crumple.limit.what_if import Part, Predicted
from crumple.load import objective
from crumple.load.load_options import Options
from crumple.machine.setting_names import Setting
from crumple.observation.at_load import AtLoad
from crumple.observation.connection_memory import PerConnection
from crumple.observation.observed import Observed
from crumple.observation.parallelism import Parallelism
from crumple.observation.server_facts import ServerFacts
from crumple.observation.unknown import Unknown
from crumple.observation.who_waits import WhoWaits
from crumple.stats.interval import Interval


class FactsData(Lenient):
    """What was judged, beside what was observed; as the fields of `ServerFacts`."""

    beyond: AtLoad
    alone_s: float | None
    others: int | None
    switch_s: float | None

    @classmethod
    def of(cls, found: ServerFacts | None) -> Self | None:
        """Return what was judged as data; None if nothing was."""
        if found is None:
            return None
        return cls(**{name: value for name, value in vars(found).items() if name != "seen"})


class RemedyData(Lenient):
    """A change that was tried; as the fields of `Remedy`."""

    change: str
    """What was changed, without secrets."""
    predicted: Expected | None
    """Between which multiples of the throughput it was expected to give, and where that ends."""
    why_none: str
    """Why nothing was predicted; empty: something was."""
    compared: BeforeAndAfter | None
    """What it gave, by loads in turn; null: nothing was compared."""
    connections: int
    """Those of each load that compared."""
    then: tuple[SaidField, ...]
    """What one load of the changed server says of what limits it."""
    problem: str
    """Why nothing was compared; empty: something was, or hardly anything was answered."""
    outcome: Outcome | None
    """How what it gave compares with what was predicted; null: one of these is not known."""

    @classmethod
    def of(cls, found: Remedy | None) -> Self | None:
        """Return the change as data; None if none was tried."""
        return None if found is None else cls(**vars(found), outcome=found.outcome)

    @property
    def remedy(self) -> Remedy:
        """The change as it was tried."""
        return Remedy(**{name: value for name, value in self if name != "outcome"})


class SubjectData(Lenient):
    """What was diagnosed, and what it was asked, without secrets."""

    target: contract.Target
    work: tuple[contract.RequestSpec, ...]
    light: contract.RequestSpec
    slow: contract.RequestSpec | None
    heavy: contract.RequestSpec | None
    cores: int


class WhatIfData(Lenient):
    """What was changed, and answers per second then; null: nothing is known to limit the server."""

    changes: dict[Part, float]
    predicted: Predicted | None


class DiagnoseDocument(Result):
    """One diagnosis. Times in the unit that the name says; null: not known, or not measured."""

    kind: Literal["diagnose"]
    version: Literal[1]
    server: str
    """What was diagnosed, as it was typed."""
    pid: int | None
    """The root of its process tree."""
    unwatched: str | None
    """Why its process is not known."""
    subject: SubjectData
    """What it was asked."""
    who_waits: WhoWaits | Unknown
    """Whether a process or a thread waits with each request."""
    waits: Parallelism | Unknown
    """How many requests can wait at a time."""
    computes: Parallelism | Unknown
    """On how many cores requests compute."""
    memory_per_connection: PerConnection | Unknown
    """What memory an idle connection takes, in bytes."""
    observed: Observed
    """What the first loads showed."""
    objective: str | None
    """What the search asked for; null: nothing was searched."""
    breaking_point: Interval | None
    """The highest load that lasts, in requests per second, with its 95 % interval."""
    search: SearchData | None
    """The search for it."""
    facts: FactsData | None
    """What was judged, beside what was observed."""
    findings: tuple[SaidField, ...]
    """What limits the server, and of which causes there is no sign."""
    experiments: tuple[ExperimentMade, ...] = ()
    """The experiments that were made, each with what was believed before and after."""
    would_tell: str = ""
    """What would settle more of what limits it; empty: nothing that is known."""
    remedy: RemedyData | None = None
    """The change that was tried after the diagnosis (--try)."""
    line: str = ""
    """What limits it in one line for programs, such as limit=workers k=4 p=0.97 tested gain=1.9x."""
    preliminary: Preliminary | None = None
    """What was likely after the first load, and when that was known."""
    settings: tuple[Setting, ...] = ()
    """What its programs call what they may have more of, and the number of today."""
    what_if: WhatIfData | None = None
    """What --if asked for."""
    tenths: tuple[Tenth, ...] = ()
    """What 10 % more of each part would give, as shares of the throughput."""
    fail_if: tuple[condition.Outcome, ...] = ()
    """What came of each condition of --fail-if."""
    time_below: TimeField
    """Where the time goes below the breaking point."""
    time_beyond: TimeField
    """Where the time goes beyond it."""
    below: TrialRecord | None
    """The engine's record of the load below the breaking point."""
    beyond: TrialRecord | None
    """The engine's record of the load beyond it."""
    interrupted: bool
    """The same as `ended_early`."""
    seed: int
    """Of everything that is random."""
    began_unix_s: float
    """When it began, in seconds since the epoch."""
    took_s: float
    """How long it took."""

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis as sentences and charts take it."""
        return Diagnosis(
            plan=DiagnosisPlan(
                label=self.server,
                objective=objective.parse(self.objective) if self.objective else None,
                seed=self.seed,
                running=_over,
                unwatched=self.unwatched or "",
                changes=self.what_if.changes if self.what_if is not None else {},
            ),
            subject=self._subject(),
            seen=self.observed,
            found=None if self.search is None else self.search.found,
            below=self.below,
            beyond=self.beyond,
            facts=None if self.facts is None else self._facts(self.facts),
            said=self.findings,
            made=self.experiments,
            would_tell=self.would_tell,
            engine_version=self.engine_version,
            command=self.command,
            began_unix_s=self.began_unix_s,
            took_s=self.took_s,
            interrupted=self.interrupted,
            settings=self.settings,
            preliminary=self.preliminary,
            remedy=None if self.remedy is None else self.remedy.remedy,
        )

    def _facts(self, data: FactsData) -> ServerFacts:
        return ServerFacts(
            self.observed,
            data.beyond,
            data.alone_s,
            others=data.others,
            switch_s=data.switch_s,
        )

    def _subject(self) -> Subject:
        asked = self.subject
        return Subject(
            target=asked.target,
            work=asked.work,
            light=asked.light,
            slow=asked.slow,
            heavy=asked.heavy,
            options=Options(server_pid=self.pid, seed=self.seed),
            cores=asked.cores,
        )


def _over() -> AbstractContextManager[Subject]:
    raise AssertionError("a diagnosis that was stored starts nothing")
