"""crumple import: each format becomes a request file that `load` takes, and what is left out is said."""

import gzip
import io
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller
from crumple.errors import UsageError
from crumple.importing import conversion, json_values, source, tally
from crumple.importing.conversion import Converted
from crumple.importing.import_progress import ImportProgress
from crumple.load import request, request_file
from crumple.load.typed_request import TypedRequest
from rich.console import Console

URL = "http://shop.example.org"
LOG = '10.0.0.1 - - [21/Nov/2026:06:30:00 +0000] "{} HTTP/1.1" {} 512{}\n'


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys, "import")


def asked(method: str, url: str, status: int = 200, **more: Any) -> dict[str, Any]:
    return {"request": {"method": method, "url": url, "headers": [], **more}, "response": {"status": status}}


def har(*entries: dict[str, Any]) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": entries}})


def of(text: str | bytes, folder: Path, host: str | None = None, most: int = 100) -> Converted:
    file = folder / "recorded"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return conversion.convert(file, None, host, most)


def meant(found: Converted, folder: Path) -> list[tuple[int, str, str, str | None]]:
    """Weight, method, path and body of the requests, as `load` reads the request file."""
    read = []
    for name, text in (("read.toml", found.toml("read.toml")), ("read.json", found.json())):
        (folder / name).write_text(text)
        requests = request.make_all(request_file.read(folder / name, TypedRequest(path="/")))
        read.append([(each.weight, each.method, each.path, each.body) for each in requests])
    assert read[0] == read[1]
    return read[0]


def test_the_command_to_paste_runs_nothing_else(tmp_path: Path) -> None:
    command = of(har(asked("GET", URL)), tmp_path).command("my $file.toml")
    assert shlex.split(command) == ["crumple", "load", URL, "--request-file", "my $file.toml"]
    assert "'my $file.toml'" in command


@pytest.mark.parametrize(
    "host",
    [
        "a;touch owned",
        "a b",
        "$(id)",
        "a..b",
        "-a",
        "a" * 64,
        "1.2.3.999",
        "a|b",
        "é" * 80,
        "%61",
        "[::1%25;id]",
    ],
)
def test_a_host_that_is_neither_a_name_nor_an_address_is_left_out(host: str, tmp_path: Path) -> None:
    found = of(har(asked("GET", f"http://{host}/"), *[asked("GET", URL)] * 2), tmp_path)
    assert found.chosen.origin == URL
    assert "left out: 1 request to a host that is neither a name nor an address, first GET" in found.said[1]


@pytest.mark.parametrize(
    "host",
    [
        "a",
        "a.example.org.",
        "my_service",
        "127.1",
        "192.0.2.1",
        "[::1]",
        "[fe80::1%25eth0]",
        "bücher.example",
        "9a",
    ],
)
def test_names_and_addresses_are_hosts(host: str, tmp_path: Path) -> None:
    assert of(har(asked("GET", f"http://{host}:81/")), tmp_path).chosen.origin == f"http://{host}:81"


