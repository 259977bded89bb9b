"""What came instead of the expected answer: counted by status and outcome, and reported with its cause."""

import documents
import pytest
from crumple import contract
from crumple.record import failures
from crumple.record.failures import Unexpected
from crumple.words import answer_sentences as say

NAMED = contract.ExpectSpec(status=404, body_bytes=None, body_sha256=None, hash_one_in=0)


def record(
    *kinds: contract.RequestRecord, asked: tuple[contract.RequestSpec, ...] = ()
) -> contract.TrialRecord:
    requests = asked or (documents.request(),) * len(kinds)
    totals: dict[str, int] = {}
    for kind in kinds:
        for name, count in kind.outcomes.as_dict().items():
            totals[name] = totals.get(name, 0) + count
    ended = contract.Outcomes.model_validate(totals)
    return documents.record(
        spec=documents.spec(requests=requests), requests=kinds, outcomes=ended, scheduled=ended.total
    )


def kind(statuses: dict[int, int], *examples: contract.Example, **ends: int) -> contract.RequestRecord:
    ended = documents.outcomes(**ends)
    return documents.request_record(
        scheduled=ended.total, outcomes=ended, statuses=statuses, examples=examples
    )


def found(example: contract.Example) -> Unexpected:
    """An unexpected end like that of the example."""
    status = example.status if example.outcome == "wrong-status" else None
    return Unexpected(example.outcome, status, 1, documents.request(), example)


def test_malformed_answers_are_named_by_what_happened() -> None:
    first = documents.example("malformed", None, head="HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!")
    first = first.model_copy(update={"reason": "excess"})
    seen = record(kind({}, first, malformed=9))
    excess = "more bytes came than the 5 of the body that Content-Length announces"
    one = seen.model_copy(update={"reasons": documents.reasons(("malformed", "excess", 9))})
    assert say.lines(failures.unexpected_ends(one), 9) == [
        f"9 × malformed from 200\u202fms on: {excess}; let the server send as many bytes as it announces; "
        "it began: `HTTP/1.1 200 OK Content-Length: 5 hello!`"
    ]
    rows = documents.reasons(("malformed", "chunk", 3), ("malformed", "excess", 6))
    excesses, chunks = say.lines(failures.unexpected_ends(seen.model_copy(update={"reasons": rows})), 9)
    assert excesses.startswith(f"6 × malformed from 200\u202fms on: {excess}; let the server")
    assert chunks == (
        "3 × malformed from 200\u202fms on: a chunk of the body is not as HTTP/1.1 has it; mend what writes "
        "the chunks, in the server or in front of it"
    )
    # A kind of request has no counts of its own.
    rows = documents.reasons(("malformed", "chunk", 3), ("malformed", "excess", 60))
    both = seen.model_copy(update={"reasons": rows})
    (asked,), (of_kind,) = both.spec.requests, both.requests
    each = failures.unexpected_ends_of(both, asked, of_kind)[0]
    assert say.line(each).startswith(f"9 × malformed, the first: {excess}; let")


def test_counts_are_by_status_else_by_outcome_the_most_frequent_first() -> None:
    seen = record(
        kind({200: 90, 500: 5, 503: 7}, ok=88, wrong_body=2, wrong_status=12, reset=9, unfinished=4),
        kind({200: 10, 503: 1}, ok=10, wrong_status=1, timeout=3, not_sent=2),
    )
    assert [(each.outcome, each.status, each.count) for each in failures.unexpected_ends(seen)] == [
        ("reset", None, 9),
        ("wrong-status", 503, 8),
        ("wrong-status", 500, 5),
        ("timeout", None, 3),
        ("wrong-body", None, 2),
    ]
    assert failures.answers_by_status(seen) == {200: 100, 500: 5, 503: 8}


