"""A command of curl as browsers copy it: a load sends what curl itself sends, or names what it cannot do."""

import json
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import real_engine
from command_line import Call, caller
from crumple.commands import load
from crumple.errors import UsageError
from crumple.load import curl_command, load_plan
from crumple.load.load_flags import LoadFlags
from crumple.load.load_plan import LoadPlan
from crumple.load.report import masked

URL = "http://127.0.0.1:8080/"
CHROME = r"""curl 'URL?q=a%20b&x=\[1\]' \
  -H 'Accept-Language: en-US,en;q=0.9' \
  -H 'Connection: keep-alive' \
  -H 'Content-Type: application/json' \
  -b 'sid=1; theme=dark' \
  -H 'Origin: http://localhost' \
  -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64)' \
  -H 'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"' \
  --data-raw $'{"name":"it\'s caf\u00e9\u0021","n":[{"a":"{seq}"}]}' \
  --compressed \
  --insecure"""
FIREFOX = (
    r"""curl 'URL' --compressed -X POST -H 'User-Agent: Mozilla/5.0' -H 'Accept: */*' """
    r"""-H 'Content-Length: 0' --data-raw ''"""
)
SAFARI = r"""curl 'URL' \
-X 'PUT' \
-H 'Accept: text/html' \
--data-binary '{"a":
 1}'"""
POSTMAN = r"""curl --location --request POST 'URL' --header 'X-Key: 1' \
--data-urlencode 'a=b c&d' --data-urlencode 'e=ü'"""
# Each is sent by curl and by a load. URL: the server's.
COMMANDS = [
    CHROME, FIREFOX, SAFARI, POSTMAN,
    "curl URL",
    "$ curl URL",
    "curl -I URL",
    "curl -XDELETE URL -H 'A;' -H 'Accept:'",
    "curl -sS -d a=1 -d b=2 URL -o /dev/null -w '%{http_code}'",
    "curl -d @text URL --data-raw @text -H 'Content-Type: text/plain'",
    "curl --data-binary @text URL",
    "curl --data-binary @bytes URL -H 'Content-Type: application/octet-stream'",
    "curl -T bytes URL",
    "curl -T bytes URLsub/",
    "curl -G -d a=1 --data-urlencode 'b=c d' 'URL?x=y#z'",
    "curl --json '{\"a\":1}' --json @text URL",
    "curl -u me:s:cret URL",
    "curl -u me:secret -H 'Authorization: Bearer x' URL",
    "curl --oauth2-bearer tok URL",
    "curl 'http://me:p%40ss@HOST/a'",
    "curl -A agent/1 -e 'http://ref/;auto' -r 0-9 URL",
    "curl -b a=b -b 'c=d;' URL",
    "curl --data-urlencode =a+b --data-urlencode name@text --data-urlencode 'x y' URL",
    "curl --connect-to '::HOST' http://other.test/x",
    "curl --resolve other.test:PORT:127.0.0.1 http://other.test:PORT/x",
    "curl -4 -m 5 --connect-timeout 3 -gv 'URL?a={b}[1-3]'",
    "curl -F a=b -F 'c=@text;type=text/x' --form-string 'd=@e;f' URL",
]  # fmt: skip
# What curl writes otherwise: its name, how long the body is, and what it can decompress.
OWN = ("user-agent", "accept-encoding", "content-length", "expect")


