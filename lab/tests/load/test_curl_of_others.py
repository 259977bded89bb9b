"""--curl of find, diagnose and versus: they ask what the command of curl asks, or name what they cannot."""

import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest
from command_line import Call, in_project
from crumple import engine
from crumple.diagnose import diagnose_plan
from crumple.errors import CrumpleError
from crumple.find import find_plan
from crumple.machine.load_machine import LoadMachine
from crumple.typed import curl_here
from crumple.typed.curl_here import CurlHere
from crumple.versus import versus_plan
from crumple.versus.versions import UrlVersion

URL = "http://127.0.0.1:1/orders?q=1"
CURL = f"curl '{URL}' -H 'Authorization: Bearer abcdefghijklmnop' --data-raw 'a b' -X PUT"
PLANNERS = {
    "find": (find_plan, "of_url"),
    "diagnose": (diagnose_plan, "of_url"),
    "versus": (versus_plan, "plan"),
}


@pytest.fixture(autouse=True)
def no_curl_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curl_here, "installed_curl", lambda: CurlHere("curl/9.9.9"))


@pytest.fixture(params=PLANNERS)
def verb(request: pytest.FixtureRequest) -> str:
    """Each command in turn."""
    return str(request.param)


@pytest.fixture
def call(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Call:
    """Run `crumple VERB …` in a small project without an engine, so that nothing is sent."""

    def none(_: Path) -> NoReturn:
        raise CrumpleError("no engine")

    monkeypatch.setattr(engine, "load", none)
    return in_project(monkeypatch, capsys, tmp_path, verb)


@pytest.fixture
def planned(verb: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What each plan was made of; nothing is sent."""
    made: list[tuple[Any, ...]] = []
    module, name = PLANNERS[verb]
    real = getattr(module, name)

    def plan(*given: Any) -> Any:
        made.append((*given, real(*given)))
        raise SystemExit(0)

    monkeypatch.setattr(module, name, plan)
    return made


def test_the_request_is_that_of_the_command(call: Call, verb: str, planned: list[tuple[Any, ...]]) -> None:
    other = ["http://127.0.0.1:2/orders"] if verb == "versus" else []
    assert call(*other, "--curl", CURL, "-H", "B: c")[0] == 0
    (what, *_, flags) = [
        each for each in planned[0][:-1] if not callable(each) and not isinstance(each, LoadMachine)
    ]
    assert (what, flags.method, flags.body) == ([URL, *other] if other else URL, "PUT", "a b")
    assert {"Authorization: Bearer abcdefghijklmnop", "B: c"} <= set(flags.header)
    plan = planned[0][-1]
    if verb == "versus":
        assert all(isinstance(each.kind, UrlVersion) for each in plan.versions)
        (request,) = plan.asked.requests_at("/")
    elif verb == "find":
        (request,) = plan.requests
    else:
        return
    assert (request.method, request.body) == ("PUT", "a b")
    assert dict(request.headers)["Authorization"] == "Bearer abcdefghijklmnop"


def test_a_url_beside_the_command_is_one_too_many(call: Call, verb: str) -> None:
    if verb == "versus":
        # Its URL is the first version, and there may be seven others.
        code, _, err = call("--curl", CURL)
        assert code == 2 and "that is one version" in err
        return
    code, _, err = call("http://127.0.0.1:2/", "--curl", CURL)
    assert code == 2 and ("has a URL of its own" in err or "more than one server" in err)


def test_what_the_command_asks_and_the_verb_lacks_is_named(call: Call, verb: str) -> None:
    other = ["http://127.0.0.1:2/"] if verb == "versus" else []
    code, _, err = call(*other, "--curl", f"curl {URL} --connect-timeout 3")
    if verb == "find":
        assert "connect-timeout" not in err
        return
    said = f"the command of --curl asks for --connect-timeout, which {verb} does not have; leave it out"
    assert (code, err) == (2, f"{said}\n")


def test_it_is_saved_as_the_flags_that_it_comes_to(call: Call, verb: str) -> None:
    other = ["http://127.0.0.1:2/orders"] if verb == "versus" else []
    call(*other, "--curl", CURL, "--save", "a.toml")
    saved = tomllib.loads(Path("a.toml").read_text())
    assert saved["command"] == verb and saved["arguments"] == [URL, *other] and "curl" not in saved
    assert saved["method"] == "PUT" and "abcdefghijklmnop" not in Path("a.toml").read_text()
