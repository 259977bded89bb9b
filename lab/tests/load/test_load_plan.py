"""The flags of `crumple load` → the engine's spec, whole; or every mistake in them at once."""

import os
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from crumple import contract
from crumple.contract import (
    ClosedShapeSpec,
    DurationStopSpec,
    ExpectSpec,
    OpenShapeSpec,
    ProbeSpec,
    RateSpec,
    RequestSpec,
    Target,
    TimeoutSpec,
    TrialSpec,
    WarmUpSpec,
)
from crumple.errors import UsageError
from crumple.load import load_plan
from crumple.load.load_flags import LoadFlags
from crumple.machine import facts, load_machine, process_tree

URL = "http://127.0.0.1:8080/hello"
REQUEST = RequestSpec(
    method="GET",
    path="/hello",
    headers=(("User-Agent", f"crumple/{metadata.version('crumple')}"),),
    expect=ExpectSpec(status=None, body_bytes=None, body_sha256=None, hash_one_in=0),
)
SPEC = TrialSpec(
    label=URL,
    target=Target(address="127.0.0.1:8080", host="127.0.0.1:8080"),
    requests=(REQUEST,),
    shape=ClosedShapeSpec(connections=50),
    connection="keep-alive",
    warm_up=None,
    stop=DurationStopSpec(duration_s=10),
    timeouts=TimeoutSpec(connect_s=5, request_s=20),
    threads=1,
    cores=(),
    probe=ProbeSpec(interval_ms=100, server_pid=None, stages=True),
    seed=7,
)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with eight cores, 5,000 files and 1,000 ports."""
    monkeypatch.setattr(facts, "usable_cores", lambda: list(range(8)))
    monkeypatch.setattr(facts, "open_files_hard", lambda: 5_000)
    monkeypatch.setattr(facts, "port_range", lambda: [30_001, 31_000])


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here watches what may listen on the port of URL."""
    found = process_tree.owner

    def owner(port: int) -> int:
        if port == 8080:
            raise UsageError(f"nobody listens on port {port}", "start the server")
        return found(port)

    monkeypatch.setattr(process_tree, "owner", owner)


def _spec(url: str = URL, **flags: Any) -> TrialSpec:
    return load_plan.plan(url, LoadFlags(**{"seed": 7, **flags})).spec


def _mistakes(url: str = URL, **flags: Any) -> list[str]:
    with pytest.raises(UsageError) as caught:
        _spec(url, **flags)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("flags", "changes"),
    [
        ({}, {}),
        ({"disable_keepalive": True}, {"connection": "per-request"}),
        ({"no_kernel_timestamps": True, "spin": True}, {"kernel_timestamps": False, "pacing": "spin"}),
        (
            {"warm_up": "2s"},
            {"warm_up": WarmUpSpec(connections=None, pauses=True, stop=DurationStopSpec(duration_s=2))},
        ),
        ({"timeout": "1s"}, {"timeouts": TimeoutSpec(connect_s=1, request_s=1)}),
        ({"timeout": "30"}, {"timeouts": TimeoutSpec(connect_s=5, request_s=30)}),
        ({"timeout": "1s", "connect_timeout": "3s"}, {"timeouts": TimeoutSpec(connect_s=3, request_s=1)}),
        ({"cores": "1,3-4", "threads": 3}, {"cores": (1, 3, 4), "threads": 3}),
        ({"connections": 600}, {"shape": ClosedShapeSpec(connections=600), "threads": 3}),
        ({"seed": 0}, {"seed": 0}),
        (
            {"source_address": ["127.0.0.2-127.0.0.3"]},
            {
                "target": Target(
                    address="127.0.0.1:8080", host="127.0.0.1:8080", sources=("127.0.0.2", "127.0.0.3")
                )
            },
        ),
        (
            {"watch": str(os.getpid())},
            {
                "probe": ProbeSpec(
                    interval_ms=100, server_pid=os.getpid(), stages=True, tasks=True, dependencies=True
                )
            },
        ),
        (
            {"rate": "120000", "warm_up": "1s", "connections": 100},
            {
                "shape": OpenShapeSpec(
                    connections=100, rates=(RateSpec(from_per_s=120_000, to_per_s=120_000, duration_s=10),)
                ),
                "warm_up": WarmUpSpec(connections=None, pauses=True, stop=DurationStopSpec(duration_s=1)),
                "threads": 3,
            },
        ),
        (
            {"header": ["A: b"], "method": "put", "body": "x", "expect_status": 201},
            {
                "requests": (
                    RequestSpec(
                        method="PUT",
                        path="/hello",
                        headers=(("A", "b"), *REQUEST.headers),
                        body="x",
                        expect=ExpectSpec(status=201, body_bytes=None, body_sha256=None, hash_one_in=0),
                    ),
                )
            },
        ),
    ],
)
def test_the_whole_spec(flags: dict[str, Any], changes: dict[str, Any]) -> None:
    assert _spec(**flags) == SPEC.model_copy(update=changes)


