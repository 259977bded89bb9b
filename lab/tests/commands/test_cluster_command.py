"""What `crumple cluster` and `crumple run --cluster` refuse before anything is started."""

from pathlib import Path

import pytest
from command_line import Call, caller
from crumple.cluster import cluster_file
from crumple.commands import cluster, run, run_on_cluster
from crumple.commands.run import RunArguments
from crumple.errors import UsageError


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up",), "no host is named; write crumple cluster up HOST…"),
        (("up", "a", "b", "a"), "a is named twice; name each host once: it measures one block at a time"),
        (
            ("up", "kubectl exec 'pod"),
            'crumple cluster up "kubectl exec \'pod" is no command: No closing quotation; close its quotes',
        ),
        *(
            (("up", "a", "--listen", each), f"--listen {each} is not one address; give the one at which")
            for each in ("0.0.0.0", "::", "0", "loader")
        ),
        (("up", "--", "-p 22 a"), "crumple cluster up '-p 22 a' is an option, not a host; name one: crumple"),
        (("sideways",), "sideways is nothing that a cluster does; write crumple cluster up HOST…"),
        (("down", "a"), "down a is nothing that a cluster does; write crumple cluster up HOST…"),
        (("worker", "a", "b"), "worker a b is nothing that a cluster does; write crumple cluster up HOST…"),
        (
            ("worker", "10.0.0.1:8786"),
            "10.0.0.1:8786 is no address with TLS: whoever reached the hosts could run programs there; write",
        ),
        (("worker", "tcp://10.0.0.1:8786"), "tcp://10.0.0.1:8786 is no address with TLS"),
        (
            ("worker", "tls://10.0.0.1:8786"),
            "no cluster of this user is up at tls://10.0.0.1:8786; start one",
        ),
        (
            ("down", "--listen", "::1"),
            "--crumple and --listen are for a cluster that comes up; write crumple",
        ),
    ],
)
def test_what_is_not_understood_is_refused(call: Call, words: tuple[str, ...], said: str) -> None:
    code, out, err = call("cluster", *words)
    assert (code, out) == (2, "") and err.startswith(said), err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"own": ["./mine"]}, "--server names a server of this machine"),
        ({"shard": "1/2"}, "a cluster shares out all of a run"),
        ({"retry_failed": True}, "--retry-failed repeats trials on the host that had them"),
    ],
)
def test_flags_that_make_no_sense_on_a_cluster_are_refused(flags: dict[str, object], said: str) -> None:
    asked = RunArguments(studies=["demo"], cluster="tls://10.0.0.1:8786", **flags)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        asked.check_cluster()
    RunArguments(studies=["demo"], **flags).check_cluster()  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["10.0.0.1:8786", "tcp://10.0.0.1:8786", "ws://10.0.0.1:8786"])
def test_an_address_without_tls_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match=f"^{address} is no address with TLS"):
        RunArguments(studies=["demo"], cluster=address).check_cluster()


def test_a_study_with_a_map_is_refused_before_it_begins(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    code, out, err = call("run", "wait-or-compute", "--cluster", "tls://10.0.0.1:8786")
    assert (code, out) == (2, "") and not (tmp_path / "runs").exists()
    assert err == "wait-or-compute has a map, whose points results choose; run it on one host\n"


def test_a_cluster_that_is_not_up_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"no cluster of this user is up at tls://10\.0\.0\.1:8786; start one"
    ):
        RunArguments(studies=["demo"], cluster="tls://10.0.0.1:8786").need_cluster()
    RunArguments(studies=["demo"]).need_cluster()


def test_down_removes_what_a_killed_keeper_left_and_nothing_of_one_that_comes_up(call: Call) -> None:
    with cluster_file.only_one():
        cluster_file.path().write_text("")
        code, out, err = call("cluster", "down")
        remedy = "end it: crumple cluster down, or Ctrl-C where it comes up"
        assert (code, out, err) == (2, "", f"a cluster is up, or comes up; {remedy}\n")
        assert cluster_file.path().exists()
    assert call("cluster", "down") == (0, "", "no cluster is up\n")
    assert not cluster_file.path().exists()


def test_without_the_flag_nothing_of_it_is_imported() -> None:
    text = Path(run.__file__).read_text(encoding="utf-8")
    assert text.count("import run_on_cluster") == 1 and "\nfrom crumple.commands import run_on" not in text
    assert "\nfrom crumple.cluster" not in text
    assert cluster.run and run_on_cluster.reached
