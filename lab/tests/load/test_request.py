"""Requests from flags and from a file; every mistake is reported before any request is sent."""

import hashlib
import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from crumple.contract import ExpectSpec, RequestSpec
from crumple.errors import FileInvalid, UsageError
from crumple.load import header_lines, request, request_file, varying
from crumple.load.typed_request import TypedRequest
from hypothesis import given
from hypothesis import strategies as st

AGENT = ("User-Agent", f"crumple/{metadata.version('crumple')}")
ANY = ExpectSpec(status=None, body_bytes=None, body_sha256=None, hash_one_in=0)
SHA256 = hashlib.sha256(b"Hello").hexdigest()


def _plain(**changes: Any) -> RequestSpec:
    return RequestSpec(method="GET", path="/", headers=(AGENT,), expect=ANY).model_copy(update=changes)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({}, _plain()),
        ({"method": "delete"}, _plain(method="DELETE")),
        ({"body": "x"}, _plain(method="POST", body="x")),
        ({"body": ""}, _plain(method="POST", body="")),
        ({"body": "x", "method": "GET"}, _plain(body="x")),
        (
            {"content_type": "text/plain", "accept": "*/*"},
            _plain(headers=(("Content-Type", "text/plain"), ("Accept", "*/*"), AGENT)),
        ),
        (
            {"headers": [("User-agent", "me"), ("X", "1"), ("X", "2")]},
            _plain(headers=(("User-agent", "me"), ("X", "1"), ("X", "2"))),
        ),
        (
            {"headers": [("Connection", "keep-alive"), ("Host", "other")]},
            _plain(headers=(("Connection", "keep-alive"), ("Host", "other"), AGENT)),
        ),
        (
            {"expect_status": 404},
            _plain(expect=ExpectSpec(status=404, body_bytes=None, body_sha256=None, hash_one_in=0)),
        ),
        ({"expect_status": "2xx"}, _plain()),
        (
            {"expect_status": "404"},
            _plain(expect=ExpectSpec(status=404, body_bytes=None, body_sha256=None, hash_one_in=0)),
        ),
        (
            {"expect_body": "Hello"},
            _plain(expect=ExpectSpec(status=None, body_bytes=5, body_sha256=SHA256, hash_one_in=64)),
        ),
        ({"path": "/{seq}"}, _plain(path="/{seq}", varies=True)),
        ({"path": "/{id}"}, _plain(path="/{id}")),
        (
            {"headers": [("Id", "{random:1-1000}")]},
            _plain(headers=(("Id", "{random:1-1000}"), AGENT), varies=True),
        ),
        ({"body": '{"n": {seq}}'}, _plain(method="POST", body='{{"n": {seq}}', varies=True)),
        (
            {"path": "/{id}/{seq}", "headers": [("A", "{b}")], "body": "{c}"},
            _plain(
                method="POST", path="/{{id}/{seq}", headers=(("A", "{{b}"), AGENT), body="{{c}", varies=True
            ),
        ),
    ],
)
def test_the_request_that_flags_make(written: dict[str, Any], meant: RequestSpec) -> None:
    assert request.make(TypedRequest(**{"path": "/", **written})) == meant


def test_files_are_checked_and_named_by_their_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body").write_bytes(b"\xff\x00")
    (tmp_path / "answer").write_bytes(b"Hello")
    monkeypatch.chdir(tmp_path)
    meant = request.make(TypedRequest(path="/", body_file="body", expect_body="@answer"))
    assert meant == _plain(
        method="POST",
        body_file=str(tmp_path / "body"),
        expect=ExpectSpec(status=None, body_bytes=5, body_sha256=SHA256, hash_one_in=64),
    )


def test_with_no_vary_braces_are_sent_as_they_are() -> None:
    assert not request.make(TypedRequest(path="/{seq}{random:x}"), literal=True).varies


def test_with_no_vary_a_method_is_sent_as_it_is() -> None:
    assert request.make(TypedRequest(path="/", method="Purge"), literal=True).method == "Purge"
    assert request.make(TypedRequest(path="/", method="Purge")).method == "PURGE"