def test_without_a_seed_a_random_one_is_used() -> None:
    seeds = {_spec(seed=None).seed for _ in range(3)}
    assert len(seeds) == 3 and all(0 <= seed < 2**48 for seed in seeds)


def test_several_requests(tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    file.write_text('[[requests]]\npath = "/a"\n[[requests]]\npath = "/b"\nweight = 4\n')
    spec = _spec("http://127.0.0.1:8080", request_file=file, header=["A: b"])
    assert [(each.path, each.weight, each.headers[0]) for each in spec.requests] == [
        ("/a", 1, ("A", "b")),
        ("/b", 4, ("A", "b")),
    ]


def test_conditions_of_failure_are_read_term_by_term() -> None:
    plan = load_plan.plan(URL, LoadFlags(fail_if=["p99>250ms, failed>1%", "max>2s"]))
    assert [str(term) for term in plan.fail_if] == ["p99>250ms", "failed>1%", "max>2s"]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"threads": 0}, "--threads 0: that is too few; write 1 or more"),
        ({"threads": 1_025}, "--threads 1025: that is too many; write 1024 or less"),
        (
            {"threads": 9, "connections": 8},
            "--threads 9 are more than the 8 connections; write --threads 8 or less",
        ),
        ({"seed": -1}, "--seed -1: that is too few; write 0 or more"),
        ({"seed": 2**63}, f"--seed {2**63}: that is too large; write one below {2**48}"),
        ({"seed": 2**64}, f"--seed {2**64}: that is too large; write one below {2**48}"),
        ({"timeout": "0"}, "--timeout 0: without a limit a load may never end; write 24h, the longest"),
        (
            {"cores": "7,8"},
            "--cores 7,8: there is no core 8 to use; choose among 0, 1, 2, 3, 4, 5, 6, 7",
        ),
        ({"watch": "x"}, "--watch x: that is no process; write its pid, or :8080 for its port"),
        (
            {"watch": "1" * 5_000},
            f"--watch {'1' * 5_000}: that is no process; write its pid, or :8080 for its port",
        ),
        (
            {"expect_status": "1" * 5_000},
            f"no answer has the status {'1' * 5_000}; expect one from 200 to 599",
        ),
        ({"watch": ":0"}, "--watch :0: that is no process; write its pid, or :8080 for its port"),
        (
            {"watch": "4194305"},
            "--watch 4194305: there is no such process; look it up with ps, or write its port: :8080",
        ),
        ({"watch": ":1"}, "nobody listens on port 1 of this machine; start the server first"),
        (
            {"ramp": "0-5", "warm_up": "1s"},
            "--ramp begins with no users, who warm nothing up; begin it at 1",
        ),
        (
            {"ramp": "0-5/s", "warm_up": "1s"},
            "--ramp begins at a rate of 0, which warms nothing up; begin it at 1/s",
        ),
        ({"warm_up": "x"}, "--warm-up x: that is no duration; write 30s, 2m or 500ms, for instance"),
        (
            {"connections": 4_968, "source_address": ["127.0.0.2-127.0.0.6"]},
            "4,968 connections need more than the 5,000 files that may be open here; raise the limit "
            "(ulimit -Hn), or use fewer connections",
        ),
        (
            {"connections": 4_936, "threads": 11, "source_address": ["127.0.0.2-127.0.0.6"]},
            "4,936 connections need more than the 5,000 files that may be open here; raise the limit "
            "(ulimit -Hn), or use fewer connections",
        ),
        (
            {"ramp": "1-1001"},
            "1,001 connections need more than the 1,000 ports an address has here; give 2 or more addresses "
            "to connect from, on loopback --source-address 127.0.0.2-127.0.0.3",
        ),
        (
            {"connections": 2_500, "source_address": ["127.0.0.2-127.0.0.3"]},
            "2,500 connections need more than the 1,000 ports an address has here; give 3 or more addresses "
            "to connect from, on loopback --source-address 127.0.0.2-127.0.0.4",
        ),
        ({"csv": Path("/no/such/x")}, "--csv /no/such/x: there is no folder /no/such; make it first"),
        ({"html": Path("/")}, "--html /: that is a folder; name a file in it"),
        (
            {"csv": Path("x"), "hdr": Path("./x")},
            "--csv and --hdr name the same file; give each its own",
        ),
        (
            {"csv": Path("x.csv"), "html": Path("x.requests.csv")},
            "--csv and --html name the same file; give each its own",
        ),
        ({"html": Path("-")}, "--html -: stdout is for the summary, or for --json; name a file"),
        ({"csv": Path("-")}, "--csv -: stdout is for the summary, or for --json; name a file"),
        (
            {"hdr": Path("x"), "debug": True},
            "--hdr writes what a load came to, and --debug puts none on; leave out one of them",
        ),
        (
            {"body": "30s"},
            "-d 30s: that is the body to send, and it reads as a duration; a duration is -z 30s (and wrk's "
            "-t is --threads); for such a body say -m POST",
        ),
        (
            {"body": "10", "method": "get"},
            "-d 10: that is the body to send, and it reads as a duration; a duration is -z 10 (and wrk's "
            "-t is --threads); for such a body say -m POST",
        ),
    ],
)
def test_invalid_flags_are_refused(flags: dict[str, Any], line: str) -> None:
    assert _mistakes(**flags) == [line]


