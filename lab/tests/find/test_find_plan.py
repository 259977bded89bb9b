"""The flags of `crumple find`: what they mean, and every mistake in one line with its remedy."""

from pathlib import Path
from typing import Any

import pytest
import stand_ins
import tiny_servers
from crumple.errors import UsageError
from crumple.find import find_plan
from crumple.find.find_flags import FindFlags
from crumple.find.find_plan import ServerPlan, UrlPlan
from crumple.machine import facts
from crumple.subject import workload
from crumple.subject.server_toml import ServerDescription
from crumple.subject.workload import Workload

URL = "http://127.0.0.1:8080/hello"
SETTING = """
[settings.workers]
default = 4
meaning = "how many"
"""


@pytest.fixture
def described(tmp_path: Path) -> tuple[ServerDescription, dict[str, Workload]]:
    """A server with a setting, and the workloads of its project."""
    root = stand_ins.project(tmp_path)
    toml = tiny_servers.TOML.replace('"{{scratch}}"', '"{{scratch}}", "{{workers}}"')
    folder = tiny_servers.write(root, "tiny")
    written = toml.format(python="python3").replace("{{", "{").replace("}}", "}")
    (folder / "server.toml").write_text(written + SETTING)
    from crumple.subject import server_toml

    return server_toml.load(folder), workload.find(root)


def of_url(**flags: Any) -> UrlPlan:
    """The plan for a URL."""
    return find_plan.of_url(URL, FindFlags(**flags))


def mistakes(call: Any) -> str:
    """The message of the UsageError that the call raises."""
    with pytest.raises(UsageError) as said:
        call()
    return str(said.value)


@pytest.mark.parametrize(
    ("what", "is_server"), [("go-nethttp", True), (URL, False), ("localhost:80", False), ("a.b", False)]
)
def test_a_server_name_is_distinguished_from_a_url(what: str, is_server: bool) -> None:
    assert find_plan.is_server(what) is is_server


def test_defaults() -> None:
    plan = of_url()
    question = plan.question
    assert str(question.objective) == "p99<250ms, failed<0.1%" and question.by == "rate"
    assert (question.budget_s, question.warm_up_s, question.arrivals) == (90.0, 2.0, "poisson")
    assert question.connections_most == 1_000 and question.seed == plan.options.seed
    assert plan.requests[0].path == "/hello" and plan.resolved.is_local


def test_flags_override_the_defaults() -> None:
    plan = of_url(
        objective="p95<10ms", by="connections", budget="2m", warm_up="500ms", connections=300, pause="~20ms",
        seed=7, method="PUT", body="x", timeout="3s",
    )  # fmt: skip
    question = plan.question
    assert (question.by, question.budget_s, question.warm_up_s) == ("connections", 120.0, 0.5)
    assert (question.connections_most, question.pause_ms, question.pause) == (300, 20.0, "exponential")
    assert question.seed == 7 and plan.requests[0].method == "PUT" and plan.options.request_s == 3.0


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            {"objective": "p99"},
            '--objective "p99" is not a comparison with a limit; write a figure, < or >, and a limit, such ',
        ),
        (
            {"objective": "p99<250ms, throughput>1000"},
            "--objective throughput>1000: a throughput grows with the load, until it breaks; leave it out",
        ),
        (
            {"objective": "p99<3.61s"},
            "--objective p99<3.61s: no level of this budget sees enough of it; give --budget 91s",
        ),
        (
            {"objective": "failed<1%, mean<1m", "budget": "2m"},
            "--objective mean<1m: no level of this budget sees enough of it; give --budget 1500s",
        ),
        ({"objective": "failed<0%"}, '--objective "failed<0%": no share lies below 0 %; write failed<=0%'),
        ({"by": "users"}, "--by users: what is raised is rate or connections; write --by rate"),
        ({"budget": "1s"}, "--budget 1s: too short for a bracket; give it 10s or more"),
        ({"budget": "soon"}, "--budget soon: that is no duration; "),
        ({"connections": 0}, "-c 0: that is too few; write 1 or more"),
        ({"connections": 10**9}, "-c 1000000000: there are no more than "),
        ({"threads": 10**30}, f"--threads {10**30}: that is too many; write 1024 or less"),
        (
            {"objective": "p99<24h"},
            "--objective p99<24h: no level of this budget sees enough of it; lower its limit",
        ),
        ({"arrivals": "odd"}, "--arrivals odd: arrivals are even or poisson; write --arrivals poisson"),
        (
            {"arrivals": "even", "by": "connections"},
            "--arrivals is about a rate, and connections have none; leave",
        ),
        (
            {"pause": "1s"},
            "--pause is for users who wait for an answer, and a rate waits for none; add --by ",
        ),
        (
            {"workload": "hello"},
            f"--workload is about a server of the project, and {URL} is a URL; leave it out",
        ),
        (
            {"setting": ["a=1"]},
            f"--setting is about a server of the project, and {URL} is a URL; leave it out",
        ),
        (
            {"html": Path("/no/such/folder/x.html")},
            "--html /no/such/folder/x.html: there is no folder /no/such/folder; make it first",
        ),
        ({"seed": -1}, "--seed -1: that is too few; write 0 or more"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_remedy(flags: dict[str, Any], line: str) -> None:
    said = mistakes(lambda: of_url(**flags))
    assert said.startswith(line) and "\n" not in said


def test_threads_that_leave_no_files_for_connections_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "open_files_hard", lambda: 335)
    assert of_url(threads=100).question.connections_most == 3
    assert mistakes(lambda: of_url(threads=101)) == (
        "--threads 101 need all the 335 files that may be open here; raise the limit (ulimit -Hn), or write "
        "fewer"
    )


