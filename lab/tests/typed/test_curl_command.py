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
from crumple.load import load_plan
from crumple.load.load_flags import LoadFlags
from crumple.load.load_plan import LoadPlan
from crumple.machine.load_machine import LoadMachine
from crumple.typed import curl_command, curl_here, masked_command
from crumple.typed.curl_here import CurlHere
from crumple.words import masked

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
# Each is sent by curl and by a load. URL: the server's. `test_curl_bytes` has a thousand more.
COMMANDS = [
    CHROME, FIREFOX, SAFARI, POSTMAN,
    "curl -s URL | cat",
    "curl -XDELETE URL -H 'A;' -H 'Accept:' -A ''",
    "curl -X post URL --data-raw @text",
    "curl --data-binary @bytes URL -H 'Content-Type: application/octet-stream'",
    "curl -T bytes URLsub/",
    "curl -G -d a=1 --data-urlencode 'b=c d' 'URL?x=y#z' --url-query n",
    "curl 'http://me:p%40ss@HOST/a/../b?c[]=1'",
    "curl http://shop.localhost:PORT/x?",
    "curl -F a=b -F 'c=@text;type=text/x' -H 'Content-Type: multipart/form-data' --form-string 'd=@e;f' URL",
    "curl -x http://HOST -U a:b --proxy-header 'P: q' http://10.0.0.1/x",
]  # fmt: skip
# What curl writes otherwise: docs/load.md.
OWN = ("content-length", "expect")
HERE = CurlHere("curl/9.9.9", "deflate, gzip")


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

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_post = answer  # noqa: N815

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
    shell = ["bash", "-c", text.removeprefix("$ ")]
    subprocess.run(shell, check=True, capture_output=True, timeout=20)
    if not asked:
        # Beside ten busy programs curl has ended well without a request, once in hundreds of calls.
        subprocess.run(shell, check=True, capture_output=True, timeout=20)
    code, _, said = caller(monkeypatch, capsys, "load")("--curl", text, "-n", "1")
    assert code == 0, said
    by_curl, by_load = (_alike(each) for each in asked)
    assert by_load == by_curl


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan]:
    """The plans that the command makes; no load follows."""
    made: list[LoadPlan] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(curl_here, "installed_curl", lambda: HERE)

    def planned(url: str, flags: LoadFlags, machine: LoadMachine) -> LoadPlan:
        made.append(REAL_PLAN(url, flags, machine))
        raise SystemExit(0)

    monkeypatch.setattr(load_plan, "plan", planned)
    return made


REAL_PLAN: Callable[[str, LoadFlags, LoadMachine], LoadPlan] = load_plan.plan


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
        ("-H bad", 'curl\'s -H "bad": a header has a name and a colon'),
        ("-b none", "curl's -b none: there is no such file of cookies"),
        ("-F 'a=b; c'", "curl's -F a: what follows a semicolon is not sent"),
        ("--url-query q=é --tlsv1.3", "curl's --tlsv1.3: TLS 1.2 or 1.3 is agreed on with the server"),
        ("--url-query +q=é", "the URL holds letters beyond ASCII, which are percent-encoded here"),
    ],
)
def test_what_a_load_does_otherwise_is_noted(
    call: Call, plans: list[LoadPlan], option: str, noted: str
) -> None:
    code, _, said = call("--curl", f"curl {option} {URL}")
    assert (code, said) == (0, f"{noted}\n") and len(plans) == 1


def test_a_version_that_the_server_may_decline_is_noted() -> None:
    assert curl_command.command("curl --http2 https://a/", HERE).notes == (
        "curl's --http2: HTTP/1.1 is spoken",
    )


