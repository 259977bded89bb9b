"""`crumple versus` from the outside: its help, its mistakes, and what it says of real servers."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import real_engine
import tiny_servers
import tried
from command_line import Call, in_project
from crumple.drawing import page_document
from crumple.load import load_flags
from crumple.machine import process_tree, tcp_tables
from crumple.versus import calibrating, lengths
from crumple.versus.versus_flags import VersusFlags
from git_repositories import git

ROOT = Path(__file__).parents[3]
SERVER = str(ROOT / "bench" / "computing_server.py")
# Half a millisecond of CPU time, about.
ROUNDS = 2_000


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple versus …` in a small project; return (exit code, stdout, stderr)."""
    return in_project(monkeypatch, capsys, tmp_path, "versus")


@pytest.fixture
def with_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine; skip if there is none."""
    real_engine.used(monkeypatch)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, with_engine: None) -> None:
    """Use the real engine, with loads and calibrations that are as short as can be, and few blocks."""
    monkeypatch.setattr(lengths, "CLOSED_S", 0.4)
    monkeypatch.setattr(lengths, "RATE_S", 0.5)
    monkeypatch.setattr(lengths, "LONGEST_S", (("p50", 0.5),))
    monkeypatch.setattr(lengths, "MOST", lengths.LEAST)
    monkeypatch.setattr(calibrating, "AFRESH_S", 1.0)
    monkeypatch.setattr(calibrating, "RUNNING_S", 0.5)


@contextmanager
def serving(*arguments: int) -> Iterator[str]:
    """Run the computing server until the `with` ends; yield its URL."""
    port = process_tree.free_port()
    with subprocess.Popen([sys.executable, SERVER, str(port), *map(str, arguments)]) as process:
        try:
            over_s = time.monotonic() + 10
            while not tcp_tables.listeners(port):
                assert time.monotonic() < over_s
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.kill()


def started(rounds: float) -> tuple[str, ...]:
    """The command of a version that takes so many rounds."""
    return (sys.executable, SERVER, "{port}", str(round(rounds)))


def found(said: dict[str, Any], figure: str, letter: str = "B") -> dict[str, Any]:
    """What was found of a figure."""
    return next(each for each in said["ratios"] if (each["figure"], each["of"]) == (figure, letter))


def precise(found: dict[str, Any]) -> bool:
    """Whether the interval of a ratio is narrow: on a busy machine it is wide, and then says nothing."""
    ratio = found["ratio"] or {}
    return bool(ratio.get("low") and ratio.get("high") and ratio["high"] < 1.3 * ratio["low"])


def test_help_names_every_flag_and_has_an_example(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0 and "Example: crumple versus http://localhost:8080/" in out
    for field in dataclasses.fields(VersusFlags):
        assert load_flags.names(field)[0] in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "nothing to compare; name two versions"),
        (("tiny", "tinny"), 'no server is called "tinny"; did you mean tiny?'),
        (("tiny", "tiny", "--budget", "1s"), "--budget 1s: too short for a few blocks"),
        (("--", "no-such-command"), "no-such-command: that is one version"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "") and any(each.startswith(line) for each in err.splitlines()), err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_url_without_a_listener_is_one_line(call: Call, with_engine: None) -> None:
    with serving(ROUNDS) as url:
        code, out, err = call(url, "http://127.0.0.1:1/", "--quiet")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "nobody listens at 127.0.0.1:1; start the server, or mend the URL" in err


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("redirect", "was not answered as expected: 302 Found → http://127.0.0.1:1/elsewhere; redirects are"),
        ("missing", "was not answered as expected: 404 Not Found"),
    ],
)
def test_a_url_that_answers_otherwise_ends_it_at_once(
    call: Call, with_engine: None, path: str, said: str
) -> None:
    with serving(ROUNDS) as url:
        code, out, err = call(url, url + path, "--quiet")
    assert (code, out) == (1, "") and err.startswith(f"B, {url}{path}, {said}"), err
    assert "name what answers 200 to 299, or say --expect-status" in err and err.count("\n") == 1


@pytest.mark.starts
@pytest.mark.parallel
def test_a_workload_that_not_every_server_has_is_one_line(call: Call, with_engine: None) -> None:
    code, out, err = call("tiny", "tiny", "--workload", "db", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("--workload db: not every server has it; all of them have hello")


@pytest.mark.starts
@pytest.mark.alone
def test_a_command_that_takes_a_tenth_more_cpu_time_is_told_from_the_other(
    call: Call, short: None, tmp_path: Path
) -> None:
    page = tmp_path / "versus.html"
    code, out, err = call(
        "--json", "--budget", "60s", "--seed", "3", "--warm-up", "200ms", "--html", str(page),
        "--", *started(4 * ROUNDS), "--", *started(4.4 * ROUNDS),
    )  # fmt: skip
    said = json.loads(out)
    # On a busy machine no load may be valid, which is a possible result.
    assert code in (0, 3), err
    assert [each["fresh_starts"] for each in said["versions"]] == [True, True]
    cpu = found(said, "cpu")
    assert cpu["answer"] != "alike", cpu
    if precise(cpu):
        assert 1.0 < cpu["ratio"]["estimate"] < 1.25, cpu
    assert page_document.read(page.read_text(), "") == said
    assert said["blocks"] and "block  1" in err
    assert not any("computing_server" in each for each in running())


@pytest.mark.starts
def test_urls_that_take_twice_the_cpu_time_differ_in_what_counts(call: Call, short: None) -> None:
    with serving(2 * ROUNDS) as one, serving(4 * ROUNDS, 64) as other:
        code, out, err = call(one, other, "--budget", "60s", "--json", "--quiet", "--seed", "3")
    said = json.loads(out)
    assert code in (0, 3) and err == ""
    cpu, throughput = found(said, "cpu"), found(said, "throughput")
    assert cpu["answer"] != "alike" and throughput["answer"] != "alike"
    if precise(cpu):
        assert cpu["answer"] == "different" and 1.5 < cpu["ratio"]["estimate"] < 2.2, cpu
    if precise(throughput):
        assert throughput["answer"] == "undecided" or throughput["ratio"]["high"] < 1, throughput
    notes = "\n".join(said["notes"])
    assert "A and B ran already" in notes
    assert "200 with 2 bytes of text/plain, and 200 with 64 bytes of text/plain" in notes


@pytest.fixture
def few(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare in two blocks, for tests of how versions are got, and not of what differs."""
    monkeypatch.setattr(lengths, "LEAST", 2)
    monkeypatch.setattr(lengths, "MOST", 2)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_beside_one_of_its_commits(call: Call, few: None) -> None:
    root = Path.cwd()
    git(root, "init", "--quiet")
    git(root, "add", "servers")
    git(root, "commit", "--quiet", "-m", "one")
    program = root / "servers" / "tiny" / "server.py"
    program.write_text(tiny_servers.PROGRAM.replace("# HERE", "# HERE\nREFUSES = True"))
    code, out, err = call(
        "tiny@HEAD", "tiny", "--budget", "60s", "--seed", "3", "--warm-up", "200ms", "--json"
    )
    said = json.loads(out)
    assert code in (0, 3), err
    assert [each["label"].partition(" ")[0] for each in said["versions"]] == ["tiny@HEAD", "tiny"]
    assert "checking out tiny@HEAD" in err and err.count("building tiny") == 2
    assert len(git(root, "worktree", "list").splitlines()) == 1


