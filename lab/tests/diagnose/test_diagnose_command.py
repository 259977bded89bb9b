"""`crumple diagnose` from the outside: its help, its mistakes, and what it says of small servers."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
import tiny_servers
import tried
from command_line import Call
from conforming import conforms
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.drawing import page_document
from crumple.load import load_flags
from crumple.machine import process_tree
from crumple.results import result_store
from diagnosing import call, short

__all__ = ["call", "short"]


def test_help_names_every_flag_and_has_an_example(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0 and "crumple diagnose go-nethttp" in out
    for field in dataclasses.fields(DiagnoseFlags):
        assert load_flags.names(field)[0] in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "nothing to diagnose; name a URL, a server, or a command"),
        (("tiny", "other"), "tiny other: that is more than one server; name one; a command follows --"),
        (("tinny",), 'no server is called "tinny"; did you mean tiny?'),
        (("tiny", "--slow", "wait"), "--slow wait: a path begins with /; write --slow /wait"),
        (("tiny", "--objective", "p99<250"), '--objective "p99<250": p99 needs a unit; write p99<250ms'),
        (("tiny", "--setting", "x"), "--setting x: that sets nothing; write --setting NAME=VALUE"),
        (("localhost:1/", "--setting", "a=b"), "--setting is about a server of the project"),
        (("http://192.0.2.7/",), "192.0.2.7 is neither a loopback nor a private address"),
        (("--", "no-such-command"), "no-such-command: there is no such command"),
        (("tiny", "-H", "A: b"), "--header changes what is asked, and tiny is asked its workloads"),
        (("tiny", "-m", "POST"), "--method changes what is asked, and tiny is asked its workloads"),
        (("tiny", "--watch", "1"), "--watch is about a URL, and tiny is a server; leave it out"),
        (("tiny", "--insecure"), "--insecure is about a URL, and tiny is a server; leave it out"),
        (("--watch", "1", "--", "true"), "--watch names a process that runs, and the command starts one"),
        (("--setting", "a=b", "--", "true"), "--setting is about a server of the project; write what you"),
        (("--insecure", "--", "true"), "--insecure is about a URL, and none is given; write the URL before"),
        (
            ("localhost:1/", "--try", "W=8"),
            "--try starts the server a second time, and what listens at local",
        ),
        (("--try", "W=4", "--", "true", "{W=4}"), "--try W=4: it has that value already; try another one"),
        (("tiny", "--try", "wrokers=8"), "server tiny has no setting wrokers"),
        (("tiny", "--no-search", "--objective", "p99<1s"), "--objective says what to search, and --no-sea"),
        (
            ("localhost:1/", "--html", "/no/such/page.html"),
            "--html /no/such/page.html: there is no folder /no",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(call: Call, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(line), err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_url_without_a_listener_is_one_line(call: Call, short: None) -> None:
    code, out, err = call("http://127.0.0.1:1/", "--quiet")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "nobody listens at 127.0.0.1:1; start the server, or mend the URL" in err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_of_the_project_is_diagnosed(call: Call, short: None, tmp_path: Path) -> None:
    page = tmp_path / "diagnosis.html"

    def diagnosed() -> tuple[str, str]:
        code, out, err = call("tiny", "--no-search", "--seed", "3", "--html", str(page))
        assert code == 0, err
        if "time beyond" not in out and "other programs may have left it too few" in out:
            raise tried.SpoiledError("others had the cores while it was loaded")
        return out, err

    out, err = tried.until_shown(diagnosed)
    first, asked, what, *_ = out.splitlines()
    assert first.startswith("limit=") and asked == "What limits tiny?" and what.startswith("tiny, pid ")
    # What is likely is said before the load beyond the limit, and goes to stderr: stdout is one document.
    steps = err.splitlines()
    preliminary = next(at for at, line in enumerate(steps) if line.startswith("preliminary: "))
    assert preliminary < next(at for at, line in enumerate(steps) if "beyond the limit" in line)
    who = next(line for line in out.splitlines() if line.startswith("who waits"))
    assert "a thread waits with each request, and more are added" in who
    assert "time beyond" in out
    assert "no request that only computes was given" in out
    assert page_document.read(page.read_text(), "") == result_store.entries()[0].read()
    assert "one request at a time" in err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_command_is_started_and_ended(call: Call, short: None, tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(tiny_servers.PROGRAM)
    url = f"http://127.0.0.1:{process_tree.free_port()}/hello"
    code, out, err = call(
        url, "--no-search", "--quiet", "--json", "--seed", "3", "--", sys.executable, str(program), "{port}",
        str(tmp_path),
    )  # fmt: skip
    assert code == 0, err
    said = json.loads(out)
    conforms(said, "diagnose")
    assert said["pid"] and not Path(f"/proc/{said['pid']}").exists()
    assert said["who_waits"]["who"] == "threads" and said["seed"] == 3
    assert said["observed"]["held"]["accepted"] == 24
    assert said["breaking_point"] is None
    assert said["waits"]["why"].startswith("no request that only waits was given")
    assert said["line"].startswith("limit=") and 0 < said["preliminary"]["after_s"] < said["took_s"]
    assert said["preliminary"]["line"].startswith("limit=") and said["what_if"] is None


@pytest.mark.starts
@pytest.mark.parallel
def test_a_command_that_does_not_listen_is_one_line(
    call: Call, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "LIMIT_S", 0.5)
    code, out, err = call("--quiet", "--", "sleep", "60")
    assert (code, out, err.count("\n")) == (1, "", 1) and "it did not listen on port" in err
    assert "let it listen on the port that {port} in the command" in err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_command_that_ends_is_shown_with_what_it_wrote_last(call: Call, short: None) -> None:
    code, out, err = call("--quiet", "--", sys.executable, "-c", "raise SystemExit('no settings found')")
    said = "it ended with code 1 before it answered; the last it wrote: no settings found\n"
    assert (code, out, err) == (1, "", said)
