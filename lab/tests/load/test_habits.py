"""Every flag of hey and oha means the same here by the same name, or is refused by name with a remedy."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller, plans_made
from crumple import contract
from crumple.commands import find
from crumple.errors import UsageError
from crumple.find import find_plan
from crumple.habits import remedies
from crumple.load import habit_flags, load_flags
from crumple.load.load_flags import LoadFlags
from crumple.load.load_plan import LoadPlan
from made_habits import BESIDE, CERTIFICATES, HEY, OHA

URL = "http://127.0.0.1:8080/"
HEY_REFUSED = {"-o": "csv", "-h2": None, "-cpus": "2"}
OHA_REFUSED = {
    "-p": "2", "-w": None, "--wait-ongoing-requests-after-deadline": None, "--burst-delay": "1s",
    "--burst-rate": "2", "--rand-regex-url": None, "--urls-from-file": None, "--max-repeat": "4",
    "--dump-urls": "3", "--fps": "16", "--aws-session": "x", "--aws-sigv4": "x",
    "--proxy-http-version": "1.1", "--proxy-http2": None, "--http-version": "2", "--http2": None,
    "--no-pre-lookup": None,
    "--stats-success-breakdown": None, "--db-url": "a.db", "-o": "FILE", "--output": "FILE",
    "--output-format": "json", "-u": "ms", "--time-unit": "ms", "--vsock-addr": "1:2", "-r": "5",
    "--redirect": "5",
}  # fmt: skip


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan]:
    """The plans that the command makes; no load follows."""
    made = plans_made(monkeypatch, tmp_path)
    Path("FILE").write_text("a\nb\n")
    monkeypatch.setattr(find, "breaking_point", lambda url, flags: find_plan.of_url(url, flags) and 0)
    return made


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture
def files_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the files is tested in test_certificates.py."""
    from crumple.load import certificates, through

    pair = contract.ClientCertificateSpec(cert_file="FILE", key_file="FILE")
    monkeypatch.setattr(certificates, "check_authorities", lambda file: None)
    monkeypatch.setattr(certificates, "own", lambda cert, key: pair if cert else None)
    monkeypatch.setattr(through, "_check_unix_socket", lambda path: None)


@pytest.mark.parametrize(("flag", "value"), [*HEY.items(), *OHA.items()])
@pytest.mark.usefixtures("files_can_be_used")
def test_a_flag_that_can_mean_the_same_is_taken(
    call: Call, plans: list[LoadPlan], flag: str, value: str | None
) -> None:
    url = URL.replace("http:", "https:") if flag in CERTIFICATES else URL
    url = "http://[::1]:8080/" if flag == "--ipv6" else url
    typed = [flag] if value is None else [flag, value]
    assert call("load", url, *typed, *BESIDE.get(flag, [])) == (0, "", "")
    assert len(plans) == 1


@pytest.mark.parametrize("command", ["load", "find"])
@pytest.mark.parametrize(("flag", "value"), [*HEY_REFUSED.items(), *OHA_REFUSED.items()])
def test_a_flag_that_cannot_is_refused_by_name_with_what_to_write(
    call: Call, plans: list[LoadPlan], command: str, flag: str, value: str | None
) -> None:
    typed = [flag] if value is None else [flag, value]
    code, out, said = call(command, URL, *typed)
    assert (code, out, plans) == (2, "", [])
    line = said.removesuffix("\n")
    aliases = {"--redirect": "-r"}
    assert aliases.get(flag, flag) in line and "; " in line and "\n" not in line
    assert "see: crumple" not in line, "it says what to write, not where to look"


@pytest.mark.parametrize("option", remedies.INSTEAD)
def test_whatever_is_to_be_written_instead_is_a_flag(option: str) -> None:
    own = {name for each in dataclasses.fields(LoadFlags) for name in load_flags.names(each)}
    words = remedies.INSTEAD[option].replace(";", " ").replace(",", " ").replace(":", " ").split()
    other = {"-keepalive=false", "-p", "--version", "--curl"}
    assert {word for word in words if word.startswith("-") and len(word) > 1} - own - other == set()


def test_what_the_flags_say_is_what_is_sent(call: Call, plans: list[LoadPlan]) -> None:
    call(
        "load",
        URL,
        "-a",
        "me:s:ö",
        "-U",
        "x/1",
        "-host",
        "b.test",
        "-x",
        "http://u:p@127.0.0.1:1",
        "-Z",
        "FILE",
    )
    spec = plans[0].spec
    assert spec.requests[0].headers == (
        ("Authorization", "Basic bWU6czrDtg=="),
        ("User-Agent", "x/1"),
        ("Host", "b.test"),
    )
    assert spec.requests[0].method == "POST" and spec.requests[0].varies
    assert spec.requests[0].body == f"{{line:{Path('FILE').absolute()}}}"
    assert spec.target == contract.Target(
        address="127.0.0.1:1",
        host="127.0.0.1:8080",
        proxy=contract.ProxySpec(
            authority="127.0.0.1:8080", headers=(("Proxy-Authorization", "Basic dTpw"),)
        ),
    )


