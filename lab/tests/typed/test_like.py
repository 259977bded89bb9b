"""`--like TOOL`: flags of the tool become crumple's, its defaults are added, and what differs is said."""

import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import Call, caller, plans_made
from crumple import cli, contract
from crumple.errors import UsageError
from crumple.habits.tools import TOOLS
from crumple.load.load_plan import LoadPlan
from crumple.typed import like

URL = "http://127.0.0.1:8080/"


def words(typed: str, verb: str = "load") -> str:
    """Return what a command stands for, without its verb and the URL."""
    likened = like.translate([verb, "--like", *shlex.split(typed), URL], cli.saved_kinds(verb))
    assert likened is not None
    assert likened.words[:2] == [verb, URL]
    return shlex.join(likened.words[2:])


def notes(typed: str, url: str = URL) -> list[str]:
    likened = like.translate(["load", "--like", *shlex.split(typed), url], cli.saved_kinds("load"))
    assert likened is not None
    return likened.notes


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan]:
    return plans_made(monkeypatch, tmp_path)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


HEY = "-t 20s -H 'Content-Type: text/html' -H 'Accept-Encoding: gzip'"
OHA = "-t 24h -H 'Accept: */*' -H 'Accept-Encoding: gzip, compress, deflate, br'"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hey", f"-n 200 -c 50 {HEY}"),
        # As many as hey sends: each of its connections the same number.
        ("hey -n 250 -c 100", f"-n 200 -c 100 {HEY}"),
        ("hey -c 30", f"-c 30 -n 180 {HEY}"),
        # With a duration hey ignores the number.
        ("hey -n 500 -z 3s", f"-z 3s -c 50 {HEY}"),
        ("hey -z=3s --c=4", f"-z 3s -c 4 {HEY}"),
        ("hey -z 3s -c 4 -q 2.5", f"-z 3s -c 4 --rate 10 --arrivals even {HEY}"),
        (
            "hey -disable-compression -t 0",
            "-disable-compression -t 24h -n 200 -c 50 -H 'Content-Type: text/html'",
        ),
        ("hey -H 'accept-encoding: br' -T a/b", "-H 'accept-encoding: br' -T a/b -n 200 -c 50 -t 20s"),
        ("hey -d x", f"-d x -n 200 -c 50 {HEY}".replace("20s", "20s -m GET")),
        ("hey -cpus 2 -disable-keepalive", f"-disable-keepalive -n 200 -c 50 {HEY} -H 'Connection: close'"),
        # Flags that hey does not have are crumple's.
        ("hey --rate 10 --fail-if 'p99>1s'", f"--rate 10 --fail-if 'p99>1s' -n 200 -c 50 {HEY}"),
        ("hey --ramp 0-9:3s", f"--ramp 0-9:3s {HEY}"),
        ("oha", f"-n 200 -c 50 {OHA}"),
        ("oha -n7 -z1m --no-tui", f"-n 7 -z 1m --no-tui -c 7 {OHA}"),
        ("wrk -t4 -c100 -d30s --latency", "-c 100 -z 30s -t 24h"),
        ("wrk --threads=3 --connections 10 --timeout 1s", "-c 9 -z 10s -t 24h"),
        ("wrk2 -R2000 -L", "--rate 2000 --arrivals even -z 10s -c 10 -t 24h"),
        (
            "ab",
            "-n 1 -c 1 --disable-keepalive -t 30s -H 'Accept: */*' -H 'Connection: close'",
        ),
        ("ab -kc 5 -n20", "-c 5 -n 20 -t 30s -H 'Accept: */*'"),
        ("ab -k -t 7", "-z 7 -n 50000 -c 1 -t 30s -H 'Accept: */*'"),
        ("ab -kl -t 7 -n 9 -s 2 -q", "-z 7 -n 9 -t 2 --quiet -c 1 -H 'Accept: */*'"),
        ("ab -k -i -C a=b -A u:p", "-m HEAD -H 'Cookie: a=b' -a u:p -n 1 -c 1 -t 30s -H 'Accept: */*'"),
        ("k6 --vus 3 --duration 2s", "-c 3 --duration 2s -t 60s"),
        ("k6 -u 2 -i 8 --no-connection-reuse", "-c 2 -n 8 --disable-keepalive -t 60s -H 'Connection: close'"),
        ("vegeta", "-q 50 --arrivals even -c 10000 -t 30s -H 'Accept-Encoding: gzip'"),
        (
            "vegeta -rate=30/1m -duration=2s -max-workers 7 -keepalive=false",
            "--rate 0.5 --arrivals even -z 2s -c 7 --disable-keepalive -t 30s -H 'Accept-Encoding: gzip' "
            "-H 'Connection: close'",
        ),
        ("bombardier -a -l -r 10", "--rate 10 --arrivals even -z 10s -c 125 -t 2s"),
        ("bombardier -n 3", "-n 3 -c 3 -t 2s"),
        (
            "autocannon -d 3 -r 5 -H a=b",
            "-z 3 --rate 50 --arrivals even -H 'a: b' -c 10 -t 10s -H 'Connection: keep-alive'",
        ),
        ("autocannon -a 5 -d 3 -c 5 -n", "-n 5 -c 5 -t 10s -H 'Connection: keep-alive'"),
        ("h2load -n9 -c3 -t2", "-n 9 -c 3 -t 24h"),
        ("h2load -n9 -D 2 --rps 4 -c3", "-z 2 --rate 12 --arrivals even -c 3 -t 24h"),
    ],
)  # fmt: skip
def test_a_command_becomes_crumples_own(typed: str, meant: str) -> None:
    assert words(typed) == meant