def test_a_request_may_name_nobody() -> None:
    assert request.make(TypedRequest(path="/", names_itself=False)).headers == ()


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ({"method": "G ET"}, "G ET is no HTTP method; write GET or POST, for instance"),
        (
            {"body": "x", "body_file": "/dev/null"},
            "a body and a body file are both given; leave one of them out",
        ),
        (
            {"body_file": "/no/such"},
            "cannot read the body file /no/such: No such file or directory; check the path",
        ),
        ({"body_file": "/"}, "cannot read the body file /: Is a directory; check the path"),
        (
            {"expect_body": "@/no/such"},
            "cannot read the expected body /no/such: No such file or directory; check the path",
        ),
        ({"expect_status": 99}, "no answer has the status 99; expect one from 200 to 599"),
        ({"expect_status": "3xx"}, "the status 3xx cannot be expected; write one, such as 404, or 2xx"),
        ({"expect_status": "-1"}, "the status -1 cannot be expected; write one, such as 404, or 2xx"),
        ({"expect_status": 100}, "no answer has the status 100; expect one from 200 to 599"),
        (
            {"method": "HEAD", "expect_body": "x"},
            "an answer to HEAD has no body; leave out the expected body",
        ),
        (
            {"accept": "a", "headers": [("ACCEPT", "b")]},
            "Accept is given twice, by its flag and as a header; leave one of them out",
        ),
        ({"headers": [("a b", "c")]}, '"a b" is no name of a header; write letters, digits and hyphens'),
        (
            {"headers": [("A", "b\r\nC: d")]},
            "the header A holds a control character; take line breaks out of it",
        ),
        (
            {"headers": [("Content-length", "5")]},
            "the header Content-length cannot be given; the engine writes it from the body; leave it out",
        ),
        (
            {"headers": [("Connection", "close")]},
            "the header Connection: close asks the server to close; add --disable-keepalive",
        ),
        ({"body": "\udcff"}, r"\udcff is not UTF-8; put such a body into a file: -D FILE"),
        (
            {"path": "/{random}"},
            "{random}: a random number needs its ends; write {random:1-1000}, or add --no-vary to send it as "
            "it is",
        ),
    ],
)
def test_invalid_requests_are_refused(written: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        request.make(TypedRequest(**{"path": "/", **written}))
    assert str(caught.value) == line


def test_connection_close_needs_a_connection_per_request() -> None:
    written = TypedRequest(path="/", headers=[("Connection", "close")])
    assert ("Connection", "close") in request.make(written, per_request=True).headers


@pytest.mark.parametrize(
    ("text", "header"),
    [("A: b", ("A", "b")), ("A:b:c", ("A", "b:c")), ("A:", ("A", "")), (" A : b ", ("A", "b"))],
)
def test_headers(text: str, header: tuple[str, str]) -> None:
    assert header_lines.parse(text) == header


@pytest.mark.parametrize("text", ["", "A", ": b", "A b"])
def test_invalid_headers_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match='that is no header; write it as "Name: value"'):
        header_lines.parse(text)


@pytest.mark.parametrize(
    ("text", "it_does"),
    [
        ("{seq}", True), ("a{random:1-1}b", True), ("{random:0-18446744073709551615}", True),
        ("{sequence}", False), ("{ seq }", False), ('{"seq": 1}', False), ("{}", False), ("{{seq}", True),
        ("", False), ("{Seq}", False),
    ],
)  # fmt: skip
def test_placeholders(text: str, it_does: bool) -> None:
    assert varying.is_varying(text) is it_does


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{seq:1}", "the sequence takes no argument; write {seq}"),
        ("{random}", "needs its ends"),
        ("{random:5}", "needs its ends"),
        ("{random:5-1}", "needs its ends"),
        ("{random:-1-5}", "needs its ends"),
        ("{random:0-18446744073709551616}", "needs its ends"),
        ("{line}", "lines are taken from a file; write {line:FILE}"),
        ("{line:}", "lines are taken from a file"),
        ("{line:/no/such}", "cannot read /no/such: No such file"),
        ("{line:/dev/null}", "/dev/null has no lines; put some into it"),
    ],
)
def test_invalid_placeholders_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        varying.is_varying(text)
    assert said in str(caught.value) and "--no-vary" in str(caught.value)


def test_a_line_that_is_invalid_in_a_path_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("a\n\ntwo words\r\n")
    place = f"{{line:{file}}}"
    with pytest.raises(
        UsageError, match='"two words" cannot stand in a path; percent-encode it: two%20words'
    ):
        varying.is_varying(place, in_path=True)
    assert varying.is_varying(place)


@given(st.lists(st.sampled_from(["{seq}", "{random:1-9}", "{", "{{", "}", "a", "{a}", '{"', "{seq"])))
def test_all_other_braces_are_sent_as_they_are(parts: list[str]) -> None:
    text = "".join(parts)
    # Read it as the engine does: two open braces are one, and one before a letter begins a value.
    read = re.sub(
        r"\{\{|\{(?=[a-zA-Z])", lambda found: "{" if found[0] == "{{" else "<", varying.template(text)
    )
    assert read == re.sub(r"\{(?=(seq|random:1-9)\})", "<", text)


