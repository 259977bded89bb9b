"""A HAR of any program: what the network answered is asked for as it was; all else is left out by kind."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from crumple.importing import conversion, har, repeatable
from crumple.importing.conversion import Converted
from crumple.importing.har import (
    ABORTED,
    BLOCKED,
    CACHE,
    PUSHED,
    REDIRECTED,
    REPLACED,
    UNANSWERED,
    WORKER,
)

URL = "http://shop.example.org"
FORM = "application/x-www-form-urlencoded"


def entry(
    method: str = "GET", url: str = f"{URL}/a", status: Any = 200, /, *, answer: Any = None, **more: Any
) -> dict[str, Any]:
    """An entry; `answer`: more of its answer; others: more of the entry, and with `asked_` of its request."""
    asked = {name.removeprefix("asked_"): more.pop(name) for name in [*more] if name.startswith("asked_")}
    headers = [{"name": name, "value": said} for name, said in asked.pop("headers", {}).items()]
    return {
        "request": {"method": method, "url": url, "headers": headers, **asked},
        "response": {"status": status, **(answer or {})},
        **more,
    }


def of(folder: Path, *entries: dict[str, Any]) -> Converted:
    file = folder / "a.har"
    file.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}))
    return conversion.convert(file, None, None, 100)


def posted(
    folder: Path,
    sent: dict[str, Any],
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    **asked: Any,
) -> str | None:
    """The body that is sent for an entry, or why it is left out."""
    more = {f"asked_{name}": value for name, value in asked.items()}
    one = entry(method, f"{URL}/b", 200, asked_postData=sent, asked_headers=headers or {}, **more)
    found = of(folder, entry(), one)
    if len(found.chosen.kinds) == 1:
        (line,) = found.said[1:]
        return line.removeprefix("left out: 1 request ").partition(", first")[0]
    return found.chosen.kinds[1].request.body


CACHED = {"content": {"size": 900}, "bodySize": 0, "_transferSize": 0}


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (entry(_fetchType="Memory Cache"), CACHE),
        (entry(_fetchType="Disk Cache"), CACHE),
        (entry(_fetchType="Service Worker"), WORKER),
        (entry(_fetchType="Inspector Override"), REPLACED),
        (entry(_fromCache="memory"), CACHE),
        (entry(_fromCache="disk"), CACHE),
        (entry(_fromCache=True), CACHE),
        (entry(answer={"fromDiskCache": True}), CACHE),
        (entry(answer={"_fromMemoryCache": True}), CACHE),
        (entry(answer=CACHED), CACHE),
        (entry(answer={"statusText": "OK (from cache)"}), CACHE),
        (entry(answer={"statusText": "OK (from disk cache)"}), CACHE),
        (entry(cache={"afterRequest": None}), CACHE),
        (entry(cache={"afterRequest": {"hitCount": "2"}}), CACHE),
        (entry(answer={"_fetchedViaServiceWorker": True}), WORKER),
        (
            entry(answer={"_fetchedViaServiceWorker": True, "_serviceWorkerResponseSource": "cache-storage"}),
            WORKER,
        ),
        (entry(answer={"fromServiceWorker": True}), WORKER),
        (entry(_was_pushed=1), PUSHED),
        (entry(_was_pushed="1"), PUSHED),
        (entry("GET", f"{URL}/a", 307, answer={"statusText": "Internal Redirect"}), REDIRECTED),
        (
            entry(
                "GET",
                f"{URL}/a",
                307,
                answer={"headers": [{"name": "Non-Authoritative-Reason", "value": "HSTS"}]},
            ),
            REDIRECTED,
        ),
        (entry("GET", f"{URL}/a", 0), UNANSWERED),
        (entry("GET", f"{URL}/a", "0"), UNANSWERED),
        (entry("GET", f"{URL}/a", -1), UNANSWERED),
        (entry("GET", f"{URL}/a", 0, answer={"_error": "net::ERR_BLOCKED_BY_CLIENT"}), BLOCKED),
        (entry("GET", f"{URL}/a", 0, answer={"_error": "net::ERR_BLOCKED_BY_CSP"}), BLOCKED),
        (entry("GET", f"{URL}/a", 0, _error="net::ERR_BLOCKED_BY_ADMINISTRATOR"), BLOCKED),
        (entry("GET", f"{URL}/a", 0, answer={"_error": "net::ERR_ABORTED"}), ABORTED),
        (entry("GET", f"{URL}/a", 0, answer={"statusText": "(canceled)"}), ABORTED),
        (entry("GET", f"{URL}/a", -1, answer={"_failureText": "net::ERR_ABORTED"}), ABORTED),
        (entry("GET", f"{URL}/a", 0, answer={"_error": "net::ERR_CONNECTION_REFUSED"}), UNANSWERED),
        (entry("GET", f"{URL}/a", None, answer={"_error": "Connection killed."}), UNANSWERED),
        (entry("GET", f"{URL}/a", 503, answer={"_charlesStatus": "FAILED"}), UNANSWERED),
        (entry("GET", f"{URL}/a", 502, answer={"statusText": "Fiddler - Connection Failed"}), UNANSWERED),
        (entry("GET", "https://shop.example.org/ws", 101), "whose answer changed the protocol (101)"),
        (entry("GET", "ws://shop.example.org/ws", 101), "whose answer changed the protocol (101)"),
        (entry("GET", "wss://shop.example.org/ws", 0), "to open a WebSocket"),
        (entry("GET", "blob:http://shop.example.org/1-2", 200), "to blob: instead of http:"),
        (entry("GET", "chrome-extension://abc/a.js", 200), "to chrome-extension: instead of http:"),
        (entry("GET", "about:blank", 0), "to about: instead of http:"),
        (entry("GET", f"data:text/plain,{'a' * 5_000}", 200), "to data: instead of http:"),
    ],
)
def test_an_entry_that_no_network_answered_is_left_out_by_kind(
    one: dict[str, Any], why: str, tmp_path: Path
) -> None:
    found = of(tmp_path, entry("GET", f"{URL}/"), one)
    assert [each.request.path for each in found.chosen.kinds] == ["/"]
    assert found.said[1].startswith(f"left out: 1 request {why}")


@pytest.mark.parametrize(
    "one",
    [
        entry(),
        entry(_fetchType="Network Load"),
        entry(_fromCache=False),
        entry(_fromCache=""),
        entry(cache={}),
        entry(cache={"beforeRequest": {"hitCount": 1}, "afterRequest": {"hitCount": 2}}),
        entry("GET", f"{URL}/a", 304, cache={"afterRequest": {"fetchCount": 2}}),
        entry("GET", f"{URL}/a", 304, answer=CACHED),
        entry(answer={**CACHED, "_transferSize": 300}),
        entry(answer={**CACHED, "_transferSize": -1}),
        entry(answer={"_transferSize": 0, "bodySize": 900, "content": {"size": 900}}),
        entry(answer={"_fetchedViaServiceWorker": False}),
        entry(answer={"_fetchedViaServiceWorker": True, "_serviceWorkerResponseSource": "network"}),
        entry("GET", f"{URL}/a", 200, answer={"_error": "net::ERR_ABORTED"}),
        entry("GET", f"{URL}/a", 307, answer={"statusText": "Temporary Redirect"}),
        entry("GET", f"{URL}/a", None),
        entry("GET", f"{URL}/a", "200"),
        entry(_was_pushed=0),
        entry(answer={"_charlesStatus": "COMPLETE"}),
        {"request": {"method": "GET", "url": f"{URL}/a"}},
    ],
)
def test_an_entry_that_the_network_answered_is_taken(one: dict[str, Any], tmp_path: Path) -> None:
    found = of(tmp_path, one)
    assert [each.request.path for each in found.chosen.kinds] == ["/a"]
    assert found.said[1:] == ()


def test_a_preflight_is_taken_with_its_headers(tmp_path: Path) -> None:
    asks = {"Access-Control-Request-Method": "POST", "Origin": "http://x", "Sec-Fetch-Mode": "cors"}
    found = of(tmp_path, entry("OPTIONS", f"{URL}/c", 204, asked_headers=asks, _resourceType="preflight"))
    (kind,) = found.chosen.kinds
    assert (kind.request.method, dict(kind.request.headers)) == (
        "OPTIONS",
        {"Access-Control-Request-Method": "POST", "Origin": "http://x"},
    )


def field(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("GET", {"mimeType": "", "params": []}),
        ("GET", {"mimeType": "", "params": [], "text": ""}),
        ("GET", {"mimeType": "application/x-www-form-urlencoded", "params": []}),
        ("HEAD", {}),
        ("DELETE", {"mimeType": "", "text": ""}),
        ("POST", {"mimeType": "", "params": [], "text": ""}),
        ("POST", {"mimeType": "application/json", "text": ""}),
    ],
)
@pytest.mark.parametrize("asked", [{"bodySize": 0}, {"bodySize": -1}, {}])
def test_an_empty_body_is_none(
    method: str, sent: dict[str, Any], asked: dict[str, Any], tmp_path: Path
) -> None:
    assert posted(tmp_path, sent, method=method, **asked) is None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_request_without_a_body_is_one_where_its_length_says_so(method: str, tmp_path: Path) -> None:
    assert posted(tmp_path, {}, method=method, headers={"Content-Length": "0"}) is None
    assert (
        posted(tmp_path, {}, method=method, headers={"content-length": "7"}) == "whose body was not recorded"
    )
    assert posted(tmp_path, {}, method=method, headers={"Transfer-Encoding": "chunked"}) == (
        "whose body was not recorded"
    )


@pytest.mark.parametrize(
    ("params", "length", "body"),
    [
        ([field("field%5B1%5D", "value%5B1%5D")], 25, "field%5B1%5D=value%5B1%5D"),
        ([field("field%5B1%5D", "value%5B1%5D")], None, "field%5B1%5D=value%5B1%5D"),
        ([field("field[1]", "value[1]")], 25, "field%5B1%5D=value%5B1%5D"),
        ([field("field[1]", "value[1]")], None, "field%5B1%5D=value%5B1%5D"),
        ([field("field[1]", "value[1]")], 17, "field[1]=value[1]"),
        ([field("a", "1 2"), field("b", "ü")], 14, "a=1+2&b=%C3%BC"),
        ([field("a", "1 2"), field("b", "ü")], 16, "a=1%202&b=%C3%BC"),
        ([field("a", "1+2")], 5, "a=1+2"),
        ([field("a", "1+2")], 7, "a=1%2B2"),
        ([field("a", "100%")], None, "a=100%25"),
        ([field("a", "100%25")], 10, "a=100%2525"),
        ([field("a", "")], 2, "a="),
        ([field('{"a":1}', "")], 7, '{"a":1}'),
    ],
)
def test_fields_of_a_form_are_written_as_they_were_sent(
    params: list[dict[str, str]], length: int | None, body: str, tmp_path: Path
) -> None:
    headers = {} if length is None else {"Content-Length": str(length)}
    assert posted(tmp_path, {"mimeType": FORM, "params": params}, headers=headers) == body
    assert posted(tmp_path, {"mimeType": FORM, "params": params, "text": ""}, bodySize=length or -1) == body


OTHER_LENGTH = "whose body was recorded with another length than was sent"
NOT_KEPT = "whose body was not recorded"
JSON = "application/json"


@pytest.mark.parametrize(
    ("sent", "length", "found"),
    [
        ({"mimeType": JSON, "text": '{"a": 1}'}, 8, '{"a": 1}'),
        ({"mimeType": JSON, "text": '{"a": "é"}'}, 11, '{"a": "é"}'),
        ({"mimeType": JSON, "text": '{"a": 1'}, 8, OTHER_LENGTH),
        ({"mimeType": "text/plain", "text": "a\nb"}, 4, "a\r\nb"),
        ({"mimeType": FORM, "text": "a=1", "params": [field("a", "1")]}, 3, "a=1"),
        ({"mimeType": FORM, "params": [field("a", "1")]}, 9, OTHER_LENGTH),
        ({"mimeType": FORM, "text": "a=[1]", "params": [field("a", "[1]")]}, 9, "a=%5B1%5D"),
        ({"mimeType": FORM, "text": "a=[1]", "params": [field("a", "[1]")]}, 8, OTHER_LENGTH),
        ({"mimeType": FORM, "text": f"Content-Type: {FORM}\r\nContent-Length: 3\r\n\r\na=1"}, 3, "a=1"),
        (
            {"mimeType": JSON, "text": base64.b64encode(b'{"a": 1}').decode(), "encoding": "base64"},
            8,
            '{"a": 1}',
        ),
        ({"mimeType": "a/b", "text": "/////w==", "encoding": "base64"}, 4, "with a binary body"),
        ({"mimeType": JSON, "text": "", "comment": "Request body is not stored"}, None, NOT_KEPT),
        ({"mimeType": JSON, "text": "{}", "comment": "The body was truncated"}, None, NOT_KEPT),
        ({"mimeType": JSON, "comment": "[#12]", "text": "{}"}, None, "{}"),
        ({"params": [field("a", "b")]}, None, NOT_KEPT),
        ({"mimeType": JSON, "params": [field("a", "b")]}, None, NOT_KEPT),
    ],
)
def test_a_body_is_sent_as_it_was_or_left_out(
    sent: dict[str, Any], length: int | None, found: str, tmp_path: Path
) -> None:
    headers = {} if length is None else {"content-length": str(length)}
    assert posted(tmp_path, sent, headers=headers) == found


def test_a_size_alone_says_only_that_a_body_is_cut_off(tmp_path: Path) -> None:
    text = {"mimeType": JSON, "text": '{"a": 1}'}
    assert posted(tmp_path, text, bodySize=2_000) == OTHER_LENGTH
    # It counts what stands before the body, or is wrong.
    assert posted(tmp_path, text, bodySize=3) == '{"a": 1}'
    assert posted(tmp_path, {}, bodySize=30) == NOT_KEPT


def test_a_multipart_body_is_taken_only_if_all_of_it_is_there(tmp_path: Path) -> None:
    kind = "multipart/form-data; boundary=x"
    text = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    whole = {"mimeType": kind, "text": text}
    sent = {"Content-Type": kind, "Content-Length": str(len(text))}
    assert posted(tmp_path, whole, headers=sent) == text
    assert posted(tmp_path, whole, headers=sent | {"Content-Length": "999"}) == (
        "with a multipart body, whose files are not in it"
    )
    params = [field("a", "1"), {"name": "f", "fileName": "a.png", "contentType": "image/png"}]
    assert posted(tmp_path, {"mimeType": kind, "params": params}, headers=sent) == (
        "with a multipart body, whose files are not in it"
    )


def test_a_query_that_is_kept_beside_the_url_belongs_to_it(tmp_path: Path) -> None:
    query = [field("q", "a b"), field("page", "2")]
    found = of(
        tmp_path,
        entry("GET", f"{URL}/s", 200, asked_queryString=query),
        entry("GET", f"{URL}/t?q=1", 200, asked_queryString=query),
        entry("GET", f"{URL}/u", 200, asked_queryString=[field("a%5B%5D", "%20")]),
        entry("GET", f"{URL}/v?", 200),
        entry("GET", f"{URL}?", 200),
    )
    assert [each.request.path for each in found.chosen.kinds] == [
        "/s?q=a+b&page=2",
        "/t?q=1",
        "/u?a%5B%5D=%20",
        "/v?",
        "/?",
    ]


def test_a_header_that_http_does_not_allow_has_a_reason_of_its_own(tmp_path: Path) -> None:
    headers = {"Foo Bar": "1", "X-Line": "a\nb", "Authorization": "Bearer abc", "X-Kept": "1"}
    found = of(tmp_path, entry(asked_headers=headers))
    assert dict(found.chosen.kinds[0].request.headers) == {"X-Kept": "1"}
    assert found.said[1:] == (
        "left out: headers that hold secrets or belong to one client: Authorization (1); add some with -H",
        "left out: headers that HTTP does not allow: Foo Bar (1), X-Line (1)",
    )


def test_headers_of_the_same_name_become_one_and_that_is_said(tmp_path: Path) -> None:
    one = entry(asked_headers={"X-A": "1", "x-a": "2", "X-B": "3"})
    found = of(tmp_path, one)
    assert found.chosen.kinds[0].request.headers == (("X-A", "1, 2"), ("X-B", "3"))
    url = one["request"]["url"]
    line = "changed: 1 request with headers of the same name joined by a comma to one"
    assert found.said[1:] == (f"{line}, first x-a of GET {url}",)


def test_the_documentation_names_each_header_that_goes_without_a_line() -> None:
    text = (Path(__file__).parents[3] / "docs" / "importing.md").read_text()
    (listed,) = re.findall(r"^Left out without a line .*?\n\n", text, re.DOTALL | re.MULTILINE)
    named = {name.lower() for name in re.findall(r"`([A-Za-z0-9-]+)`", listed)}
    assert named >= repeatable.OF_BROWSER | repeatable.OF_ENGINE


def test_a_host_header_stays_where_it_is_not_that_of_the_url(tmp_path: Path) -> None:
    one = entry("GET", "http://10.0.0.1:8080/", 200, asked_headers={"Host": "shop.example.org"})
    assert dict(of(tmp_path, one).chosen.kinds[0].request.headers) == {"Host": "shop.example.org"}
    for host in ("10.0.0.1:8080", "10.0.0.1:8080 "):
        one["request"]["headers"][0]["value"] = host
        assert of(tmp_path, one).chosen.kinds[0].request.headers == ()
    one = entry("GET", f"{URL}/", 200, asked_headers={"Host": "SHOP.example.org:80", ":authority": "b"})
    assert of(tmp_path, one).chosen.kinds[0].request.headers == ()


def test_a_fragment_is_said_to_be_lost(tmp_path: Path) -> None:
    found = of(tmp_path, entry("GET", f"{URL}/a?b#c", 200))
    assert found.chosen.kinds[0].request.path == "/a?b"
    assert found.said[1] == (
        "changed: 1 request without the fragment of its URL (#…), which no client sends, "
        f"first GET {URL}/a?b#c"
    )


@pytest.mark.parametrize(
    ("status", "found"), [("200", 200), (" 0", 0), ("-1", -1), ("2e2", None), (True, None)]
)
def test_a_status_may_be_written_as_a_text(status: Any, found: int | None) -> None:
    assert har.status_of({"status": status}) == found