def test_the_budget_that_an_error_proposes_is_accepted() -> None:
    assert of_url(objective="p99<3.61s", budget="91s").question.budget_s == 91.0
    assert str(of_url(objective="p99<3.6s").question.objective) == "p99<3.6s"


def test_all_mistakes_are_reported_at_once() -> None:
    said = mistakes(lambda: of_url(objective="p99", by="users", budget="1s", header=["x"]))
    assert len(said.splitlines()) == 4


def test_a_server_is_sent_its_first_workload(described: Any) -> None:
    description, workloads = described
    plan = find_plan.of_server(
        description, workloads, FindFlags(parameter=["delay_ms=5"], setting=["workers=9"])
    )
    assert plan.workload is not None and plan.workload.name == "hello"
    assert plan.requests[0].path == "/hello?delay_ms=5" and plan.requests[0].expect.body_bytes == 13
    assert plan.settings == {"workers": 9}


def test_a_variant_runs_its_server_with_other_settings(described: Any) -> None:
    plan = find_plan.of_server(*described, FindFlags(), "tiny[workers=9]")
    assert (plan.label, plan.settings) == ("tiny[workers=9]", {"workers": 9})
    assert find_plan.of_server(*described, FindFlags(setting=["workers=9"])).label == "tiny[workers=9]"
    assert find_plan.of_server(*described, FindFlags()).label == "tiny"
    twice = mistakes(
        lambda: find_plan.of_server(*described, FindFlags(setting=["workers=8"]), "tiny[workers=9]")
    )
    assert twice == "--setting workers and tiny[workers=9] both set workers; leave one of them out"
    assert find_plan.is_server("tiny[ratio=0.5]") and not find_plan.is_server("http://[::1]:80/")


def test_a_path_replaces_a_workload(described: Any) -> None:
    plan: ServerPlan = find_plan.of_server(*described, FindFlags(path="/x", method="POST", expect_status=201))
    (request,) = plan.requests
    assert plan.workload is None and (request.method, request.path) == ("POST", "/x")
    assert request.expect.status == 201 and request.expect.body_bytes is None


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"workload": "helo"}, "server tiny has no workload helo; did you mean hello?"),
        ({"parameter": ["delay=5"]}, "workload hello has no parameter delay; did you mean delay_ms?"),
        ({"parameter": ["5"]}, "--parameter 5: that sets nothing; write --parameter NAME=VALUE"),
        ({"setting": ["worker=5"]}, "server tiny has no setting worker; did you mean workers?"),
        (
            {"setting": ["workers=many"]},
            "workers = many: server tiny wants a whole number there; write for instance workers=4",
        ),
        ({"header": ["a: b"]}, "--header changes what a workload asks; leave it out, or say --path"),
        ({"path": "x"}, "--path x: a path begins with /; write --path /x"),
        (
            {"path": "/x", "workload": "hello"},
            "--workload and --path both say what to ask; leave one of them out",
        ),
        ({"insecure": True}, "--insecure is about a URL, and tiny is a server; leave it out"),
        ({"watch": ":80"}, "--watch is about a URL, and tiny is a server; leave it out"),
    ],
)
def test_a_mistake_about_a_server(described: Any, flags: dict[str, Any], line: str) -> None:
    assert mistakes(lambda: find_plan.of_server(*described, FindFlags(**flags))).splitlines()[0] == line