@pytest.fixture
def served() -> Iterator[tuple[int, list[tuple[str, dict[str, str], bytes]]]]:
    """A server's port, and what it was asked: the request line, the headers by small letters, the body."""
    asked: list[tuple[str, dict[str, str], bytes]] = []

    class Asked(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.requestline, {n.lower(): v for n, v in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


def _alike(asked: tuple[str, dict[str, str], bytes]) -> tuple[str, dict[str, str], bytes]:
    line, headers, body = asked
    kind, _, boundary = headers.get("content-type", "").partition("; boundary=")
    if boundary:
        headers, body = {**headers, "content-type": kind}, body.replace(boundary.encode(), b"BOUNDARY")
    if "curl/" not in headers["user-agent"] and "crumple/" not in headers["user-agent"]:
        headers = {**headers, "agent": headers["user-agent"]}
    return line, {name: value for name, value in headers.items() if name not in OWN}, body


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("command", COMMANDS)
def test_a_load_sends_what_curl_sends(
    served: tuple[int, list[tuple[str, dict[str, str], bytes]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
) -> None:
    real_engine.used(monkeypatch)
    port, asked = served
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "text").write_text("a=ö\r\nb&c\n")
    (tmp_path / "bytes").write_bytes(b"\0\xff\r\n@")
    host = f"127.0.0.1:{port}"
    text = command.replace("URL", f"http://{host}/").replace("HOST", host).replace("PORT", str(port))
    subprocess.run(["bash", "-c", text.removeprefix("$ ")], check=True, capture_output=True, timeout=20)
    code, _, said = caller(monkeypatch, capsys, "load")("--curl", text, "-n", "1")
    assert code == 0, said
    by_curl, by_load = (_alike(each) for each in asked)
    assert by_load == by_curl
    if "--compressed" in text:
        assert all("gzip" in headers["accept-encoding"] for _, headers, _ in asked)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan]:
    """The plans that the command makes; no load follows."""
    made: list[LoadPlan] = []
    monkeypatch.chdir(tmp_path)

    def planned(url: str, flags: LoadFlags) -> LoadPlan:
        made.append(REAL_PLAN(url, flags))
        raise SystemExit(0)

    monkeypatch.setattr(load_plan, "plan", planned)
    return made


REAL_PLAN: Callable[[str, LoadFlags], LoadPlan] = load_plan.plan


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys, "load")


def test_flags_of_the_load_stand_beside_the_command(call: Call, plans: list[LoadPlan]) -> None:
    command = f"curl '{URL}a' -H 'Authorization: Bearer old' -H 'A: b' -d x"
    assert call("--curl", command, "-c", "3", "--rate", "1k", "-H", "authorization: Bearer new")[0] == 0
    spec = plans[0].spec
    assert spec.shape.connections == 3 and spec.requests[0].path == "/a" and spec.requests[0].method == "POST"
    sent = dict(spec.requests[0].headers)
    assert sent["authorization"] == "Bearer new" and sent["A"] == "b" and "Authorization" not in sent


def test_braces_of_a_command_are_braces(call: Call, plans: list[LoadPlan]) -> None:
    call("--curl", f"curl {URL} -d '{{seq}} {{line:FILE}}'")
    assert plans[0].spec.requests[0].body == "{seq} {line:FILE}" and not plans[0].spec.requests[0].varies


def test_a_command_may_be_in_a_file_or_on_stdin(
    call: Call, plans: list[LoadPlan], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("copied").write_text(f"curl '{URL}' \\\n -X PATCH\n")
    call("--curl", "@copied")
    with Path("copied").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        call("--curl", "-")
    assert [plan.spec.requests[0].method for plan in plans] == ["PATCH", "PATCH"]
    code, _, said = call("--curl", "@none")
    assert (code, said) == (2, "--curl @none: cannot read none: No such file or directory; check the path\n")


@pytest.mark.parametrize(
    ("option", "noted"),
    [
        ("-L", "curl's --location: redirects are not followed"),
        ("--location-trusted", "curl's --location-trusted: redirects are not followed"),
        ("-c jar", "curl's --cookie-jar: cookies of answers are not kept"),
        ("--retry 3", "curl's --retry: a failure is counted, and not repeated"),
    ],
)
def test_what_a_load_does_otherwise_is_noted(
    call: Call, plans: list[LoadPlan], option: str, noted: str
) -> None:
    code, _, said = call("--curl", f"curl {option} {URL}")
    assert (code, said) == (0, f"{noted}\n") and len(plans) == 1


def _flags(text: str) -> dict[str, Any]:
    flags = curl_command.command(text).flags
    return {name: value for name, value in flags.items() if name not in ("header", "no_vary")}


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ("-k", {"insecure": True}),
        ("-k --cacert ca.pem", {"insecure": True}),
        ("--cacert ca.pem --cert c.pem --key k.pem", {"cacert": "ca.pem", "cert": "c.pem", "key": "k.pem"}),
        ("-x localhost:3128 -U 'me:a@b'", {"proxy": "http://me:a%40b@localhost:3128"}),
        ("--proxy http://localhost:3128 --proxy-header 'A: b'",
         {"proxy": "http://localhost:3128", "proxy_header": ["A: b"]}),
        ("-6 -m 0", {"ipv6": True}),
        ("-m 2.5 --connect-timeout 1", {"timeout": "2.5", "connect_timeout": "1"}),
        ("--interface 127.0.0.2", {"source_address": ["127.0.0.2"]}),
        ("--unix-socket /run/s", {"unix_socket": "/run/s"}),
        ("--resolve '*:443:[::1]'", {"connect_to": [":443:[::1]:443"]}),
        ("-H 'Connection: close'", {"disable_keepalive": True}),
        ("--http1.1 --tlsv1.2 -fsSiN#", {}),
    ],
)  # fmt: skip
def test_options_become_flags(options: str, flags: dict[str, Any]) -> None:
    assert _flags(f"curl {options} https://a.test/") == flags


