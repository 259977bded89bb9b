"""The words and flags of `crumple versus`: which versions they name, and what is refused."""

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from crumple.commands.project_files import Project
from crumple.errors import UsageError
from crumple.versus import version_sites, versions, versus_plan
from crumple.versus.versions import CommandVersion, CommitVersion, ServerVersion, UrlVersion
from crumple.versus.versus_flags import VersusFlags
from crumple.versus.versus_plan import VersusPlan
from git_repositories import here as here
from git_repositories import with_commits as with_commits


def planned(*words: str, typed: tuple[str, ...] = (), **flags: Any) -> VersusPlan:
    """The plan of these words; `typed`: what follows the first "--"."""
    line = ["crumple", "versus", *words, *(("--", *typed) if typed else ())]
    given = [*words, *typed]
    return versus_plan.plan(given, line, VersusFlags(**flags), lambda: Project.here().servers)


def test_versions_get_letters_in_their_order(here: Path) -> None:
    plan = planned("tiny", "tiny[workers=2]", "./servers/other")
    assert [(each.letter, each.label) for each in plan.versions] == [
        ("A", "tiny"), ("B", "tiny[workers=2]"), ("C", "./servers/other"),
    ]  # fmt: skip
    kinds = [each.kind for each in plan.versions]
    assert all(isinstance(each, ServerVersion) for each in kinds)
    assert isinstance(kinds[1], ServerVersion) and kinds[1].settings == {"workers": 2}


def test_urls_are_read_as_load_reads_them(here: Path) -> None:
    plan = planned("localhost:8080/a?token=abc", "http://127.0.0.1:8081/b", ":8082")
    kinds = [each.kind for each in plan.versions]
    assert all(isinstance(each, UrlVersion) for each in kinds)
    assert plan.versions[0].label == "http://localhost:8080/a?token=…"
    assert [each.resolved.path for each in kinds if isinstance(each, UrlVersion)] == [
        "/a?token=abc",
        "/b",
        "/",
    ]


def test_commands_follow_two_dashes_each(here: Path) -> None:
    typed = ("sh", "-c", "run {port}", "--", "env", "X=1")
    plan = planned("localhost:1/", typed=typed)
    assert [each.kind for each in plan.versions][1:] == [
        CommandVersion(("sh", "-c", "run {port}")), CommandVersion(("env", "X=1")),
    ]  # fmt: skip


def test_the_same_twice_is_known_as_such(here: Path) -> None:
    one, other, third = (each.kind for each in planned("tiny", "./servers/tiny", "other").versions)
    assert versions.same(one, other) and not versions.same(one, third)
    one, other = (each.kind for each in planned("tiny[workers=4]", "tiny[workers=5]").versions)
    assert not versions.same(one, other)
    one, other = (each.kind for each in planned("localhost:1/a", "http://localhost:1/a").versions)
    assert versions.same(one, other)


def test_the_defaults(here: Path) -> None:
    loads = planned("tiny", "other").loads
    assert (loads.budget_s, loads.rate_per_s, loads.share) == (120.0, None, 0.5)
    assert (loads.connections, loads.tolerance, loads.warm_up_s) == (16, 0.05, None)
    loads = planned("tiny", "other", rate="300", alike="2%", seed=4).loads
    assert (loads.rate_per_s, loads.tolerance, loads.seed) == (300.0, 0.02, 4)
    assert planned("tiny", "other", rate="30%").loads.share == 0.3