@pytest.mark.parametrize(
    "said",
    [
        {"body": "30s", "method": "POST"},
        {"body": "30", "content_type": "text/plain"},
        {"body": "5m", "header": ["Content-Type: text/plain"]},
        {"body": "30 s of rain"},
        {"body": ""},
    ],
)
def test_a_body_may_look_like_a_duration_if_a_flag_says_that_it_is_one(said: dict[str, Any]) -> None:
    assert _spec(**said).requests[0].body == said["body"]


def test_addresses_that_reach_no_other_machine_are_not_advised() -> None:
    many = "4,000 connections need more than the 1,000 ports an address has"
    advised = (
        "give 4 or more addresses to connect from, of {} that are in its network: --source-address FIRST-LAST"
    )
    assert _mistakes("http://10.98.76.2/", connections=4_000) == [
        f"{many} here; {advised.format('this machine')}"
    ]
    there = replace(load_machine.this(), where="loader")
    with pytest.raises(UsageError) as refused:
        load_plan.plan("http://10.98.76.2/", LoadFlags(connections=4_000), there)
    assert str(refused.value) == f"{many} on loader; {advised.format('loader')}"


def test_a_body_after_two_at_signs_begins_with_one() -> None:
    (request,) = _spec(body="@@a").requests
    assert (request.body, request.body_file) == ("@a", None)


def test_a_user_agent_without_a_name_is_not_sent() -> None:
    (request,) = _spec(user_agent="").requests
    assert request.headers == ()


def test_a_body_after_an_at_sign_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b").write_text("{seq}")
    monkeypatch.chdir(tmp_path)
    (asked,) = _spec(body="@b").requests
    assert (asked.method, asked.body, asked.body_file) == ("POST", None, str(tmp_path / "b"))
    with pytest.raises(UsageError, match="-d and -D both name a file for the body"):
        _spec(body="@b", body_file="b")


def test_the_table_of_requests_is_written_beside_the_series(tmp_path: Path) -> None:
    assert load_plan.requests_csv(LoadFlags(csv=tmp_path / "a.csv")) == tmp_path / "a.requests.csv"
    assert load_plan.requests_csv(LoadFlags(csv=tmp_path / "a")) == tmp_path / "a.requests.csv"
    assert load_plan.requests_csv(LoadFlags(csv=Path("/dev/null"))) is None
    assert load_plan.requests_csv(LoadFlags()) is None


def test_a_condition_of_failure_with_a_typo() -> None:
    (line,) = _mistakes(fail_if=["p99>250"])
    assert line.startswith('--fail-if "p99>250": p99 needs a unit; write ')


def test_a_rate_may_have_a_limit_of_connections() -> None:
    assert _spec(rate="5", connections=60_000).shape.connections == 60_000


def test_flags_that_the_request_file_sets_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    file.write_text('[[requests]]\npath = "/a"\n')
    said = _mistakes(request_file=file, method="PUT", body="x", content_type="y", expect_body="z")
    assert len(said) == 5
    assert (
        said[-1]
        == "the --request-file says the paths, and so does the URL: /hello; end the URL with its port"
    )


def test_all_mistakes_are_reported_at_once() -> None:
    said = _mistakes(
        "https:/localhost",
        rate="0",
        header=["x"],
        body_file="/no/such",
        threads=0,
        fail_if=["p99>1", "x"],
        csv=Path("/no/such/x"),
    )
    assert len(said) == 8
    assert all("; " in line for line in said)


def test_the_engine_reads_the_spec_as_written() -> None:
    assert contract.TrialSpec.model_validate_json(_spec(ramp="0-9").model_dump_json()).shape.kind == "ramp"
