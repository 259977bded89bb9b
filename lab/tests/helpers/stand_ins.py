"""Stand-ins for servers, machine and engine, so that tests of trials and runs need none of them."""

import contextlib
import json
import runpy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import documents
import pytest
from crumple import engine
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.engine import EndEarly, Engine, OnProgress
from crumple.errors import ServerFailed, WrongAnswer
from crumple.machine import alone, capacity, ceiling
from crumple.machine.ceiling import Ceiling
from crumple.run import in_turns
from crumple.run.store import RunStore, StoredTrial
from crumple.run.trial import Job
from crumple.subject import answer_check, servers

DESCRIBED = ("go-nethttp", "node-http", "node-express")


class Stage:
    """What the stand-ins do; `fail_at` is {server: step}, with "*" for all; the lists record what happened.

    `calibrated`: the loads after which the engine's ceiling was asked for, which is `ceiling`.
    `files_left`: how many files the server leaves behind. `programs`: the hash of a server's program.
    """

    def __init__(self) -> None:
        self.fail_at: dict[str, str] = {}
        self.missing: set[str] = set()
        self.started: list[str] = []
        self.built: list[str] = []
        self.ceiling: Ceiling | None = None
        self.calibrated: list[TrialSpec] = []
        self.open = 0
        self.files_left = 0
        self.asked = 0
        self.programs: dict[str, str] = {}

    def fails(self, server: str, step: str) -> bool:
        return self.fail_at.get(server, self.fail_at.get("*")) == step


def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Replace servers, machine and verification for one test."""
    acts = Stage()

    def build(description: Any) -> Any:
        acts.built.append(description.name)
        if acts.fails(description.name, "build"):
            raise ServerFailed("build", "the compiler refused", ("main.go:1: no",))
        return SimpleNamespace(description=description, name=description.name)

    @contextmanager
    def start(
        built: Any,
        *,
        cores: tuple[int, ...],
        settings: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
    ) -> Iterator[Any]:
        acts.started.append(built.name)
        acts.asked = 0
        if acts.fails(built.name, "start"):
            raise ServerFailed("start", "it ended with code 1 before it answered", ("port taken",))
        acts.open += 1
        try:
            yield SimpleNamespace(
                name=built.name,
                address="127.0.0.1:1",
                pid=1,
                start_s=0.05,
                output_tail=lambda: ["what the server said"],
                alive=lambda: not acts.fails(built.name, "death"),
                files_left=lambda: acts.files_left,
                suspend=lambda: None,
                wake=lambda: None,
            )
        finally:
            acts.open -= 1
        if acts.fails(built.name, "stop"):
            raise ServerFailed("stop", "it would not end")

    def answers(address: str, workload: Any, parameters: Any, *, keeps: bool = True) -> None:
        acts.asked += 1
        if acts.fails(acts.started[-1], "answers" if acts.asked == 1 else "answers-after"):
            raise WrongAnswer("GET /hello: 4 bytes that differ")

    def readiness(description: Any) -> Any:
        if description.name in acts.missing:
            return servers.Missing("go is not installed", "run: crumple setup")
        return servers.Installed({"go": "1.26"})

    def ceiling_after(load: Any, record: TrialRecord, cache_dir: Path, telling: Any) -> Ceiling | None:
        assert acts.open == 0, "a server that runs would be disturbed"
        acts.calibrated.append(record.spec)
        return acts.ceiling

    monkeypatch.setattr(ceiling, "measured_after", ceiling_after)
    monkeypatch.setattr(servers, "build", build)
    monkeypatch.setattr(servers, "is_built", lambda described: described.name in acts.built)
    monkeypatch.setattr(servers, "start", start)
    monkeypatch.setattr(servers, "program", lambda described: acts.programs.get(described.name, "as it was"))
    monkeypatch.setattr(servers, "readiness", readiness)
    monkeypatch.setattr(servers, "versions", lambda _: {"go": "1.26"})
    monkeypatch.setattr(servers, "find", lambda _: {name: description(name) for name in DESCRIBED})
    monkeypatch.setattr(answer_check, "answers", answers)
    monkeypatch.setattr(alone, "turn", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(capacity, "facts", lambda: {"cpu": "made up"})
    monkeypatch.setattr(capacity, "fitness", lambda *_: capacity.Fitness({"load_1m": 0.1}, ("busy",)))
    monkeypatch.setattr(capacity, "cores_for", lambda *_: capacity.Cores(engine=(1,), server=(0,)))
    return acts


def engine_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the stand-in of `documents.fake_engine` in this process.

    Not for a stand-in that ends itself, or waits.
    """

    def load(root: Path) -> Engine:
        return Engine(engine.find(root), "0.1.0")

    def run(
        load: Engine, spec: TrialSpec, on_progress: OnProgress, end_early: EndEarly | None = None
    ) -> TrialRecord:
        on_progress(ProgressLine.model_validate(documents.PROGRESS))
        record = runpy.run_path(str(load.path))["answered"](json.loads(spec.model_dump_json()))
        return TrialRecord.model_validate_json(json.dumps(record))

    monkeypatch.setattr(engine, "load", load)
    monkeypatch.setattr(engine, "run", run)


def description(name: str) -> Any:
    """The parts of a server's description that the lab reads."""
    return SimpleNamespace(
        name=name, title=name, language="Go", io_model="green-threads", about="", libraries={},
        model_is_checked=True, workloads=("hello",), settings={"workers": SimpleNamespace(default=4)},
    )  # fmt: skip


def project(root: Path) -> Path:
    """A project's folders with one workload and no study."""
    for folder in ("contract/workloads", "servers", "studies"):
        (root / folder).mkdir(parents=True)
    (root / "contract" / "workloads" / "hello.toml").write_text(documents.WORKLOAD_TOML)
    return root


def conducted(job: Job, load: Engine, store: RunStore, on_progress: OnProgress) -> StoredTrial:
    """Conduct one trial and store it."""
    told = SimpleNamespace(
        began=lambda _: None, slice=lambda *_: None, progress=lambda _, line: on_progress(line)
    )
    (stored,) = in_turns.conduct([job], load, told)
    store.add(stored)
    return stored
