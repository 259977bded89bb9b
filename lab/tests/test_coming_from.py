"""The tables of docs/coming-from.md: flags of ours mean what they say, and others are refused."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller, plans_made
from crumple.load import habits, load_flags
from crumple.load.load_flags import LoadFlags
from crumple.load.load_plan import LoadPlan
from test_habits import BESIDE, CERTIFICATES, HEY, OHA

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()
OWN = {name: each.name for each in dataclasses.fields(LoadFlags) for name in load_flags.names(each)}
URL = "http://127.0.0.1:8080/"
TOOLS = ("wrk and wrk2", "ab", "hey", "oha", "k6", "vegeta", "autocannon", "h2load")


@dataclasses.dataclass(frozen=True)
class Row:
    """A flag of another tool, those of ours that the table names, and its remark."""

    tool: str
    theirs: str
    ours: tuple[str, ...]
    remark: str


def rows() -> list[Row]:
    found = []
    for section in PAGE.split("\n## ")[1:]:
        tool = section.partition("\n")[0]
        for theirs, ours, remark in re.findall(r"^\| `(-[^`]+)` \| (.*?) \| ?(.*?) ?\|$", section, re.M):
            found.append(Row(tool, theirs, tuple(re.findall(r"`(-[^` ]+)`", ours)), remark))
    return found


def shape(plan: LoadPlan) -> Any:
    return plan.spec.shape


def headers(plan: LoadPlan) -> dict[str, str]:
    return dict(plan.spec.requests[0].headers)


# For each flag of ours in the tables: a value, and what the plan then is.
MEANS: dict[str, tuple[str | None, Callable[[Any], bool]]] = {
    "-c": ("7", lambda plan: shape(plan).connections == 7),
    "--connections": ("7", lambda plan: shape(plan).connections == 7),
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
    from crumple.load import target

    monkeypatch.setattr(target, "_check_unix_socket", lambda path: None)
    return plans_made(monkeypatch, tmp_path)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def test_there_is_a_table_for_each_tool() -> None:
    assert tuple(dict.fromkeys(row.tool for row in rows())) == TOOLS
    assert len(rows()) == len(set(rows())) > 150


def test_the_tables_of_hey_and_oha_have_all_that_is_taken() -> None:
    of = {tool: {row.theirs for row in rows() if row.tool == tool} for tool in ("hey", "oha")}
    long = {"--method", "--form", "--redirect", "--disable-color"}
    assert set(HEY) - of["hey"] == set() and set(OHA) - of["oha"] - long == set()


@pytest.mark.parametrize("flag", sorted({flag for row in rows() for flag in row.ours}))
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


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.tool}{row.theirs}")
def test_a_flag_of_theirs_is_the_same_or_another_or_refused(
    call: Call, plans: list[LoadPlan], row: Row
) -> None:
    if row.theirs in row.ours and not row.remark.startswith("here"):
        assert OWN[row.theirs]
    elif row.theirs in OWN:
        assert row.remark.startswith("here "), "the letter has another meaning, and the table says so"
    else:
        code, out, said = call("load", URL, row.theirs)
        assert (code, out, plans) == (2, "", [])
        remedy = habits.INSTEAD[row.theirs]
        assert row.theirs in said and remedy in said
        same = {name for flag in row.ours for name, field in OWN.items() if field == OWN[flag]}
        assert not row.ours or any(
            f"{name} " in f"{remedy} ".replace(",", " ").replace(";", " ") for name in same
        )


@pytest.mark.parametrize("typed", re.findall(r"`crumple load URL ([^`]+)`", PAGE))
def test_a_command_of_the_page_is_taken(call: Call, plans: list[LoadPlan], typed: str) -> None:
    assert call("load", URL, *typed.split()) == (0, "", "")
    assert len(plans) == 1


def test_the_flags_that_need_more_are_tested_where_it_is() -> None:
    assert set(BESIDE) | set(CERTIFICATES) <= ELSEWHERE