def test_each_request_expects_its_own_status() -> None:
    asked = (documents.request(), documents.request(expect=NAMED))
    seen = record(
        kind({200: 5, 404: 1}, ok=5, wrong_status=1),
        kind({200: 2, 404: 9}, ok=9, wrong_status=2),
        asked=asked,
    )
    assert [(each.status, each.count) for each in failures.unexpected_ends(seen)] == [(200, 2), (404, 1)]
    second = failures.unexpected_ends_of(seen, asked[1], seen.requests[1])
    assert [(each.status, each.count) for each in second] == [(200, 2)]


def test_the_first_of_all_requests_is_the_example() -> None:
    late = documents.example("wrong-status", 500, body="late", at_ns=9)
    early = documents.example("wrong-status", 500, body="early", at_ns=3)
    seen = record(kind({500: 1}, late, wrong_status=1), kind({500: 1}, early, wrong_status=1))
    (only,) = failures.unexpected_ends(seen)
    assert (only.count, only.first) == (2, early)


def test_answers_in_the_warm_up_are_not_counted() -> None:
    seen = record(kind({200: 5}, documents.example("wrong-status", 500), ok=5))
    assert failures.unexpected_ends(seen) == ()


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (
            documents.example("wrong-status", 503, body="no available server\n"),
            "503 Service Unavailable; first: `no available server`",
        ),
        (
            documents.example("wrong-status", 302, head="Location: /login"),
            "302 Found → /login; redirects are not followed",
        ),
        (documents.example("wrong-status", 304), "304 Not Modified"),
        (
            documents.example(
                "wrong-status", 415, request="POST /a HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n"
            ),
            "415 Unsupported Media Type; sent with Content-Type: text/plain",
        ),
        (
            documents.example("wrong-status", 415, body="json, please"),
            "415 Unsupported Media Type; sent without a Content-Type; first: `json, please`",
        ),
        (
            documents.example("wrong-status", 401, head='www-authenticate: Bearer realm="a"'),
            '401 Unauthorized; sent without Authorization; WWW-Authenticate: Bearer realm="a"',
        ),
        (
            documents.example(
                "wrong-status", 403, request="GET / HTTP/1.1\r\nauthorization: Basic x\r\n\r\n"
            ),
            "403 Forbidden; sent with Authorization",
        ),
        (documents.example("wrong-status", 503, phrase="No \x1bbackend  left"), "503 No \\x1bbackend left"),
        (documents.example("wrong-status", 503, phrase=""), "503 Service Unavailable"),
        (
            documents.example("closed-early", 200, head="Content-Length: 13", body="Hel"),
            "closed-early; the first after 200 OK and 3 of 13 bytes of its body; it began: `Hel`",
        ),
        (
            documents.example("reset", 200, head="Transfer-Encoding: chunked"),
            "reset; the first after 200 OK and 0 bytes of its body",
        ),
        (
            documents.example("wrong-status", 405, head="Allow: POST, PUT"),
            "405 Method Not Allowed; GET was sent; Allow: POST, PUT",
        ),
        (
            documents.example("wrong-status", 429, head="Retry-After: 5"),
            "429 Too Many Requests; Retry-After: 5",
        ),
        (documents.example("wrong-status", 599), "599"),
        (documents.example("reset", None), "reset"),
        (
            documents.example("malformed", None, head="SSH-2.0-OpenSSH_9"),
            "malformed; it began: `SSH-2.0-OpenSSH_9`",
        ),
        (
            documents.example("wrong-body", 200, body="Hi"),
            "wrong-body; 13 bytes were expected, 2 came; first: `Hi`",
        ),
        (
            documents.example("wrong-body", 200, head="Content-Length: 13", body="Hello, wurld!"),
            "wrong-body; 13 bytes came as expected, but others; first: `Hello, wurld!`",
        ),
    ],
)
def test_the_explanation_is_shown(example: contract.Example, said: str) -> None:
    assert say.unnumbered(found(example)) == said
    assert say.line(found(example)) == f"1 × {said}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a\r\n b\t c", "a b c"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("<html><head><style>p {}</style></head><body><h1>Bad &amp; worse</h1>\n<p>so</p>", "Bad & worse so"),
        ("<h1>&#x202e;a</h1>", "\\u202ea"),
        ("x" * 200, "x" * 119 + "…"),
        ("\x1f\ufffd\b\ufffd\ufffd\ufffd", ""),
        ("", ""),
        (" \n", ""),
    ],
)
def test_the_body_is_quoted(body: str, said: str) -> None:
    line = say.unnumbered(found(documents.example("wrong-status", 500, body=body)))
    assert line == "500 Internal Server Error" + (f"; first: `{said}`" if said else "")


