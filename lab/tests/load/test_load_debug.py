"""`crumple load --debug` sends each request once, and shows the request and the answer."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import documents
import pytest
import real_engine
from command_line import Call, caller
from crumple import contract
from crumple.load import load_plan
from crumple.words import answer_sentences
from crumple.words.answer_sentences import Exchange

ROOT = Path(__file__).parents[3]
ANY = contract.ExpectSpec(status=None, body_bytes=None, body_sha256=None, hash_one_in=0)


def exchanged(example: contract.Example | None, outcome: str, **changes: object) -> Exchange:
    """Return the record of one request that was sent once and ended with `outcome`."""
    ended = contract.Outcomes.model_validate(dict.fromkeys(contract.OUTCOMES, 0) | {outcome: 1})
    times = documents.record().histograms.model_copy(
        update={
            "response_time": documents.histogram({1_200_000: 1} if outcome == "ok" else {}),
            "failed": documents.histogram({1_200_000: 1} if outcome != "ok" else {}),
            "connect_time": documents.histogram({141_000: 1} if example else {}),
        }
    )
    status = example and example.status
    kind = documents.request_record(
        scheduled=1,
        outcomes=ended,
        statuses={status: 1} if status else {},
        examples=(example,) if example else (),
    )
    plain = {"outcomes": ended, "scheduled": 1, "requests": (kind,), "histograms": times}
    return Exchange(documents.record(**{**plain, **changes}))


def said(*exchanges: Exchange) -> str:
    return answer_sentences.text(list(exchanges), width=100, styled=False)


def test_a_load_becomes_each_of_its_requests_once() -> None:
    requests = (documents.request(weight=3), documents.request(method="POST", path="/todos"))
    asked = documents.spec(requests=requests, threads=4)
    first, second = load_plan.specs(asked)
    assert (first.requests, second.requests) == (requests[:1], requests[1:])
    for spec in (first, second):
        assert spec.shape == contract.ClosedShapeSpec(connections=1)
        assert spec.stop == contract.RequestsStopSpec(requests=1, within_s=25)
        assert (spec.examples, spec.warm_up, spec.threads) == ("all", None, 1)
        assert contract.TrialSpec.model_validate_json(spec.model_dump_json()) == spec


def test_request_and_answer_are_shown_with_what_was_expected() -> None:
    example = documents.example("ok", 200, head="Content-Length: 13", body="Hello, World!")
    assert said(exchanged(example, "ok")).splitlines() == [
        "connected to 127.0.0.1:40001 in 141 µs",
        "",
        "> GET /hello HTTP/1.1",
        "> Host: 127.0.0.1:8080",
        "",
        "< HTTP/1.1 200 OK",
        "< Content-Length: 13",
        "<",
        "< Hello, World!",
        "",
        "✓ ok after 1.20 ms: status 200, a body of 13 bytes was expected, and came",
    ]


def test_an_unexpected_answer_says_why() -> None:
    example = documents.example("wrong-status", 415, body="json, please")
    spec = documents.spec(requests=(documents.request(expect=ANY),))
    shown = answer_sentences.text([exchanged(example, "wrong-status", spec=spec)], width=160, styled=False)
    last = shown.splitlines()[-1]
    assert last == (
        "✗ wrong-status after 1.20 ms: 415 Unsupported Media Type; sent without a Content-Type; "
        "a status from 200 to 299 was expected"
    )


def test_control_characters_of_a_server_are_escaped() -> None:
    example = documents.example("wrong-status", 500, head="A: \x1b[2J", body="\x9b31m\nsecond")
    shown = said(exchanged(example, "wrong-status"))
    assert "\x1b" not in shown and "\x9b" not in shown
    assert "< A: \\x1b[2J" in shown and "< \\x9b31m" in shown and "< second" in shown


def test_a_long_body_is_cut_off_visibly() -> None:
    example = documents.example("ok", 200, body="x" * 1024)
    shown = said(exchanged(example, "ok", received_bytes=10_300))
    assert "… the first KiB of the body; 10,300 bytes came in all, the head included" in shown


def test_a_failed_connection_is_shown_with_its_reason() -> None:
    target = contract.Target(address="127.0.0.1:1", host="a", tls=contract.TlsSpec(server_name="a"))
    never = documents.example("malformed", None)
    why = documents.reasons(("malformed", "no-shared-cipher", 1))
    failed = exchanged(
        never, "malformed", spec=documents.spec(target=target), tls_fault="no \x07cipher", reasons=why
    )
    none = failed.record.histograms.model_copy(update={"connect_time": documents.histogram({})})
    shown = said(Exchange(failed.record.model_copy(update={"histograms": none})))
    assert shown.splitlines()[0] == "no connection to 127.0.0.1:1: no \\x07cipher"
    what = "client and server have no cipher of TLS in common (no \\x07cipher)"
    verdict = f"✗ TLS failed (malformed) after 1.20 ms: {what}; let the server offer one with"
    assert verdict in " ".join(shown.split()) and ">" not in shown


def test_a_tls_connection_is_named() -> None:
    target = contract.Target(
        address="127.0.0.1:1", host="a", tls=contract.TlsSpec(server_name="a", verify=False)
    )
    told = answer_sentences.connected(
        exchanged(documents.example("ok", 200), "ok", spec=documents.spec(target=target)).record
    )
    assert told.endswith(", TLS included; certificate for a not verified (--insecure)")


def test_json_has_what_the_engine_kept() -> None:
    example = documents.example("wrong-status", 500, body="\x1b[2J")
    (only,) = json.loads(json.dumps(answer_sentences.document([exchanged(example, "wrong-status")])))
    assert (only["outcome"], only["met"], only["connect_time_ns"]) == ("wrong-status", False, 141_000)
    assert contract.Example.model_validate(only["example"]) == example


class Orders(BaseHTTPRequestHandler):
    """A service that accepts only JSON."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201 if self.headers.get("Content-Type") == "application/json" else 415, b"json, please")

    def do_GET(self) -> None:
        self._answer(200, b"Hello")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def orders() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Orders) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    found = real_engine.loaded()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRUMPLE_ENGINE", str(found.path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return caller(monkeypatch, capsys, "load")


