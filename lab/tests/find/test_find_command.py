"""`crumple find` from the outside: its help, its exit codes, what it prints and writes."""

import dataclasses
import json
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import documents
import made_searches
import pytest
import real_engine
from command_line import Call, in_project
from conforming import conforms
from crumple import engine
from crumple.commands import find as command
from crumple.commands import unanswered
from crumple.contract import DurationStopSpec, TrialRecord, TrialSpec
from crumple.drawing import page_document
from crumple.engine import Engine
from crumple.find import conduct
from crumple.find.find_flags import FindFlags
from crumple.find.find_live import FindView
from crumple.find.search import SearchResult
from crumple.load import load_flags
from crumple.load.site import NothingAnswered
from made_questions import question
from rich.console import Console
from synthetic_server import SyntheticServer

ROOT = Path(__file__).parents[3]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple find …` in a small project; return (exit code, stdout, stderr)."""
    return in_project(monkeypatch, capsys, tmp_path, "find")


@pytest.fixture
def with_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine; skip if there is none."""
    real_engine.used(monkeypatch)


def test_help_names_every_flag_and_has_an_example(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0 and "Example: crumple find go-nethttp" in out
    for field in dataclasses.fields(FindFlags):
        assert load_flags.names(field)[0] in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("tinny",), 'no server is called "tinny"; did you mean tiny?'),
        (("https:localhost:80",), "the URL https:localhost:80 lacks //; write https://localhost:80"),
        (("tiny", "--by", "users"), "--by users: what is raised is rate or connections; write --by rate"),
        (
            ("tiny", "--objective", "p99<250"),
            '--objective "p99<250": p99 needs a unit; write p99<250ms; units are ',
        ),
        (
            ("http://192.0.2.7/",),
            "192.0.2.7 is neither a loopback nor a private address; if that server is yours",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(line)


@pytest.mark.weighs
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("found", 0), ("one start", 0), ("highest", 0), ("never", 1), ("gone", 3), ("engine", 3),
        ("budget", 3),
    ],
)  # fmt: skip
def test_exit_codes(kind: str, code: int) -> None:
    _, found = made_searches.searches(kind)
    assert command.CODES[found.ending] == code


@pytest.mark.starts
@pytest.mark.parallel
def test_a_url_without_a_listener_is_one_line_and_exits_with_1(call: Call, with_engine: None) -> None:
    code, out, err = call("http://127.0.0.1:1/", "--warm-up", "100ms", "--quiet")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "refused; no program listened at 127.0.0.1:1; start the server, or mend the URL" in err


class LoadsClock:
    """A clock that only loads advance, each by its length and a little more, however busy the machine is.

    `ends_s`: when each load that takes a given time was to end.
    """

    BESIDE_S = 0.5

    def __init__(self) -> None:
        self.now_s = 0.0
        self.ends_s: list[float] = []
        self._run = engine.run

    def monotonic(self) -> float:
        return self.now_s

    def run(self, loader: Engine, spec: TrialSpec, *more: Any) -> TrialRecord:
        """Run the load."""
        if spec.label.startswith("tiny/") and isinstance(spec.stop, DurationStopSpec):
            warm_up_s = spec.warm_up.stop.duration_s if spec.warm_up else 0.0  # type: ignore[union-attr]
            self.ends_s.append(self.now_s + warm_up_s + spec.stop.duration_s)
        record = self._run(loader, spec, *more)
        self.now_s += (record.warm_up_ns + record.measured_ns) / 1e9 + self.BESIDE_S
        return record


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> LoadsClock:
    """The clock by which a search keeps its budget."""
    made = LoadsClock()
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=made.monotonic, time=time.time))
    monkeypatch.setattr(engine, "run", made.run)
    return made


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_is_searched_from_the_command_line(
    call: Call, with_engine: None, clock: LoadsClock, tmp_path: Path
) -> None:
    page = tmp_path / "found.html"
    code, out, err = call(
        "tiny", "--budget", "12s", "--warm-up", "200ms", "--objective", "p50<20ms", "--by", "connections",
        "--seed", "3", "--json", "--html", str(page),
    )  # fmt: skip
    said = json.loads(out)
    conforms(said, "find")
    # On a busy machine no level may be valid, which is a possible result.
    assert code == command.CODES[said["ending"]], err
    assert said["seed"] == 3 and said["levels"]
    assert len(clock.ends_s) == len(said["levels"]) and max(clock.ends_s) <= 12
    assert said["took_s"] == pytest.approx(clock.now_s)
    assert (
        said["command"].startswith("crumple find tiny --budget 12s")
        and said["asked"] == "server tiny, workload hello"
    )
    assert page_document.read(page.read_text(), "") == said
    assert all(level["server_cores_busy"] is not None for level in said["levels"])
    assert len(err.splitlines()) >= len(said["levels"])


def watched(console: Console, budget_s: float = 90.0, quiet: bool = False) -> SearchResult:
    """Run a search with its live view on a console."""
    server = SyntheticServer(2_000.0)
    with FindView("rate", budget_s, quiet=quiet, console=console) as view:
        return conduct.find(question(budget_s=budget_s), server.site(), server.run, server.clock, view)


@pytest.mark.weighs
@pytest.mark.long
def test_each_level_is_printed_as_a_line_during_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    found = watched(Console(width=100, file=sys.stdout))
    outlook, *lines = capsys.readouterr().out.splitlines()
    assert re.match(r"1 min 30 s: about \d+ levels; at 1,\d\d\d /s one takes 1 to 9 s", outlook)
    said = ("held", "broke", "undecided")
    assert len(lines) == len(found.levels) and all(any(each in line for each in said) for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.weighs
@pytest.mark.long
def test_on_a_terminal_the_status_line_is_removed_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Console(width=100, file=sys.stdout, force_terminal=True, force_interactive=True)
    found = watched(terminal, budget_s=30.0)
    out = capsys.readouterr().out
    said = ("held", "broke", "undecided")
    assert sum(any(each in line for each in said) for line in out.splitlines()) >= len(found.levels)
    assert out.rstrip().endswith(("\x1b[?25h", "\x1b[1A\x1b[2K"))


@pytest.mark.weighs
@pytest.mark.long
def test_on_a_narrow_terminal_a_level_takes_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    narrow = Console(width=60, file=sys.stdout, force_terminal=True, force_interactive=True)
    found = watched(narrow, budget_s=30.0)
    lines = [line for line in capsys.readouterr().out.splitlines() if " missed " in line]
    assert len(lines) == len(found.levels) and any("…" in line for line in lines)


@pytest.mark.weighs
@pytest.mark.long
def test_quiet_prints_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    watched(Console(width=100, file=sys.stdout, quiet=True), budget_s=30.0, quiet=True)
    assert capsys.readouterr().out == ""


def test_a_search_without_an_answer_says_why() -> None:
    server: Any = SyntheticServer(2_000.0, refuses=True)
    with pytest.raises(NothingAnswered) as said:
        watched_on(server)
    assert unanswered.sentence(said.value.record).startswith(
        "no request was answered as expected: 100 of 100 refused"
    )


def test_for_more_time_a_search_names_its_own_flag() -> None:
    """It has no -z."""
    waiting = {"outcomes": documents.outcomes(unfinished=32), "connections_opened": 32}
    said = unanswered.sentence(documents.record().model_copy(update=waiting), "--budget")
    assert said.endswith(
        "32 unfinished; the load ended before the first answer; give it longer with --budget"
    )


def watched_on(server: SyntheticServer) -> SearchResult:
    """Run a search on that server without a live view."""
    with FindView("rate", 90.0, quiet=True) as view:
        return conduct.find(question(), server.site(), server.run, server.clock, view)
