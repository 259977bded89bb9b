"""docs/coming-from.md, and the data that it is made of: flags mean what it says, or are refused."""

import dataclasses
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller, plans_made
from crumple.habits import remedies
from crumple.habits.tool import Flag
from crumple.habits.tools import TOOLS
from crumple.load import load_flags
from crumple.load.load_flags import LoadFlags
from crumple.load.load_plan import LoadPlan
from made_habits import BESIDE, CERTIFICATES, HEY, OHA

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "coming-from.md").read_text(encoding="utf-8")
OWN = {name: each.name for each in dataclasses.fields(LoadFlags) for name in load_flags.names(each)}
URL = "http://127.0.0.1:8080/"
ROWS = [(tool, flag) for tool in TOOLS.values() for flag in tool.flags]
NAMES = [(tool.name, name, flag) for tool, flag in ROWS for name in flag.names]


def shape(plan: LoadPlan) -> Any:
    return plan.spec.shape


def headers(plan: LoadPlan) -> dict[str, str]:
    return dict(plan.spec.requests[0].headers)


# For each flag of ours in the tables: a value, and what the plan then is.
MEANS: dict[str, tuple[str | None, Callable[[Any], bool]]] = {
    "-c": ("7", lambda plan: shape(plan).connections == 7),
    "--connections": ("7", lambda plan: shape(plan).connections == 7),
    "--requests": ("700", lambda plan: plan.spec.stop.requests == 700),
    "-n": ("700", lambda plan: plan.spec.stop.requests == 700),
    "-z": ("3s", lambda plan: plan.spec.stop.duration_s == 3),
    "--duration": ("3s", lambda plan: plan.spec.stop.duration_s == 3),
    "-q": ("9", lambda plan: shape(plan).rates[0].from_per_s == 9),
    "--rate": ("9", lambda plan: shape(plan).rates[0].from_per_s == 9),
    "-m": ("PUT", lambda plan: plan.spec.requests[0].method == "PUT"),
    "-H": ("A: b", lambda plan: headers(plan)["A"] == "b"),
    "-A": ("text/html", lambda plan: headers(plan)["Accept"] == "text/html"),
    "-T": ("text/html", lambda plan: headers(plan)["Content-Type"] == "text/html"),
    "-U": ("me/1", lambda plan: headers(plan)["User-Agent"] == "me/1"),
    "--user-agent": ("me/1", lambda plan: headers(plan)["User-Agent"] == "me/1"),
    "-host": ("a.test", lambda plan: headers(plan)["Host"] == "a.test"),
    "--host": ("a.test", lambda plan: headers(plan)["Host"] == "a.test"),
    "-a": ("me:x", lambda plan: headers(plan)["Authorization"].startswith("Basic ")),
    "-d": ("text", lambda plan: plan.spec.requests[0].body == "text"),
    "--body": ("text", lambda plan: plan.spec.requests[0].body == "text"),
    "-x": ("http://127.0.0.1:3128", lambda plan: plan.spec.target.proxy is not None),
    "--unix-socket": ("SOCKET", lambda plan: "SOCKET" in plan.spec.target.address),
    "-t": ("4s", lambda plan: plan.spec.timeouts.request_s == 4),
    "--timeout": ("4s", lambda plan: plan.spec.timeouts.request_s == 4),
    "--connect-timeout": ("4s", lambda plan: plan.spec.timeouts.connect_s == 4),
    "--threads": ("2", lambda plan: plan.spec.threads == 2),
    "--steps": ("5,6:2s", lambda plan: [each.from_per_s for each in shape(plan).rates] == [5, 6]),
    "--ramp": ("0-50:5s", lambda plan: shape(plan).to_connections == 50),
    "--source-address": ("127.0.0.2", lambda plan: "127.0.0.2" in str(plan.spec)),
    "--expect-body": ("text", lambda plan: plan.spec.requests[0].expect.body_bytes == 4),
    "--warm-up": ("3s", lambda plan: plan.spec.warm_up.stop.duration_s == 3),
    "--disable-keepalive": (None, lambda plan: plan.spec.connection == "per-request"),
    "-disable-keepalive": (None, lambda plan: plan.spec.connection == "per-request"),
}
# Flags that change no spec: those of the terminal, files, the store, and those that are always on. That they
# are taken is tested in test_habits.py and below.
BESIDE_THE_SPEC = {
    "--json", "--csv", "--html", "--debug", "--quiet", "--no-tui", "--no-color", "--name", "--tag", "-r",
    "--http-version", "--latency-correction", "--disable-compression", "-disable-compression",
    "-disable-redirects",
}  # fmt: skip
# Tested in test_habits.py, test_request.py and test_certificates.py, as they need files or another flag.
ELSEWHERE = {
    "-D", "-Z", "-F", "--request-file", "--cacert", "--cert", "--key", "--insecure", "--connect-to",
    "--proxy-header", "--ipv4", "--ipv6",
}  # fmt: skip


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan]:
    from crumple.load import through

    monkeypatch.setattr(through, "_check_unix_socket", lambda path: None)
    return plans_made(monkeypatch, tmp_path)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def test_the_page_is_up_to_date() -> None:
    script = importlib.util.spec_from_file_location("coming_from_page", DOCS / "coming_from_page.py")
    assert script is not None and script.loader is not None
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    assert module.text() == PAGE, "write it again: .venv/bin/python docs/coming_from_page.py"


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_no_name_is_twice_in_a_tool(tool: Any) -> None:
    names = [name for flag in tool.flags for name in flag.names]
    assert len(names) == len(set(names)) > 8