def test_without_a_curl_the_user_agent_is_crumples(
    call: Call, plans: list[LoadPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curl_here, "installed_curl", CurlHere)
    code, _, said = call("--curl", f"curl {URL}")
    assert (code, said) == (0, "there is no curl here whose name could be sent: User-Agent is crumple's\n")
    assert dict(plans[0].spec.requests[0].headers)["User-Agent"].startswith("crumple/")


def test_a_version_of_curl_says_what_it_sends() -> None:
    said = "curl 7.88.1 (x86_64) libcurl/7.88.1\nProtocols: http\nFeatures: alt-svc brotli libz zstd\n"
    assert curl_here.curl_of_version(said) == CurlHere("curl/7.88.1", "deflate, gzip, br, zstd")
    assert curl_here.curl_of_version("curl 8.0 x\nFeatures: libz") == CurlHere("curl/8.0", "deflate, gzip")
    assert curl_here.curl_of_version("no curl") == CurlHere()


def test_flags_that_give_a_header_replace_that_of_the_command(call: Call, plans: list[LoadPlan]) -> None:
    command = f"curl {URL} -u a:b -A x -H 'Content-Type: c/d' --json 1"
    call("--curl", command, "-U", "me/1", "-A", "e/f", "-T", "g/h", "-a", "i:j", "--host", "k")
    (request,) = plans[0].spec.requests
    sent = [(name, value) for name, value in request.headers]
    assert sorted(sent) == [
        ("Accept", "e/f"),
        ("Authorization", "Basic aTpq"),
        ("Content-Type", "g/h"),
        ("Host", "k"),
        ("User-Agent", "me/1"),
    ]


@pytest.mark.parametrize("verb_flags", [(), ("--debug",)])
def test_variables_are_filled_in_only_with_env(
    call: Call, plans: list[LoadPlan], monkeypatch: pytest.MonkeyPatch, verb_flags: tuple[str, ...]
) -> None:
    monkeypatch.setattr(masked, "_FILLED", set())
    monkeypatch.setenv("WHO", "quiet-word")
    command = f'curl "{URL}of/$WHO?x=$WHO" -H "X-Plain: ${{WHO}}" -d "a $WHO"'
    code, _, said = call("--curl", command, *verb_flags)
    assert code == 2 and said.startswith("--curl: $WHO is a variable of the shell; export WHO and add --env")
    assert call("--curl", command, "--env", *verb_flags)[0] == 0
    (request,) = plans[0].spec.requests
    assert (request.path, request.body) == ("/of/quiet-word?x=quiet-word", "a quiet-word")
    assert "quiet-word" not in json.dumps(masked.spec(plans[0].spec).model_dump(mode="json"))
    assert "quiet-word" not in " ".join(masked_command.arguments(["--curl", command, "--env"]))
    code, _, said = call("--curl", 'curl a -u "$WHO"', "--env")
    assert code == 2 and "quiet-word" not in said and "-u … asks" in said


def test_a_variable_is_a_variable_of_the_saved_file(
    call: Call, plans: list[LoadPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crumple.typed.saved_file import SavedFile

    monkeypatch.setattr(masked, "_FILLED", set())
    monkeypatch.setenv("WHO", "quiet-word")
    found = curl_command.command(f'curl "{URL}$WHO" -H "X-Plain: $WHO"', HERE, {"WHO": "quiet-word"}.get)
    masked.hide(found.secrets)
    saved = SavedFile("load", [found.url], curl_command.beside(LoadFlags(env=True), found, "load"))
    text = saved.text(Path("a.toml"))
    assert "quiet-word" not in text and "${CRUMPLE_X_PLAIN}" in text and "${CRUMPLE_URL}" in text


def _flags(text: str) -> dict[str, Any]:
    flags = curl_command.command(text, HERE).flags
    return {name: value for name, value in flags.items() if name not in ("header", "no_vary")}


PROXY = ["Proxy-Connection: Keep-Alive"]


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ("-k", {"insecure": True}),
        ("-k --cacert ca.pem", {"insecure": True}),
        ("--cacert ca.pem --cert c.pem --key k.pem", {"cacert": "ca.pem", "cert": "c.pem", "key": "k.pem"}),
        ("-x localhost:3128 -U 'me:a@b'", {"proxy": "http://me:a%40b@localhost:3128", "proxy_header": PROXY}),
        ("--proxy http://localhost:3128 --proxy-header 'A: b'",
         {"proxy": "http://localhost:3128", "proxy_header": ["A: b", "Proxy-Connection: Keep-Alive"]}),
        ("-x localhost:3128 --noproxy b.test,.test", {}),
        ("-x localhost:3128 --noproxy b.test,st", {"proxy": "localhost:3128", "proxy_header": PROXY}),
        ("--resolve b.test:443:127.0.0.1 --connect-to :80:c:81", {}),
        ("-m .5 --connect-timeout .25", {"timeout": "0.5", "connect_timeout": "0.25"}),
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
        ("curl", "the command has no URL; copy the whole command"),
        ("curl a b", "the command has 2 URLs; for several requests write --request-file FILE"),
        ("curl ftp://a/", "ftp is not HTTP; only http:// and https:// are loaded"),
        ("curl ftp.a.test", "curl takes a host that begins with ftp. for FTP; write http:// before it"),
        ("curl --http2 a", "curl's --http2 cannot be done; a load speaks HTTP/1.1 only; leave it out"),
        ("curl -0 a", "curl's -0 cannot be done; a load speaks HTTP/1.1 only"),
        ("curl --digest -u a:b c", "curl's --digest cannot be done; a load knows Basic and Bearer"),
        ("curl a --next b", "curl's --next cannot be done; one load has one URL"),
        ("curl -sSK file a", "curl's -K cannot be done; options are not read from a file"),
        ("curl --conf file a", "curl's --conf cannot be done; options are not read from a file"),
        (
            "curl --da x a",
            "curl's --da stands for --data, --data-ascii, --data-binary, --data-raw; write which",
        ),
        (
            "curl --frobnicate a",
            "curl's --frobnicate is not known here; leave it out if the request does not",
        ),
        ("curl --no-request a", "curl's --no-request is not known here"),
        ("curl -§ a", "curl's -§ is not known here"),
        ("curl a -H", "curl's -H lacks its value; copy the whole command"),
        ("curl a -b bytes", "curl's -b bytes names a file of cookies; write the cookies"),
        ("curl a -H 'Host:'", "a request is sent with Host; leave out -H 'Host:'"),
        ("curl a -d abc -H 'Content-Length: 9'", "the body has 3 bytes, and -H says Content-Length: 9"),
        ("curl a -d @-", "curl's --data @- reads stdin; write it to a file, and name that"),
        ("curl a -T -", "curl's -T - sends stdin in chunks; write it to a file, and -T FILE"),
        ("curl a -d @none", "cannot read none: No such file or directory; check the path"),
        ("curl a -d @/dev/zero", "/dev/zero is no file that ends; write what it holds to a file"),
        ("curl a -d @- < /dev/zero", "/dev/zero is no file that ends"),
        (
            "curl a -d b -d @bytes",
            "curl's --data @bytes holds no text; send it alone, with --data-binary @FILE",
        ),
        ("curl a -d b -F c=d", "curl's -d and -F each give a body; keep one of them"),
        ("curl a -I -d b", "curl's -d and -I each give a body"),
        ("curl a -F 'b=c;headers=d'", "a field of a form has no headers here; leave it out"),
        ("curl a -F 'b=@c,d'", "curl's -F b sends several files in one field; name one of them"),
        (
            "curl 'http://a/[1-9]'",
            "[1-9] in the URL stands for several URLs in curl, and one load has one; write the",
        ),
        ("curl 'http://{a,b}/'", "{a,b} in the URL stands for several URLs in curl"),
        (
            "curl 'http://a/?b[c]=d'",
            "curl takes [ in a URL for a part of a pattern, and this is none; add -g",
        ),
        (
            "curl 'http://a/b c'",
            "the URL holds a blank or a control character, with which curl asks nothing; percent",
        ),
        (
            "curl a --request-target b",
            "curl's --request-target b is no path; a load asks for a path, which begins",
        ),
        ("curl -u me a", "curl's -u me asks for the password; write -u me:PASSWORD"),
        ("curl -X '' a", "curl's -X names no method; write -X POST, for instance"),
        ("curl -m soon a", "curl's --max-time soon is no time; write seconds"),
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
        curl_command.command(command, HERE)
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
    for evil in (f"curl {URL} $(touch made)", f"curl {URL} -H `touch made`"):
        assert call("--curl", evil)[0] == 2
    assert plans == []
    code, _, said = call("--curl", f"touch made; curl {URL} > made; touch made")
    assert (code, said) == (0, "left out of the command line: touch ;, >made, ; touch\n") and len(plans) == 1
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("secret", ["-H 'Authorization: Bearer SEKRIT'", "-b sid=SEKRIT", "-u me:SEKRIT",
    "-d pass=SEKRIT", "--json SEKRIT", "--data-raw @SEKRIT", "-F a=SEKRIT", "--form-string a=SEKRIT",
    "-x http://me:SEKRIT@a", "-U me:SEKRIT", "--oauth2-bearer SEKRIT", "--data-urlencode a=SEKRIT",
    "--proxy-header 'X-Api-Key: SEKRIT'", "'http://me:SEKRIT@a/'", "'http://a/?token=SEKRIT'",
    "--url-query token=SEKRIT", "--url-query +token=SEKRIT"])  # fmt: skip
def test_the_command_that_repeats_the_load_has_no_secret(secret: str) -> None:
    for typed in (["--curl", f"curl {secret} http://a/"], [f"--curl=curl {secret} http://a/"]):
        shown = " ".join(masked_command.arguments(typed))
        assert "SEKRIT" not in shown and "…" in shown and "http://a/" in shown


def test_what_stands_around_a_command_is_not_shown() -> None:
    for around in (
        "curl http://a/ -d @- <<< SEKRIT",
        "A=SEKRIT curl http://a/ | x SEKRIT",
        "curl http://a/ <SEKRIT",
    ):
        assert "SEKRIT" not in " ".join(masked_command.arguments(["--curl", around]))


def test_a_command_in_a_file_is_repeated_from_there() -> None:
    assert list(masked_command.arguments(["--curl", "@copied"])) == ["--curl", "@copied"]


def test_the_document_of_a_load_has_no_secret_of_the_command(plans: list[LoadPlan], call: Call) -> None:
    call("--curl", f"curl -u me:SEKRIT -b sid=SEKRIT -d SEKRIT {URL}")
    assert "SEKRIT" not in json.dumps(masked.spec(plans[0].spec).model_dump(mode="json"))


def test_without_a_url_and_a_command_there_is_nothing_to_load() -> None:
    with pytest.raises(UsageError, match="there is no URL"):
        load.put_on(None, LoadFlags())