@pytest.mark.parametrize(
    ("words", "flags", "line"),
    [
        ((), {}, "nothing to compare; name two versions"),
        (("tiny",), {}, "tiny: that is one version; name another; the same again shows the noise"),
        (("tiny",) * 9, {}, "9 versions are too many; compare at most 8"),
        (("tinny", "tiny"), {}, 'no server is called "tinny"; did you mean tiny?'),
        (("servers", "tiny"), {}, 'no server is called "servers"; to name the folder, write ./servers'),
        (("./nowhere", "tiny"), {}, "./nowhere: there is no folder ./nowhere; check the path"),
        (("tiny[workers=x]", "tiny"), {}, "workers = x: server tiny wants a whole number there"),
        (("tiny[threads=1]", "tiny"), {}, "server tiny has no setting threads"),
        (("http://192.0.2.7/", ":1"), {}, "192.0.2.7 is neither a loopback nor a private address"),
        (("tiny", ":1"), {}, "tiny is asked a workload, and http://localhost:1 a path; say with --path"),
        (("tiny", "other"), {"path": "hello"}, "--path hello: a path begins with /; write --path /hello"),
        ((":1", ":2"), {"path": "/"}, "--path is about servers that crumple starts; write the path into"),
        ((":1", ":2"), {"workload": "hello"}, "--workload is about servers with a server.toml"),
        (("tiny", "other"), {"workload": "hello", "path": "/"}, "--workload and --path both say what to ask"),
        (
            ("tiny", "other"),
            {"method": "POST"},
            "--method changes what a workload asks; leave it out, or say",
        ),
        (("tiny", "other"), {"insecure": True}, "--insecure is about a URL, and none is named"),
        (("tiny", "other"), {"budget": "5s"}, "--budget 5s: too short for a few blocks; give it 30s or more"),
        (("tiny", "other"), {"rate": "95%"}, "--rate 95%: so near its limit times say more of the queue"),
        (("tiny", "other"), {"rate": "x%"}, "--rate x%: that is not a share"),
        (("tiny", "other"), {"rate": "fast"}, "--rate fast: that is no rate"),
        (("tiny", "other"), {"alike": "5"}, "--alike 5: that is not a share; write --alike 5%, for instance"),
        (("tiny", "other"), {"alike": "60%"}, "--alike 60%: that is not alike; write 50% or less"),
        (("tiny", "other"), {"arrivals": "odd"}, "--arrivals odd: arrivals are even or poisson"),
        (("tiny", "other"), {"connections": 0}, "-c 0: that is too few; write 1 or more"),
        (
            ("tiny", "other"),
            {"parameter": ["x"]},
            "--parameter x: that sets nothing; write --parameter NAME=",
        ),
        (
            ("tiny", "other"),
            {"html": Path("/no/such.html")},
            "--html /no/such.html: there is no folder /no; make it first",
        ),
    ],
)
def test_a_mistake_is_one_line(here: Path, words: tuple[str, ...], flags: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(*words, **flags)
    assert str(refused.value).startswith(line) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("true", "--"), "-- without a command; write crumple versus URL -- ./server --port {port}"),
        (("no-such-command", "--", "true"), "no-such-command: there is no such command"),
    ],
)
def test_a_mistake_in_a_command_is_one_line(here: Path, typed: tuple[str, ...], line: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(typed=typed)
    assert str(refused.value).startswith(line)


def test_several_mistakes_are_told_together(here: Path) -> None:
    with pytest.raises(UsageError) as refused:
        planned("tinny", "othre", budget="1s")
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.starts
@pytest.mark.parallel
def test_a_commit_of_a_servers_folder(with_commits: tuple[Path, str]) -> None:
    _, first = with_commits
    names = ("./servers/tiny@HEAD~1", "tiny@v2.1", f"tiny@{first[:12]}[workers=2]", "tiny@")
    plan = planned(*names)
    old, tagged, exact, head = (each.kind for each in plan.versions)
    assert (
        isinstance(old, CommitVersion)
        and isinstance(exact, CommitVersion)
        and isinstance(tagged, CommitVersion)
    )
    assert old.commit == exact.commit == first != tagged.commit
    assert old.label == f"./servers/tiny@HEAD~1 ({first[:9]})"
    assert (exact.label, exact.settings) == (f"tiny@{first[:12]}[workers=2]", "[workers=2]")
    assert versions.same(tagged, head) and not versions.same(old, tagged)


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tiny@nowhere", "there is no such commit; look it up with git log"),
        ("tiny@--all", "there is no such commit"),
        ("tinny@HEAD", 'no server is called "tinny"; did you mean tiny?'),
    ],
)
def test_a_commit_that_is_not_there(with_commits: tuple[Path, str], name: str, line: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(name, "tiny")
    assert line in str(refused.value)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_folder_in_no_repository_has_no_commits(here: Path) -> None:
    with pytest.raises(UsageError, match="is in no git repository; name the folder alone"):
        planned("tiny@HEAD", "tiny")


def test_who_serves_a_versions_dependencies_is_looked_up(here: Path) -> None:
    # Else its own database would be one of the other programs that slow it.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        plan = planned(url, url)
        with ExitStack() as kept:
            sites = version_sites.open_sites(plan.versions, plan.asked, dict, lambda _: None, None, kept)
        for site in sites.values():
            with site.opened() as place:
                assert place.options.dependencies