def test_each_tool_without_a_flag_is_a_load_that_can_be_planned(call: Call, plans: list[LoadPlan]) -> None:
    for name in TOOLS:
        needs = ["-R", "10"] if name == "wrk2" else []
        assert call("load", "--like", name, *needs, URL)[0] == 0, name
    assert len(plans) == len(TOOLS)


def test_what_is_planned_is_what_was_likened(call: Call, plans: list[LoadPlan]) -> None:
    code, _, said = call("load", "--like=hey", "-c", "30", URL)
    spec = plans[0].spec
    assert code == 0 and spec.stop == contract.RequestsStopSpec(requests=180, within_s=3600)
    assert dict(spec.requests[0].headers)["Accept-Encoding"] == "gzip"
    # The command that a result names is the one that was measured.
    assert sys.argv[1:4] == ["load", URL, "-c"] and "--like" not in sys.argv
    assert said.splitlines() == notes("hey -c 30")


def test_what_it_is_and_what_differs_is_said_in_a_line_each() -> None:
    assert notes("hey -a me:secret") == [
        f"as hey asks: crumple load {URL} -a 'me:…' -n 200 -c 50 -t 20s -H 'Content-Type: text/html' "
        "-H 'Accept-Encoding: gzip'",
        "hey does otherwise: it names itself hey in User-Agent, follows up to 10 redirects, gives each "
        "connection the same number of requests, counts no status as failed",
    ]
    (_, otherwise) = notes("hey -z 3s -q 1 -U me", "https://localhost:1/")
    assert otherwise == (
        "hey does otherwise: it follows up to 10 redirects, takes any certificate (--insecure), waits at the "
        "end for what is in flight, waits for answers before it keeps to the rate, counts no status as failed"
    )
    assert notes("wrk --quiet") == []
    assert "speaks HTTP/2" in notes("vegeta -duration 1s", "https://localhost:1/")[1]


@pytest.mark.parametrize("verb", ["find", "versus", "diagnose"])
def test_other_commands_get_what_concerns_a_request(verb: str) -> None:
    timeout = {"find": "-t 20s ", "versus": "-t 20s ", "diagnose": ""}[verb]
    assert words("hey", verb) == f"{timeout}-H 'Content-Type: text/html' -H 'Accept-Encoding: gzip'"


def test_their_flags_are_crumples(call: Call) -> None:
    # -c of find is the most connections, and hey's -z does not exist.
    assert words("hey -c 9 --budget 20s", "find").startswith("-c 9 --budget 20s ")
    code, _, said = call("find", "--like", "hey", "-z", "3s", URL)
    assert code == 2 and said.startswith("as hey asks") and "No such option: -z" in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("jmeter", "--like jmeter: that tool is not known; write one of wrk, wrk2, ab, hey, oha, k6, vegeta"),
        ("hey -h2", "--like hey: -h2 cannot be taken over; crumple speaks HTTP/1.1 only"),
        ("hey -o csv", "--like hey: -o cannot be taken over; write --csv FILE"),
        ("hey -q ten", "-q ten: that is no number; write 100, for instance"),
        ("wrk -s a.lua", "--like wrk: -s cannot be taken over; write --request-file FILE"),
        ("wrk2", "--like wrk2: wrk2 needs a rate; write -R PER_S"),
        ("vegeta -rate=0 -max-workers 9", "-rate 0: that is no rate that has an end; write 50/1s"),
        ("vegeta -duration 0", "-duration 0: a load has an end; write -duration 30s, for instance"),
        ("k6 run --vus 3 script.js", "--like k6: script.js is a script, and none is run; write the URL"),
        ("autocannon -H a", "-H a: that is no header; write NAME=VALUE"),
        ("ab -kZ x", "--like ab: -Z cannot be taken over; TLS 1.2 or 1.3 is agreed on with"),
        ("ab -kN", "-kN: ab has no -N; write each flag by itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_over_is_refused_in_a_line(typed: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        words(typed)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


@pytest.mark.parametrize("typed", ["vegeta attack -duration 1s", "k6 run -d 1s"])
def test_the_word_behind_the_name_of_a_tool_is_left_out(typed: str) -> None:
    first, second, *others = typed.split()
    assert words(typed) == words(shlex.join([first, *others])) and second not in words(typed)


def test_a_flag_without_its_value_is_refused() -> None:
    with pytest.raises(UsageError, match="-c needs a value; write it behind the flag"):
        like.translate(["load", URL, "--like", "wrk", "-c"], cli.saved_kinds("load"))


@pytest.mark.parametrize(
    "typed", [["load", URL], ["load", "--", "--like", "hey"], ["list", "--like", "hey"], []]
)
def test_a_command_without_it_is_left_alone(typed: list[str]) -> None:
    assert like.translate(typed, cli.saved_kinds("load")) is None


def test_a_command_of_curl_keeps_its_headers() -> None:
    assert words("hey --curl 'curl x'") == "--curl 'curl x' -n 200 -c 50 -t 20s"


def test_what_is_saved_are_crumples_own_flags(
    monkeypatch: pytest.MonkeyPatch, call: Call, plans: list[LoadPlan]
) -> None:
    from crumple.commands import load, saving

    monkeypatch.setattr(load, "put_on", lambda url, flags: saving.save("load", flags, [url]))
    assert call("load", "--like", "wrk", "-c9", URL, "--save", "a.toml")[0] == 0
    saved = tomllib.loads(Path("a.toml").read_text())
    assert (saved["connections"], saved["duration"], saved["timeout"]) == (
        8,
        "10s",
        "24h",
    ) and "like" not in saved


def test_the_help_names_every_tool(call: Call) -> None:
    said = " ".join(call("load", "--help")[1].split())
    assert all(name in said.split("--like TOOL")[1].split("--curl")[0] for name in TOOLS)