def test_a_log_whose_host_is_none_says_so(tmp_path: Path) -> None:
    text = "a;b:80 " + LOG.format("GET /a", 200, "") + "c:80 " + LOG.format("GET /b", 200, "")
    found = of(text, tmp_path)
    assert found.chosen.origin == "http://c"
    assert found.said[1] == (
        "left out: 1 request to a host that is neither a name nor an address, first GET a;b:80/a"
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"headers": 5},
        {"headers": [5, {"name": ["a"], "value": {"b": 1}}]},
        {"cookies": 3},
        {"bodySize": "x"},
        {"postData": [1]},
        {"postData": {"mimeType": 7, "params": 5, "text": {}}, "bodySize": None},
        {"postData": {"mimeType": "application/x-www-form-urlencoded", "params": 5}},
    ],
)
def test_parts_of_a_har_that_are_of_another_type_are_taken_for_absent(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    found = of(har(asked("GET", f"{URL}/"), asked("POST", f"{URL}/b", **changed)), tmp_path)
    assert found.chosen.kinds[0].request.path == "/"
    rest = [each.request.headers for each in found.chosen.kinds[1:]]
    assert rest in ([], [()]) and (rest or "whose body was not recorded" in found.said[1])


@pytest.mark.parametrize("status", ["1e400", "NaN", "Infinity", "1" * 5_000, '"x"', "[]", "1e300", "true"])
def test_a_status_that_is_none_is_no_status(status: str, tmp_path: Path) -> None:
    text = har(asked("GET", f"{URL}/", 301)).replace("301", status)
    try:
        found = of(text, tmp_path)
    except UsageError as why:
        assert "is cut off or no JSON behind no requests" in str(why) and "\n" not in str(why)
    else:
        assert [each.expect_status for each in found.chosen.kinds] == [None]


@pytest.mark.parametrize("found", [float("inf"), float("nan"), "5", [5], None])
def test_what_is_no_number_counts_as_none(found: Any) -> None:
    assert json_values.whole(found) == 0
    assert json_values.whole(2.9) == 2 and json_values.whole(10**400) == 10**400


@pytest.mark.parametrize(
    "line",
    [
        {"url": URL, "header": {"a": [1, 2]}},
        {"url": URL, "header": {"a": 1}},
        {"url": URL, "header": {"a": {"b": "c"}}},
        {"url": URL, "header": [1]},
        {"url": URL, "method": {"a": 1}},
        {"url": 5},
        {"url": URL, "body": 5},
    ],
)
def test_a_target_of_other_types_is_named_by_its_line(line: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 2 is no target; write"):
        of(f'{{"url": "{URL}"}}\n{json.dumps(line)}\n', tmp_path)


def test_a_har_becomes_requests_with_their_numbers_as_weights(tmp_path: Path) -> None:
    sent = {"mimeType": "application/json", "text": '{"item": 1,\n "by": "me"}'}
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1 2"}]}
    text = har(
        *[asked("GET", f"{URL}/")] * 3,
        asked("POST", f"{URL}/orders", 201, postData=sent),
        asked("POST", f"{URL}/form", postData=form),
        asked("GET", f"{URL}/old?a=b", 301),
    )
    found = of(text, tmp_path)
    assert meant(found, tmp_path) == [
        (3, "GET", "/", None),
        (1, "POST", "/orders", sent["text"]),
        (1, "POST", "/form", "a=1+2"),
        (1, "GET", "/old?a=b", None),
    ]
    assert [each.expect_status for each in found.chosen.kinds] == [None, None, None, 301]
    assert found.said == ("recorded (har): 6 of 6 requests, 4 different ones",)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (asked("GET", "wss://shop.example.org/live"), "to open a WebSocket"),
        (asked("GET", "data:text/plain,a"), "to data: instead of http:"),
        (asked("POST", f"{URL}/up", postData={"mimeType": "multipart/form-data; boundary=x"}), "multipart"),
        (asked("POST", f"{URL}/b", postData={"mimeType": "a/b", "text": "\x00\x01"}), "with a binary body"),
        (asked("POST", f"{URL}/b", postData={"mimeType": "a/b", "text": "a\ufffd"}), "with a binary body"),
        (
            asked("POST", f"{URL}/b", postData={"mimeType": "a/b", "text": "AAEC", "encoding": "base64"}),
            "with a binary body",
        ),
        (
            asked(
                "POST",
                f"{URL}/z",
                headers=[{"name": "content-encoding", "value": "gzip"}],
                postData={"mimeType": "a/b", "text": "x"},
            ),
            "with a compressed body",
        ),
        (asked("POST", f"{URL}/gone", bodySize=30), "whose body was not recorded"),
        (asked("POST", f"{URL}/b", postData={"mimeType": "a/b", "text": "{seq}"}), "such as {seq}"),
        (asked("GET", f"{URL}/x") | {"_fromCache": "disk"}, "from its cache"),
        (asked("CONNECT", f"{URL}/x"), "to open a tunnel (CONNECT)"),
        (asked("G@T", f"{URL}/x"), "with a method that no load sends"),
        (asked("GET", "http://[::/x"), "without a URL that can be read"),
        ({"request": {}}, "without a method or a URL"),
    ],
)
def test_what_cannot_be_repeated_is_left_out_and_named(
    entry: dict[str, Any], said: str, tmp_path: Path
) -> None:
    found = of(har(asked("GET", f"{URL}/"), entry), tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/"]
    total, *left_out = found.said
    assert total.endswith("1 of 2 requests")
    assert len(left_out) == 1 and left_out[0].startswith("left out: 1 request ") and said in left_out[0]


def test_secrets_and_what_one_client_had_are_no_headers_of_the_file(tmp_path: Path) -> None:
    headers = {
        ":authority": "shop.example.org",
        "cookie": "sid=8a7f6e",
        "authorization": "Bearer abc",
        "x-api-key": "verysecret",
        "if-none-match": '"a1"',
        "user-agent": "Mozilla/5.0",
        "accept": "text/html",
        "x-kept": "yes",
    }
    entry = asked("GET", f"{URL}/", headers=[{"name": name, "value": said} for name, said in headers.items()])
    found = of(har(entry), tmp_path)
    assert found.chosen.kinds[0].request.headers == (("accept", "text/html"), ("x-kept", "yes"))
    for secret in ("8a7f6e", "abc", "verysecret", "a1"):
        assert secret not in found.toml("x.toml") + found.json()
    (line,) = found.said[1:]
    assert [name in line for name in ("Cookie", "Authorization", "X-Api-Key", "If-None-Match")] == [True] * 4
    assert "User-Agent" not in line


def test_a_path_from_a_stranger_is_sent_as_it_is(tmp_path: Path) -> None:
    found = of(har(asked("GET", f"{URL}/a?b={{line:/etc/passwd}}&c={{d}}")), tmp_path)
    (sent,) = meant(found, tmp_path)
    assert sent[2] == "/a?b=%7Bline%3A%2Fetc%2Fpasswd%7D&c={d}"


def test_of_several_hosts_the_most_frequent_or_the_one_named(tmp_path: Path) -> None:
    text = har(*[asked("GET", f"{URL}:8080/")] * 2, *[asked("GET", "https://cdn.example.org/a.js")] * 3)
    found = of(text, tmp_path)
    assert found.chosen.origin == "https://cdn.example.org"
    assert found.said[1:] == (
        "left out: 2 requests to other hosts; choose one with --host, first shop.example.org:8080 (2)",
    )
    for name in ("shop.example.org", "shop.example.org:8080", f"{URL}:8080"):
        assert of(text, tmp_path, host=name).chosen.origin == f"{URL}:8080"
    with pytest.raises(UsageError) as wrong:
        of(text, tmp_path, host="shop.example.com")
    assert str(wrong.value) == (
        "no request goes to shop.example.com; "
        "there are requests to cdn.example.org (3), shop.example.org:8080 (2)"
    )


@pytest.mark.parametrize("cut", [1, 60, 150, 340])
def test_a_har_that_is_cut_off_is_refused_in_a_sentence(cut: int, call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.har").write_text(har(*[asked("GET", f"{URL}/")] * 3)[:cut])
    code, out, err = call("a.har", "--from", "har", "--out", "a.toml")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("a.har: is cut off or no JSON behind ") and err.endswith("; save it again\n")
    assert not (tmp_path / "a.toml").exists()


def test_an_access_log_gives_paths_and_leaves_out_what_it_does_not_hold(tmp_path: Path) -> None:
    combined = ' "-" "curl/8.0 (a \\"b\\")"'
    text = "".join(
        [
            LOG.format("GET /", 200, "") * 4,
            LOG.format("GET /a?b=\\x22c", 200, combined) * 2,
            LOG.format("GET /gone", 404, combined),
            LOG.format("POST /orders", 201, combined),
            '10.0.0.1 - - [21/Nov/2026:06:30:00 +0000] "\\x16\\x03\\x01" 400 0\n',
            "torn off in the mid\n",
        ]
    )
    found = of(text, tmp_path)
    assert meant(found, tmp_path) == [
        (4, "GET", "/", None),
        (2, "GET", "/a?b=%22c", None),
        (1, "GET", "/gone", None),
    ]
    assert [each.expect_status for each in found.chosen.kinds] == [None, None, 404]
    assert found.said == (
        "recorded (access-log): 7 of 10 requests, 3 different ones",
        "left out: 1 request whose body a log does not hold, first POST in line 8",
        "left out: 1 request other than HTTP, first line 9",
        "left out: 1 request in lines without an entry of a log, first line 10",
    )


def test_an_access_log_with_hosts_knows_them(tmp_path: Path) -> None:
    found = of("shop.example.org:443 " + LOG.format("GET /", 200, ""), tmp_path)
    assert found.chosen.origin == "https://shop.example.org"


def test_a_list_of_urls(tmp_path: Path) -> None:
    found = of(f"# mine\n{URL}/a\n\n{URL}/b?c\n{URL}/a#top\n", tmp_path)
    assert meant(found, tmp_path) == [(2, "GET", "/a", None), (1, "GET", "/b?c", None)]
    assert of("/a\n/b\n", tmp_path).chosen.origin == ""
    with pytest.raises(UsageError, match=r"line 2 holds more than a URL; write one URL on each line"):
        of(f"{URL}/a\n{URL}/b c\n", tmp_path)


def test_a_host_may_be_left_out_before_a_port(call: Call, tmp_path: Path) -> None:
    for number, text in enumerate(("GET http://:8080/v1\n", "http://:8080/v1\n", ":8080/v1\n")):
        (tmp_path / f"t{number}").write_text(text)
        code, out, err = call(f"t{number}")
        assert code == 0 and 'path = "/v1"' in out
        assert err.splitlines()[-1] == "next: crumple load http://localhost:8080 --request-file FILE"


def test_targets_of_vegeta_as_text_and_as_json(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text("{}")
    text = (
        f"GET {URL}/a\nX-Kept: 1\n\n# more\nPOST {URL}/b\nContent-Type: text/plain\n@{tmp_path}/body.json\n"
    )
    found = of(text, tmp_path)
    assert meant(found, tmp_path) == [(1, "GET", "/a", None), (1, "POST", "/b", None)]
    assert [each.request.body_file for each in found.chosen.kinds] == [None, f"{tmp_path}/body.json"]
    lines = [
        {"method": "GET", "url": f"{URL}/a", "header": {"X-Kept": ["1", "2"]}},
        {"method": "POST", "url": f"{URL}/b", "body": "aGk="},
    ]
    found = of("\n".join(map(json.dumps, lines)), tmp_path)
    assert meant(found, tmp_path) == [(1, "GET", "/a", None), (1, "POST", "/b", "hi")]
    assert found.chosen.kinds[0].request.headers == (("X-Kept", "1, 2"),)
    for wrong, line in ((f"GET {URL}/a\nnonsense\n", 2), (f'{{"url": "{URL}"}}\n[1]\n', 2)):
        with pytest.raises(UsageError, match=f"line {line} is"):
            of(wrong, tmp_path)


def test_the_file_may_be_compressed_begin_with_a_mark_and_come_from_stdin(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = f"\ufeff{URL}/a\n".encode()
    assert of(text, tmp_path).chosen.kinds[0].request.path == "/a"
    assert of(gzip.compress(text), tmp_path).chosen.kinds[0].request.path == "/a"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, err = call("-", "--json")
    assert code == 0 and json.loads(out) == {"requests": [{"path": "/a", "weight": 1}]}
    assert err.splitlines()[-1] == f"next: crumple load {URL} --request-file FILE"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; name a file with requests"),
        (b"\x89PNG\x00\x00", "is no text; name a file with requests"),
        ("http://a/".encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (gzip.compress(b"http://a/" * 99, mtime=0)[:30], "is cut off or no gzip; decompress it with gunzip"),
        (b"hello world\n", "has no format that is recognised; say what it is: --from har, openapi,"),
        (b'{"a": 1}', 'has no format that is recognised (JSON with "a"); say what it is: --from har,'),
        (b'{"log": {"entries": []}}', "holds no request that can be repeated"),
        (b'{"log": {"entries": [3]}}', "holds no request that can be repeated"),
    ],
)
def test_a_file_that_holds_nothing_of_use_is_a_sentence(
    content: bytes, said: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(content)
    code, out, err = call("file")
    assert (code, out) == (2, "") and err.startswith(f"file: {said}") and err.count("\n") == 1


def test_wrong_flags_are_sentences(call: Call, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text(f"{URL}/\n")
    (tmp_path / "there.toml").write_text("# with weights")
    for flags, said in (
        (["nowhere"], "nowhere: does not exist; check the path"),
        (
            ["urls", "--out", "there.toml"],
            "--out there.toml: there is such a file already; name another file, or remove it first",
        ),
        (["urls", "--from", "hra"], '--from hra: no format is called "hra"; did you mean har?'),
        (["urls", "--most", "0"], "--most 0: a load takes 1 to 10,000 different requests; write 100"),
        (["urls", "--out", "urls"], "--out urls: that is the file to import; name another file"),
        (["."], ".: cannot be read: Is a directory; check the path"),
    ):
        assert call(*flags) == (2, "", f"{said}\n")


def test_the_rarest_are_left_out_and_counted(tmp_path: Path) -> None:
    text = f"{URL}/a\n" * 3 + f"{URL}/b\n{URL}/c\n"
    found = of(text, tmp_path, most=1)
    assert found.said[1:] == ("left out: 2 requests of 2 kinds rarer than the first 1 (--most)",)


def test_memory_is_bounded_by_the_kinds_that_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tally, "KINDS_MAX", 2)
    found = of("".join(f"{URL}/{number}\n" for number in range(5)), tmp_path)
    assert len(found.chosen.kinds) == 2
    assert found.said[1] == "left out: 3 requests beyond 2 different ones or 64 MiB of them"


@pytest.mark.long
def test_weights_fit_into_the_engines_deck(tmp_path: Path) -> None:
    text = f"{URL}/a\n" * 99_991 + f"{URL}/b\n" * 49_999 + f"{URL}/c\n"
    weights = [each.weight for each in of(text, tmp_path).chosen.kinds]
    assert sum(weights) <= tally.WEIGHTS_MAX and weights[2] == 1
    assert weights[0] / weights[1] == pytest.approx(99_991 / 49_999, rel=0.001)


@pytest.mark.long
def test_answers_of_any_length_take_no_memory_and_long_bodies_are_named(tmp_path: Path) -> None:
    long = 'abcd"\\é\n' * (1 << 19)
    answered = asked("GET", f"{URL}/")
    answered["response"]["content"] = {"text": long}
    found = of(har(answered, asked("POST", f"{URL}/b", postData={"mimeType": "a/b", "text": long})), tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/"]
    assert found.said[1:] == (f"left out: 1 request with a body of more than 256 KiB, first POST {URL}/b",)


class _Clock:
    """A clock that a test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_after_a_second_it_shows_how_much_is_read_and_the_time_left() -> None:
    clock = _Clock()
    seen = ImportProgress(1 << 30, clock=clock)
    seen.read(1 << 20)
    clock.now_s = 0.9
    assert seen.line().plain == ""
    seen.read(255 << 20)
    clock.now_s = 20.0
    assert seen.line().plain == "256 MiB of 1.00 GiB read  (1:00 left)"
    seen.read(768 << 20)
    clock.now_s = 81.0
    assert seen.line().plain == "1.00 GiB read, working out the requests  (1:21 so far)"
    seen = ImportProgress(None, clock=clock)
    seen.read(1 << 20)
    clock.now_s = 90.0
    assert seen.line().plain == "1.00 MiB read  (0:09 so far)"


@pytest.mark.long
@pytest.mark.parametrize("packed", [False, True])
def test_every_byte_of_the_file_is_told_also_of_a_compressed_one(packed: bool, tmp_path: Path) -> None:
    text = "".join(LOG.format(f"GET /{number}", 200, "") for number in range(5_000)).encode()
    (tmp_path / "a.log").write_bytes(gzip.compress(text) if packed else text)
    told: list[int] = []
    conversion.convert(tmp_path / "a.log", None, None, 10, told.append)
    assert sum(told) == source.bytes_of(tmp_path / "a.log") == (tmp_path / "a.log").stat().st_size
    assert source.bytes_of(Path("-")) is None


def test_on_a_terminal_the_progress_is_drawn_and_taken_away(tmp_path: Path) -> None:
    clock, out = _Clock(), io.StringIO()
    console = Console(file=out, force_terminal=True, force_interactive=True, width=80)
    with ImportProgress(100, clock=clock, console=console) as seen:
        seen.read(50)
        clock.now_s = 3.0
    assert "50.0 B of 100 B read  (0:03 left)" in out.getvalue()
    assert out.getvalue().rstrip().endswith(("\x1b[?25h", "\x1b[1A\x1b[2K"))