@pytest.mark.starts
@pytest.mark.parallel
def test_a_real_request_whose_content_type_is_refused(call: Call, orders: str) -> None:
    code, out, err = call(f"{orders}/orders", "-d", "{}", "--debug")
    assert (code, err) == (1, "")
    assert "> POST /orders HTTP/1.1" in out and "> {}" in out
    assert "< HTTP/1.0 415 Unsupported Media Type" in out and "< json, please" in out
    assert (
        "✗ wrong-status after" in out and ": 415 Unsupported Media Type; sent without a Content-Type" in out
    )


@pytest.mark.starts
@pytest.mark.parallel
def test_each_request_of_a_file_is_sent_once(call: Call, orders: str, tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    file.write_text(
        '[[requests]]\npath = "/a"\n'
        '[[requests]]\nname = "order"\nmethod = "POST"\npath = "/orders"\nbody = "{}"\n'
        'headers = { Content-Type = "application/json" }\nexpect_status = 201\n'
    )
    code, out, _ = call(orders, "--request-file", str(file), "--debug", "--json", "--rate", "5000")
    first, second = json.loads(out)
    assert code == 0 and first["met"] and second["met"]
    assert first["example"]["status"] == 200 and first["example"]["body"] == "Hello"
    assert second["example"]["request"].startswith("POST /orders HTTP/1.1\r\n")


@pytest.mark.starts
@pytest.mark.parallel
def test_a_real_load_counts_the_answers_of_an_http_1_0_server(call: Call, orders: str) -> None:
    code, out, err = call(f"{orders}/orders", "-d", "{}", "-n", "20", "-c", "2", "--json", "--quiet")
    facts = json.loads(out)
    assert code == 1 and "20 of 20 were 415 Unsupported Media Type; sent without a Content-Type" in err
    assert facts["statuses"] == {"415": 20}
    (refused,) = facts["unexpected"]
    assert (refused["status"], refused["count"], refused["first"]["body"]) == (415, 20, "json, please")
    assert facts["connections_closed_by_server"] >= 18 and facts["users_unanswered"] == 0