def test_hey_and_oha_have_all_that_is_taken() -> None:
    of = {tool.name: {name for flag in tool.flags for name in flag.names} for tool in TOOLS.values()}
    assert set(HEY) - of["hey"] == set() and set(OHA) - of["oha"] == set()


@pytest.mark.parametrize("flag", sorted({ours for _, flag in ROWS for ours in flag.ours}))
def test_a_flag_of_ours_exists_and_its_meaning_is_tested(
    call: Call, plans: list[LoadPlan], flag: str
) -> None:
    assert flag in OWN
    if flag in BESIDE_THE_SPEC | ELSEWHERE:
        assert flag not in MEANS
        return
    value, means = MEANS[flag]
    assert call("load", URL, flag, *([] if value is None else [value])) == (0, "", "")
    assert means(plans[0])


@pytest.mark.parametrize(
    ("tool", "name", "flag"), NAMES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_flag_of_theirs_is_the_same_or_another_or_refused(
    call: Call, plans: list[LoadPlan], tool: str, name: str, flag: Flag
) -> None:
    if name in OWN:
        is_same = OWN[name] in {OWN[ours] for ours in flag.ours} and not flag.remark.startswith("here ")
        assert is_same or flag.remark.startswith("here "), (
            "it means something else here, and the page says so"
        )
        return
    code, out, said = call("load", URL, name)
    assert (code, out, plans) == (2, "", [])
    assert name in said and remedies.INSTEAD[name] in said and said.count("\n") == 1
    same = {each for ours in flag.ours for each, field in OWN.items() if field == OWN[ours]}
    words = set(re.split(r"[ ,;:']", remedies.of(flag)))
    assert not flag.ours or same & words, "the remedy names a flag that the page names"


@pytest.mark.parametrize("typed", re.findall(r"`crumple load URL ([^`]+)`", PAGE))
def test_a_command_of_the_page_is_taken(call: Call, plans: list[LoadPlan], typed: str) -> None:
    assert call("load", URL, *typed.split()) == (0, "", "")
    assert len(plans) == 1


def test_the_flags_that_need_more_are_tested_where_it_is() -> None:
    assert set(BESIDE) | set(CERTIFICATES) <= ELSEWHERE
