"""`crumple load` from the outside: its help, what it prints and writes, its exit codes."""

import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import pytest
import synthetic_load
from command_line import Call, caller
from crumple.commands import load as command
from crumple.commands import saving
from crumple.contract import TrialRecord
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.find.find_flags import FindFlags
from crumple.habits import remedies
from crumple.load import engine_spec, load_flags
from crumple.load.load_flags import LoadFlags, PageFlags
from crumple.results import result_store
from crumple.versus.versus_flags import VersusFlags
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

URL = "http://127.0.0.1:8080/hello"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple load …` in an empty folder; return (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return caller(monkeypatch, capsys, "load")


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """A stand-in for the engine that returns this record, whatever spec it gets."""

    def stand_in(record: TrialRecord, body: str = "") -> None:
        stored = tmp_path / "record.json"
        stored.write_text(record.model_dump_json(by_alias=True))
        loaded = f"record = json.load(open({str(stored)!r})); record['spec'] = spec\n{body}"
        path = documents.fake_engine(tmp_path, loaded)
        monkeypatch.setenv("CRUMPLE_ENGINE", str(path))
        monkeypatch.setattr(engine_spec, "check_listening", lambda target, machine: None)

    return stand_in


@pytest.mark.starts
@pytest.mark.parallel
def test_the_load_command_does_not_import_what_only_reports_need() -> None:
    without = "import sys; sys.modules.update(numpy=None)"
    subprocess.run([sys.executable, "-c", f"{without}; import crumple.commands.load"], check=True)


def test_help_has_groups_and_an_example(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0 and "Example: crumple load http://" in out
    for group in ("Load", "Request", "Expected answer", "Target", "Engine", "Output"):
        assert f"\n{group}:\n" in out
    assert "-q of hey is per worker" in " ".join(out.split())


def test_every_flag_is_in_the_help(call: Call) -> None:
    _, out, _ = call("--help")
    for field in dataclasses.fields(LoadFlags):
        assert load_flags.names(field)[0] in out


@pytest.mark.parametrize(
    ("flag", "field", "value", "meant"),
    [
        ("-n", "requests", "5", 5), ("-c", "connections", "5", 5), ("-z", "duration", "5s", "5s"),
        ("-q", "rate", "5", "5"), ("--rate", "rate", "5", "5"), ("-t", "timeout", "5", "5"),
        ("-m", "method", "PUT", "PUT"), ("-H", "header", "A: b", ["A: b"]), ("-d", "body", "x", "x"),
        ("-D", "body_file", "x", "x"), ("-T", "content_type", "x", "x"), ("-A", "accept", "x", "x"),
    ],
)  # fmt: skip
def test_flags_as_in_hey_and_oha(
    call: Call, monkeypatch: pytest.MonkeyPatch, flag: str, field: str, value: str, meant: Any
) -> None:
    seen: list[LoadFlags] = []

    def put_on(url: str, flags: LoadFlags) -> int:
        seen.append(flags)
        return 0

    monkeypatch.setattr(command, "put_on", put_on)
    assert call(URL, flag, value) == (0, "", "")
    assert seen == [LoadFlags(**{field: meant})]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("https:localhost:8080",), "the URL https:localhost:8080 lacks //; write https://localhost:8080"),
        (
            ("http://no-such-host.invalid/",),
            "cannot resolve the host no-such-host.invalid: ",
        ),
        ((URL, "-D", "none"), "cannot read the body file none: No such file or directory; check the path"),
        ((URL, "--rate", "0"), "--rate 0: at a rate of 0 nothing is sent; write 1 or more, or 0.1"),
        (
            (URL, "--ramp", "500-0:5m"),
            "--ramp 500-0:5m: it runs backwards, from 500 down to 0; write --ramp 0-500",
        ),
        ((URL, "--fail-if", "p99>250"), '--fail-if "p99>250": p99 needs a unit; write '),
        (
            ("http://93.184.216.34/",),
            "93.184.216.34 is neither a loopback nor a private address; if that server is yours to load, add "
            "--allow-remote",
        ),
        (
            (URL, "-n", "5", "--steps", "1,2"),
            "-n would end --steps before its course is over; leave out -n, or --steps",
        ),
        ((URL, "-n", "x"), "-n x: that is no number; write 500 or 10k, for instance"),
        ((URL, "-c", "1.5"), "-c 1.5: that is no whole number; write 500 or 10k, for instance"),
        ((URL, "--threads", "x"), "Invalid value for '--threads': "),
        ((URL, "--sped"), "No such option: --sped"),
        ((URL, "-X", "PUT"), "No such option: -X; ab: write -x URL; curl: write -m METHOD"),
        ((URL, "-R100"), "No such option: -R; write --rate PER_S"),
        ((URL, "--latency"), "No such option: --latency; the quantiles are always shown"),
        ((URL, "-k"), "No such option: -k; ab: that is so by default; for the opposite write --dis"),
        (
            (URL, "--rps", "5"),
            "No such option: --rps; k6: write --rate PER_S; h2load: write --rate PER_S of a",
        ),
        ((URL, "--cpus=2"), "No such option: --cpus; write --threads N for the engine's threads"),
        ((URL, "-cpus", "2"), "No such option: -cpus; write --threads N for the engine's threads"),
        ((URL, "-keepalive=false"), "No such option: -keepalive; write --disable-keepalive"),
        ((URL, "--iterations", "5"), "No such option: --iterations; write -n N"),
        ((URL, "-d", "@none"), "-d @none: there is no file none; check the path; write -d @FILE; a body"),
        ((URL, "-d", "@-"), "-d @-: stdin is not read for a body; write it to a file, and -d @FILE"),
        ((URL, "-duration=5s"), "No such option: -duration; write -z DURATION"),
        (("-t2", "-c100", "-d30s", URL), "-d 30s: that is the body to send, and it reads as a duration"),
        ((), "there is no URL; write crumple load http://localhost:8080/, for instance"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2_before_any_request(
    call: Call, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    # This engine cannot be started: an attempt would exit with 1.
    monkeypatch.setenv("CRUMPLE_ENGINE", "/no/such/engine")
    code, out, err = call(*arguments)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(line)


def test_a_value_may_look_like_a_flag_of_another_tool(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[LoadFlags] = []
    monkeypatch.setattr(command, "put_on", lambda url, flags: seen.append(flags) or 0)
    assert call(URL, "-d", "-k", "-H", "-X: 1")[0] == 0
    assert (seen[0].body, seen[0].header) == ("-k", ["-X: 1"])


def test_no_flag_of_crumple_is_treated_as_one_of_another_tool() -> None:
    own = {name for each in dataclasses.fields(LoadFlags) for name in load_flags.names(each)}
    assert own > {"-n", "--rate"} and not own & set(remedies.INSTEAD)


def test_a_refused_port_is_reported_at_once(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    # This engine cannot be started: an attempt would report so.
    monkeypatch.setenv("CRUMPLE_ENGINE", "/no/such/engine")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound, but not listening
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        said = (1, "", f"nobody listens at {address}; start the server, or mend the URL\n")
        assert call(f"http://{address}/") == said
        assert call(address, "--debug") == said


def test_a_refused_socket_file_is_reported_at_once(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CRUMPLE_ENGINE", "/no/such/engine")
    file = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(file))
        code, _, err = call("http://a/", "--unix-socket", str(file))
        assert (code, err) == (1, f"nobody listens at unix:{file}; start the server, or mend the URL\n")
        bound.listen()
        assert "no engine in /no/such/engine" in call("http://a/", "--unix-socket", str(file))[2]


@pytest.mark.starts
@pytest.mark.parallel
def test_nothing_heavy_is_imported_before_the_first_request() -> None:
    """The modules that draw and judge take longer to import than all others together."""
    asks = (
        "import sys; from crumple import cli; from crumple.commands import load\n"
        "from crumple.load import load_plan; from crumple.load.load_flags import LoadFlags\n"
        "from crumple.load.load_live import LoadView\n"
        "meant = load_plan.plan('http://127.0.0.1:8080/', LoadFlags())\n"
        "with LoadView(meant.spec, meant.resolved.url): pass\n"
        "heavy = {'numpy', 'jinja2', 'pymysql', 'crumple.cause'}\n"
        "print(*sorted(heavy & {*sys.modules}))"
    )
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


def test_all_mistakes_are_reported_at_once(call: Call) -> None:
    code, _, err = call("https:localhost", "--rate", "0", "-D", "none", "--threads", "0", "--fail-if", "x")
    assert code == 2 and len(err.splitlines()) == 5


@pytest.mark.starts
@pytest.mark.parallel
def test_a_valid_load_prints_its_summary_and_exits_with_0(call: Call, answering: Callable[..., None]) -> None:
    answering(synthetic_load.constant().record)
    code, out, err = call(URL, "--rate", "20000", "--seed", "3")
    assert code == 0, err
    assert out.startswith(f"How fast is GET {URL} at 20,000 ") and "\nvalid: " in out and "p99.9" in out
    assert "scheduled" in out and "throughput" in out


@pytest.mark.starts
@pytest.mark.parallel
def test_quiet_prints_no_progress(call: Call, answering: Callable[..., None]) -> None:
    answering(synthetic_load.constant().record)
    assert call(URL, "--rate", "20000", "--quiet")[2] == ""


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("condition", "code", "said"),
    [
        ("p99>250ms", 0, "✓ fail if p99>250ms: does not hold"),
        ("p50>1us", 1, "✗ fail if p50>1us: holds, so it fails"),
        ("failed>0.001%, max>1h", 0, "✓ fail if max>1h"),
    ],
)
def test_conditions_of_failure(
    call: Call, answering: Callable[..., None], condition: str, code: int, said: str
) -> None:
    # The record says that there were 50 users.
    answering(synthetic_load.closed().record.model_copy(update={"users": 50}))
    ended, out, err = call(URL, "--fail-if", condition)
    assert ended == code, err
    assert said in out


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_that_refuses_all_connections_is_reported_in_one_line(
    call: Call, answering: Callable[..., None]
) -> None:
    why = documents.reasons(("refused", "refused", 120))
    answering(synthetic_load.silent().record.model_copy(update={"reasons": why}))
    code, out, err = call(URL, "--quiet")
    assert code == 1 and "✗ not-valid" in out
    assert err == (
        "no request was answered as expected: 120 of 120 refused; no program listened at 127.0.0.1:8080; "
        "start the server, or mend the URL\n"
    )


@pytest.mark.starts
@pytest.mark.parallel
def test_json_has_the_same_facts(call: Call, answering: Callable[..., None]) -> None:
    record = synthetic_load.constant().record
    answering(record)
    code, out, _ = call(URL, "--json", "--rate", "20000", "--seed", "3", "--fail-if", "p99>250ms")
    facts = json.loads(out)
    assert code == 0 and facts["url"] == URL
    assert facts["outcomes"]["ok"] == record.outcomes.ok
    assert facts["fail_if"] == [{"written": "p99>250ms", "state": "does not hold", "why": ""}]
    assert facts["command"] == f"crumple load {URL} --rate 20000 --seed 3 --fail-if 'p99>250ms'"


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file/cache", "Not a directory"),
        pytest.param(
            "folder",
            "Permission denied",
            marks=pytest.mark.skipif(os.geteuid() == 0, reason="to root every folder is open"),
        ),
    ],
)
def test_a_cache_that_cannot_be_written_is_a_warning(
    call: Call,
    answering: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    why: str,
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir(mode=0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
    answering(synthetic_load.closed().record.model_copy(update={"users": 50}))
    code, out, err = call(URL)
    assert code == 0 and "valid" in out
    assert f"cannot write {tmp_path / place}/crumple/ceilings: {why}; the engine's ceiling is" in err
    assert err.count("cannot write") == 1


def test_the_command_that_repeats_a_load_names_its_seed() -> None:
    assert repeated("load", LoadFlags(), URL, "-T", "a b") == f"crumple load {URL} -T 'a b' --seed 7"
    assert repeated("load", LoadFlags(), "--seed=9") == "crumple load --seed 9"


def repeated(verb: str, flags: PageFlags, *words: str) -> str:
    """The command that repeats these words."""
    return saving.command_to_repeat([verb, *words], flags, 7)


@pytest.mark.parametrize("flags", [LoadFlags(), FindFlags(), DiagnoseFlags(), VersusFlags()])
def test_the_command_that_repeats_it_needs_no_name_that_is_taken_and_writes_no_file(flags: PageFlags) -> None:
    verb = type(flags).__name__.removesuffix("Flags").lower()
    where = ("--name", "a", "--html=/a/b.html", "--json", "--junit", "c.xml", "--open", "--save", "s.toml")
    kept = ("-H", "A: --json", "--tag", "t", "--fail-if", "p99>1s")
    said = repeated(verb, flags, URL, *where, *kept, "--", "server", "--name", "x", "--html", "y")
    assert said == (
        f"crumple {verb} {URL} -H 'A: --json' --tag t --fail-if 'p99>1s' --seed 7 -- server --name x --html y"
    )


def test_the_command_that_repeats_a_load_writes_no_rows() -> None:
    assert (
        repeated("load", LoadFlags(), URL, "--csv", "a.csv", "--hdr=a.hdr") == f"crumple load {URL} --seed 7"
    )


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("is_stored", [True, False])
def test_the_page_is_opened_where_it_was_written(
    call: Call,
    answering: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_stored: bool,
) -> None:
    monkeypatch.setattr(result_store, "folder", lambda: tmp_path / "results")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    answering(synthetic_load.constant().record)
    code, _, err = call(URL, "--rate", "20000", "--open", *(["--name", "a"] if is_stored else ["--no-store"]))
    page = tmp_path / ("results/a.html" if is_stored else "load.html")
    assert code == 0, err
    assert opened == [page.as_uri()] and "<html" in page.read_text()


@pytest.mark.starts
@pytest.mark.parallel
def test_files_are_written(call: Call, answering: Callable[..., None], tmp_path: Path) -> None:
    record = synthetic_load.constant().record
    answering(record)
    code, _, err = call(URL, "--rate", "20000", "--csv", "a.csv", "--hdr", "a.hdr", "--html", "a.html")
    assert code == 0, err
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + len(record.series.at_ns)
    reader = HistogramLogReader(str(tmp_path / "a.hdr"), HdrHistogram(1, 300_000_000_000, 3))
    total = 0
    while (interval := reader.get_next_interval_histogram()) is not None:
        total += interval.get_total_count()
    assert total == record.outcomes.ok
    assert (tmp_path / "a.requests.csv").read_text().startswith("request,scheduled,ok,")
    assert "<html" in (tmp_path / "a.html").read_text()


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("hits", [1, 2, 16])
def test_an_interrupted_load_shows_what_was_measured(
    answering: Callable[..., None], tmp_path: Path, hits: int
) -> None:
    """This also holds if Ctrl-C is pressed twice, or held down until the end."""
    waits = (
        "import signal\n"
        "class Ended(Exception): pass\n"
        "def end(*_): raise Ended\n"
        "signal.signal(signal.SIGINT, end)\n"
        # Inside, as the signal may come at once.
        "try:\n    print('ready', file=open('ready', 'w'), flush=True)\n    time.sleep(30)\n"
        "except Ended:\n    pass\n"
    )
    answering(synthetic_load.closed().record, waits)
    with socket.create_server(("127.0.0.1", 0)) as listens:
        url = f"http://127.0.0.1:{listens.getsockname()[1]}/"
        # However late the signals come on a busy machine, they are one wish.
        one_wish = "import crumple.interrupt as it; it.ONE_WISH_S = it.HELD_DOWN_S = 60.0"
        program = f"{one_wish}; from crumple.cli import main; main()"
        arguments = [sys.executable, "-c", program, "load", url]
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        ready = tmp_path / "ready"
        while not ready.exists() and process.poll() is None:
            select.select([], [], [], 0.02)
        for _ in range(hits):
            process.send_signal(signal.SIGINT)
            time.sleep(0.03)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert (
        out.startswith(f"How fast is GET {url} ") and "interrupted; the result covers the time before" in err
    )