def test_braces_are_braces_beside_lines_that_vary(call: Call, plans: list[LoadPlan]) -> None:
    call("load", URL + "{seq}", "--no-vary", "-Z", "FILE", "-H", "A: {random:1-2}{b}")
    (asked,) = plans[0].spec.requests
    assert asked.path == "/{{seq}" and ("A", "{{random:1-2}{{b}") in asked.headers and asked.varies


def test_a_form_varies_and_says_its_type(call: Call, plans: list[LoadPlan]) -> None:
    call("load", URL, "-F", "id={seq}", "-F", "f=@FILE")
    (asked,) = plans[0].spec.requests
    assert asked.method == "POST" and asked.varies and asked.body_parts is not None
    assert asked.body_parts[1].text == "{seq}" and asked.body_parts[4].file == str(Path("FILE").absolute())
    assert dict(asked.headers)["Content-Type"].startswith("multipart/form-data; boundary=crumple-")
    call("load", URL, "-F", "id={seq} {a}", "--no-vary")
    assert plans[1].spec.requests[0].body_parts[1].text == "{seq} {a}"  # type: ignore[index]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["-a", "me"], "-a me: that names no password; write -a USER:PASSWORD"),
        (["-a", "me:x", "-H", "authorization: y"], "Authorization is given twice, by -a and as a header"),
        (["--host", "a", "-H", "Host: b"], "Host is given twice, by --host and as a header; leave one"),
        (["-U", "a", "-H", "User-Agent: b"], "User-Agent is given twice, by -U and as a header"),
        (["-F", "a=b", "-d", "c"], "-d and -F each give a body; keep one of them"),
        (["-D", "FILE", "-Z", "FILE"], "-D and -Z each give a body; keep one of them"),
        (["-F", "a=b", "-T", "text/plain", "-H", "Content-Type: x"], "Content-Type is given twice"),
        (["-Z", "none"], "-Z none: cannot read it: No such file or directory; check the path"),
        (["-Z", "EMPTY"], "-Z EMPTY: it has no lines; put a body into each line"),
        (
            ["-A", "me:secret"],
            "-A is the Accept header, and this is no media type; a user and password are -a",
        ),
        (
            ["-r", "-n"],
            "-r -n: that is no number of redirects; write -r 0, or leave it out; errors stop no load",
        ),
        (["-t", "0"], "--timeout 0: without a limit a load may never end; write 24h, the longest"),
        (["--color", "blue"], "--color blue: that is not known; write auto, always or never"),
        (["-n", "1k", "-c", "2k"], "-c 2000 is more than the -n 1000 requests there are"),
        (
            ["-d30s", "-t4", "-c100"],
            "-d 30s: that is the body to send, and it reads as a duration; a duration is -z",
        ),
        (
            ["-s", "script.lua"],
            "No such option: -s; wrk, wrk2: write --request-file FILE; ab: write -t DURATION; ",
        ),
        (["-k"], "No such option: -k; ab: that is so by default"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    call: Call, plans: list[LoadPlan], typed: list[str], said: str
) -> None:
    Path("EMPTY").write_text("\n\n")
    code, _, line = call("load", URL, *typed)
    assert (code, plans) == (2, []) and line.startswith(said) and line.count("\n") == 1
    assert "secret" not in line


def test_a_folder_with_braces_is_no_place_for_lines(
    call: Call, plans: list[LoadPlan], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "{a}").mkdir()
    monkeypatch.chdir(tmp_path / "{a}")
    Path("FILE").write_text("a\n")
    assert "a path with braces cannot be read" in call("load", URL, "-Z", "FILE")[2]


def test_flags_for_all_requests_are_refused_beside_a_request_file(call: Call, plans: list[LoadPlan]) -> None:
    Path("r.toml").write_text('[[requests]]\npath = "/"\n')
    for flag, value in (("-F", "a=b"), ("-Z", "FILE")):
        said = call("load", URL, "--request-file", "r.toml", flag, value)[2]
        assert f"{flag} and --request-file both say what to ask" in said
    call("load", URL, "--request-file", "r.toml", "-a", "me:x", "--host", "a.test")
    assert [name for name, _ in plans[0].spec.requests[0].headers] == ["Authorization", "Host", "User-Agent"]


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("letter", ["-V", "--version"])
def test_the_version_is_told(call: Call, letter: str) -> None:
    code, out, _ = call(letter)
    assert code == 0 and out.startswith("crumple ")


def test_flags_that_change_nothing_are_checked_alone() -> None:
    habit_flags.check(LoadFlags(redirect="0", http_version="1.1", latency_correction=True))
    flags: Any = LoadFlags(redirect="2", http_version="2")
    with pytest.raises(UsageError) as caught:
        habit_flags.check(flags)
    assert str(caught.value).splitlines() == [
        "-r 2: redirects are not followed; load the URL where it leads; --debug shows that",
        "--http-version 2: only HTTP/1.1 is spoken; leave it out",
    ]