def test_options_about_certificates_say_nothing_of_http() -> None:
    assert _flags("curl -k --cert a http://a.test/") == {}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("wget http://a/", 'a command of curl begins with curl, and this with "wget"; copy the request as'),
        ("", 'a command of curl begins with curl, and this with "nothing"'),
        ("curl", "the command has no URL; copy the whole command"),
        ("curl a b", "the command has 2 URLs; for several requests write --request-file FILE"),
        ("curl --http2 a", "curl's --http2 cannot be done; a load speaks HTTP/1.1 only; leave it out"),
        ("curl -0 a", "curl's -0 cannot be done; a load speaks HTTP/1.1 only"),
        ("curl --digest -u a:b c", "curl's --digest cannot be done; a load knows Basic and Bearer"),
        ("curl a --next b", "curl's --next cannot be done; one load has one URL"),
        ("curl -sSK file a", "curl's -K cannot be done; options are not read from a file"),
        (
            "curl --frobnicate a",
            "curl's --frobnicate is not known here; leave it out if the request does not",
        ),
        ("curl -Q a", "curl's -Q is not known here"),
        ("curl a -H", "curl's -H lacks its value; copy the whole command"),
        ("curl a -b cookies.txt", "curl's -b cookies.txt names a file of cookies; write the cookies"),
        ("curl a -H @headers", "curl's -H @headers names a file of headers; write each with -H"),
        ("curl a -d @-", "curl's --data reads stdin, which has no body here; name a file"),
        ("curl a -d @none", "cannot read none: No such file or directory; check the path"),
        (
            "curl a -d b -d @bytes",
            "curl's --data @bytes holds no text; send it alone, with --data-binary @FILE",
        ),
        ("curl a --data-raw @b", "the body begins with @, which a load takes for a file; put it into a file"),
        ("curl a -d b -F c=d", "curl's -d and -F each give a body; keep one of them"),
        ("curl 'http://a/[1-9]'", "the brackets in the URL stand for several URLs in curl; add -g"),
        ("curl 'http://{a,b}/'", "the brackets in the URL stand for several URLs in curl"),
        (
            "curl --interface eth0 a",
            "curl's --interface eth0 is no address; write an address of this machine",
        ),
        ("curl --resolve a:b a", "curl's --resolve a:b names no address; write HOST:PORT:ADDRESS"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_that_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bytes").write_bytes(b"\xff")
    with pytest.raises(UsageError) as caught:
        curl_command.command(command)
    assert str(caught.value).startswith(f"--curl: {said}") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((URL,), "--curl has a URL of its own, and so has http://127.0.0.1:8080/; leave one of them out"),
        (("-m", "PUT"), "--method is given, and the command of --curl says it, too; leave one of them out"),
        (
            ("--request-file", "r.toml"),
            "--curl and --request-file both say what to ask; leave one of them out",
        ),
    ],
)
def test_what_the_command_says_is_not_said_twice(
    call: Call, plans: list[LoadPlan], typed: tuple[str, ...], said: str
) -> None:
    code, _, line = call("--curl", f"curl -X POST {URL} -d x", *typed)
    assert (code, line, plans) == (2, f"{said}\n", [])


def test_a_remote_server_is_not_loaded_because_curl_would(call: Call, plans: list[LoadPlan]) -> None:
    code, _, line = call("--curl", "curl http://93.184.216.34/")
    assert code == 2 and "is neither a loopback nor a private address" in line and plans == []


def test_nothing_of_a_command_is_executed(call: Call, plans: list[LoadPlan], tmp_path: Path) -> None:
    for evil in (f"curl {URL} $(touch made)", f"curl {URL}; touch made", f"curl {URL} -H `touch made`"):
        assert call("--curl", evil)[0] == 2
    assert not (tmp_path / "made").exists() and plans == []


@pytest.mark.parametrize("secret", ["-H 'Authorization: Bearer SEKRIT'", "-b sid=SEKRIT", "-u me:SEKRIT",
    "-d pass=SEKRIT", "--json SEKRIT", "--data-raw @SEKRIT", "-F a=SEKRIT", "--form-string a=SEKRIT",
    "-x http://me:SEKRIT@a", "-U me:SEKRIT", "--oauth2-bearer SEKRIT", "--data-urlencode a=SEKRIT",
    "--proxy-header 'X-Api-Key: SEKRIT'", "'http://me:SEKRIT@a/'", "'http://a/?token=SEKRIT'"])  # fmt: skip
def test_the_command_that_repeats_the_load_has_no_secret(secret: str) -> None:
    for typed in (["--curl", f"curl {secret} http://a/"], [f"--curl=curl {secret} http://a/"]):
        shown = " ".join(masked.arguments(typed))
        assert "SEKRIT" not in shown and "…" in shown and "http://a/" in shown


def test_a_command_in_a_file_is_repeated_from_there() -> None:
    assert list(masked.arguments(["--curl", "@copied"])) == ["--curl", "@copied"]


def test_the_document_of_a_load_has_no_secret_of_the_command(plans: list[LoadPlan], call: Call) -> None:
    call("--curl", f"curl -u me:SEKRIT -b sid=SEKRIT -d SEKRIT {URL}")
    assert "SEKRIT" not in json.dumps(masked.spec(plans[0].spec).model_dump(mode="json"))


def test_without_a_url_and_a_command_there_is_nothing_to_load() -> None:
    with pytest.raises(UsageError, match="there is no URL"):
        load.put_on(None, LoadFlags())