@pytest.mark.starts
@pytest.mark.parallel
def test_a_command_at_two_commits_is_built_in_each(call: Call, few: None) -> None:
    root = Path.cwd()
    git(root, "init", "--quiet")
    for commit, rounds in (("one", ROUNDS), ("two", 2 * ROUNDS)):
        (root / "rounds").write_text(f"{rounds}\n")
        git(root, "add", "rounds")
        git(root, "commit", "--quiet", "-m", commit)
    build = f'printf \'exec {sys.executable} {SERVER} "$1" %s\\n\' "$(cat rounds)" > serve.sh'

    def compared() -> tuple[dict[str, Any], str]:
        code, out, err = call(
            "--at", "HEAD~1", "--at", "HEAD", "--build", build, "--budget", "60s", "--seed", "3",
            "--warm-up", "200ms", "--json", "--", "sh", "serve.sh", "{port}",
        )  # fmt: skip
        assert code in (0, 3), err
        said: dict[str, Any] = json.loads(out)
        if not any(each["figure"] == "cpu" for each in said["ratios"]):
            raise tried.SpoiledError("others may have changed each turn by too much")
        return said, err

    said, err = tried.until_shown(compared)
    assert [each["label"].partition(" (")[0] for each in said["versions"]] == [
        "sh serve.sh {port} at HEAD~1", "sh serve.sh {port} at HEAD",
    ]  # fmt: skip
    assert "(" not in said["asked"], "a history keeps the name"
    cpu = found(said, "cpu")
    assert cpu["answer"] != "alike"
    assert "checking out HEAD~1" in err and "building HEAD: " in err
    assert len(git(root, "worktree", "list").splitlines()) == 1 and not (root / "serve.sh").exists()


@pytest.mark.starts
@pytest.mark.parallel
def test_a_commit_that_cannot_be_compared_is_a_sentence(call: Call, with_engine: None) -> None:
    root = Path.cwd()
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "none")
    git(root, "add", "servers")
    git(root, "commit", "--quiet", "-m", "one")
    program = ("--", "sh", "-c", "exit 3", "{port}")
    for words, message in {
        ("tiny@HEAD~1", "tiny"): "that commit has no such folder",
        ("--at", "HEAD", "--at", "never", *program): "there is no such commit",
        ("--build", "true", ":1", ":2"): "--build is about commits, and none is named",
        ("--at", "HEAD", "--at", "HEAD~1"): "--at is about one command",
        ("--at", "HEAD", "--at", "HEAD~1", "--build", "exit 7", *program): "`sh -c exit 7` ended with",
    }.items():
        code, _, err = call(*words, "--quiet")
        assert code in (1, 2) and message in err, err
    assert len(git(root, "worktree", "list").splitlines()) == 1


@pytest.mark.starts
@pytest.mark.parallel
def test_ctrl_c_keeps_the_blocks_that_are_over(with_engine: None, tmp_path: Path) -> None:
    words = [
        Path(sys.executable).parent / "crumple",
        "versus",
        "--budget",
        "120s",
        "--json",
        "--warm-up",
        "100ms",
    ]
    typed = [*words, "--", *started(ROUNDS), "--", *started(ROUNDS)]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen(
        typed, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("block  1"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    said = json.loads(out)
    assert process.returncode == 130 and said["ended_early"] is True
    assert len(said["blocks"]) >= 1 and said["ending"] == "interrupted"
    assert not any("computing_server" in each for each in running())


def running() -> list[str]:
    """The command lines of all processes whose parent is this process, or that were left behind."""
    lines = []
    for process in process_tree.descendants(1):
        try:
            lines.append(Path(f"/proc/{process}/cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return [each for each in lines if str(ROOT) in each]