def test_for_a_wrong_body_the_number_compared_is_shown() -> None:
    example = documents.example("wrong-body", 200, head="Content-Length: 13", body="Hello, wurld!")
    wrong = kind({200: 20_012}, example, ok=20_000, wrong_body=12).model_copy(update={"bodies_hashed": 312})
    sampled = contract.ExpectSpec(status=200, body_bytes=13, body_sha256="0" * 64, hash_one_in=64)
    (only,) = failures.unexpected_ends(record(wrong, asked=(documents.request(expect=sampled),)))
    said = "bytes are compared in a sample: in 312 of the 20,000 ok answers; of the others, the length"
    assert said in say.line(only)
    by_length = contract.ExpectSpec(status=200, body_bytes=13, body_sha256=None, hash_one_in=0)
    (only,) = failures.unexpected_ends(record(wrong, asked=(documents.request(expect=by_length),)))
    assert "compared" not in say.line(only)


@pytest.mark.parametrize(
    ("outcome", "reason", "said"),
    [
        (
            "malformed",
            "certificate-expired",
            "TLS failed (malformed) from 200 ms on: the server's certificate has",
        ),
        (
            "malformed",
            "not-http",
            "malformed from 200 ms on: what came does not begin as an answer of HTTP/1.1",
        ),
        (
            "malformed",
            "proxy-refused",
            "no tunnel (malformed) from 200 ms on: the proxy opened no tunnel (words)",
        ),
        (
            "closed-early",
            "handshake",
            "TLS failed (closed-early) from 200 ms on: the server closed the connection",
        ),
        (
            "closed-early",
            "in-head",
            "closed-early from 200 ms on: the server closed the connection within the head",
        ),
        ("refused", "refused", "refused from 200 ms on: no program listened at 127.0.0.1:1"),
    ],
)
def test_a_tls_failure_is_shown(outcome: str, reason: str, said: str) -> None:
    target = contract.Target(address="127.0.0.1:1", host="a", tls=contract.TlsSpec(server_name="a"))
    ended = kind({}, documents.example(outcome, None), **{outcome.replace("-", "_"): 4})
    seen = record(ended).model_copy(
        update={
            "spec": documents.spec(target=target),
            "reasons": documents.reasons((outcome, reason, 4)),
            "tls_fault": "words",
        }
    )
    (only,) = failures.unexpected_ends(seen)
    assert say.unnumbered(only).replace("\u202f", " ").startswith(said)
    assert (only.tls_fault is not None) is ("(words)" in say.unnumbered(only))
    assert failures.tls_fault(seen, outcome) == only.tls_fault


def test_control_characters_in_headers_are_escaped() -> None:
    moved = documents.example("wrong-status", 302, head="Location: /\x1b]0;a\x07\u202e")
    assert "→ /\\x1b]0;a\\x07\\u202e;" in say.line(found(moved))


def test_the_rarest_of_many_kinds_share_a_line() -> None:
    many = [Unexpected("wrong-status", 500 + step, 10 - step, None, None) for step in range(5)]
    assert say.lines(many, 3) == [
        "10 × 500 Internal Server Error",
        "9 × 501 Not Implemented",
        "8 × 502 Bad Gateway",
        "13 × 503 Service Unavailable, 504 Gateway Timeout",
    ]
    assert len(say.lines(many, 5)) == 5