TOML = """
[[requests]]
name = "search"
path = "/todos/{random:1-9}?q=a b"
weight = 3
headers = { Accept = "application/json" }
[[requests]]
method = "post"
path = "/todos"
body_file = "new.json"
expect_status = 201
expect_body = "@made.json"
[[requests]]
path = "/tags/{line:tags.txt}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "new.json").write_text("{}")
    (tmp_path / "made.json").write_text("Hello")
    (tmp_path / "tags.txt").write_text("a\nb\n")
    return tmp_path


def test_several_requests_from_a_file(folder: Path) -> None:
    file = folder / "mix.toml"
    file.write_text(TOML)
    shared = TypedRequest(path="/", headers=[("X", "1")], accept="text/plain", expect_status=200)
    ok = ExpectSpec(status=200, body_bytes=None, body_sha256=None, hash_one_in=0)
    accept = ("Accept", "text/plain")
    assert request.make_all(request_file.read(file, shared)) == (
        RequestSpec(
            name="search",
            method="GET",
            path="/todos/{random:1-9}?q=a%20b",
            headers=(("X", "1"), ("Accept", "application/json"), AGENT),
            varies=True,
            weight=3,
            expect=ok,
        ),
        RequestSpec(
            method="POST",
            path="/todos",
            headers=(("X", "1"), accept, AGENT),
            body_file=str(folder / "new.json"),
            expect=ExpectSpec(status=201, body_bytes=5, body_sha256=SHA256, hash_one_in=64),
        ),
        RequestSpec(
            method="GET",
            path=f"/tags/{{line:{folder}/tags.txt}}",
            headers=(("X", "1"), accept, AGENT),
            varies=True,
            expect=ok,
        ),
    )


@pytest.mark.parametrize("wrapped", [True, False])
def test_several_requests_from_a_json_file(tmp_path: Path, wrapped: bool) -> None:
    entries = [{"path": "/a", "weight": 2}, {"path": "/b", "method": "HEAD"}]
    file = tmp_path / "mix.json"
    file.write_text(json.dumps({"requests": entries} if wrapped else entries))
    found = request.make_all(request_file.read(file, TypedRequest(path="/")))
    assert [(each.method, each.path, each.weight) for each in found] == [("GET", "/a", 2), ("HEAD", "/b", 1)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.toml", None, ["does not exist"]),
        ("none.json", None, ["cannot read the request file"]),
        ("a.toml", "requests = ", ["is not TOML"]),
        ("a.har", '{"log": {}}', ["make a request file: crumple import"]),
        ("a.json", "[", ["is not JSON"]),
        ("a.json", "3", ["requests"]),
        ("a.toml", "request = 1", ["requests: is missing; add it"]),
        (
            "a.toml",
            '[[requests]]\npth = "/"',
            ["requests.entry 1.path: is missing", "pth: unknown key; did you mean path?"],
        ),
        ("a.toml", '[[requests]]\npath = "x"', ["requests.entry 1.path"]),
        (
            "a.toml",
            '[[requests]]\nname = "a"\npath = "/"\n' * 2,
            ['requests: two requests have the name "a"; give each its own'],
        ),
        (
            "a.toml",
            '[[requests]]\npath = "/"\nweight = 0',
            ["requests.entry 1.weight: is 0; write 1 or more"],
        ),
        (
            "a.toml",
            '[[requests]]\nname = "search"\npath = "/"\nweight = 0\nmethod = 3',
            ["requests.search.weight: is 0", "requests.search.method: is 3; write it in quotes"],
        ),
        (
            "a.toml",
            '[[requests]]\nname = "search"\npath = "/"\nbody = "{seq:1}"',
            ["requests.search: {seq:1}: the sequence takes no argument"],
        ),
        (
            "a.toml",
            '[[requests]]\npath = "/"\nexpect_status = [200]',
            ["requests.entry 1.expect_status: is a list; write a number, or text in quotes"],
        ),
        (
            "a.toml",
            '[[requests]]\npath = "/"\n'
            '[[requests]]\npath = "/{random}"\nmethod = "("\nbody = ""\nbody_file = "no"',
            [
                "requests.entry 2: ( is no HTTP method",
                "requests.entry 2: a body and a body file are both given",
                "requests.entry 2: cannot read the body file",
                "requests.entry 2: {random}: a random number needs its ends",
            ],
        ),
    ],
)
def test_invalid_request_files_are_refused(
    tmp_path: Path, name: str, text: str | None, said: list[str]
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises((FileInvalid, UsageError)) as caught:
        request.make_all(request_file.read(file, TypedRequest(path="/")))
    for each in said:
        assert each in str(caught.value)


@pytest.mark.parametrize("entries", [1, 2])
def test_an_error_in_every_request_is_reported_once_for_each(tmp_path: Path, entries: int) -> None:
    file = tmp_path / "a.toml"
    file.write_text('[[requests]]\npath = "x"\n' * entries)
    with pytest.raises(FileInvalid) as caught:
        request.make_all(request_file.read(file, TypedRequest(path="/")))
    assert len(caught.value.problems) == entries


@pytest.mark.parametrize(
    ("name", "texts", "example"),
    [
        ("a.toml", ("", "\n \n", "# GET /\n", "requests = []"), 'a table [[requests]] with path = "/"'),
        ("a.json", ("", "\n \n", "[]", "{}", '{"requests": []}'), '[{"path": "/"}]'),
    ],
)
def test_a_file_without_a_request_is_one_line_that_says_what_to_write(
    tmp_path: Path, name: str, texts: tuple[str, ...], example: str
) -> None:
    file = tmp_path / name
    for text in texts:
        file.write_text(text)
        with pytest.raises(FileInvalid) as caught:
            request.make_all(request_file.read(file, TypedRequest(path="/")))
        assert str(caught.value) == f"{file}: holds no request; write {example} into it, for instance", text
