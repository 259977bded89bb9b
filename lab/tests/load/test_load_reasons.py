"""Why `crumple load` had no answer, and with which exit code it ends: from made records."""

from typing import Any

import documents
import pytest
import synthetic_load
from crumple import contract
from crumple.commands import load_result, unanswered
from crumple.contract import Reason, TrialRecord
from crumple.gate.condition import Outcome, State
from crumple.load.report.load_document import LoadDocument
from crumple.record import reasons
from crumple.record.loss import Lost
from crumple.record.validity import Validity


def test_a_failed_tls_handshake_suggests_an_untrusted_certificate() -> None:
    tls = contract.TlsSpec(server_name="localhost")
    target = contract.Target(address="127.0.0.1:1", host="localhost", tls=tls)
    outcomes = documents.outcomes(malformed=4)
    record = documents.record(
        spec=documents.spec(target=target),
        outcomes=outcomes,
        scheduled=4,
        connections_opened=0,
        tls_fault="UnknownIssuer",
        reasons=documents.reasons(("malformed", "certificate-untrusted", 4)),
    )
    assert unanswered.sentence(record).endswith(
        "4 of 4 TLS failed (malformed); no authority that this machine trusts has issued the server's "
        "certificate (UnknownIssuer); name the authority's certificate with --cacert FILE, or load with "
        "--insecure"
    )
    silent = {
        "outcomes": documents.outcomes(connect_timeout=4),
        "reasons": documents.reasons(("connect-timeout", "handshake", 4)),
    }
    assert "does 127.0.0.1:1 speak TLS, or plain http?" in unanswered.sentence(
        record.model_copy(update=silent)
    )


def test_a_connection_closed_within_an_answer_does_not_suggest_a_wrong_port() -> None:
    record = documents.record(
        outcomes=documents.outcomes(closed_early=4),
        scheduled=4,
        reasons=documents.reasons(("closed-early", "in-body", 4)),
    )
    assert unanswered.sentence(record).endswith(
        "the server closed the connection within the body of its answer; look at the server's log"
    )


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            "not-http",
            "; what came does not begin as an answer of HTTP/1.1; is it the right port?",
        ),
        (
            "excess",
            "; more bytes came than belong to the answer; let the server send as many bytes as it",
        ),
        (
            "long-head",
            "; the answer has a head longer than 64 KiB, which crumple does not read; let the server",
        ),
        (
            "switched-protocols",
            "; the server switched to another protocol (101); ask for what is answered in",
        ),
    ],
)
def test_of_malformed_answers_the_remedy_is_that_of_what_happened(reason: Reason, said: str) -> None:
    record = documents.record(outcomes=documents.outcomes(malformed=4), scheduled=4, connections_opened=4)
    most = documents.reasons(("malformed", "length", 1), ("malformed", reason, 3))
    assert f"3 of 4 malformed{said}" in unanswered.sentence(record.model_copy(update={"reasons": most}))


@pytest.mark.parametrize(
    ("path", "outcome", "reason", "said"),
    [
        (
            "127.0.0.1:80",
            "refused",
            "refused",
            "no program listened at 127.0.0.1:80; start the server, or mend the URL",
        ),
        (
            "unix:/run/a",
            "refused",
            "no-socket",
            "there is no socket /run/a; start the server, or correct the path",
        ),
        (
            "10.0.0.9:80",
            "refused",
            "unreachable",
            "the network cannot reach 10.0.0.9:80; correct the address, or mend",
        ),
        (
            "10.0.0.9:80",
            "connect-timeout",
            "connecting",
            "10.0.0.9:80 took no connection within 5 s; raise the",
        ),
        (
            "127.0.0.1:80",
            "timeout",
            "sending",
            "the server did not take the whole request within 20 s; look whether",
        ),
        (
            "127.0.0.1:80",
            "timeout",
            "late",
            "the whole answer came, later than 20 s; raise -t, or lower the load",
        ),
    ],
)
def test_the_sentence_names_the_address_or_the_timeout(
    path: str, outcome: str, reason: str, said: str
) -> None:
    record = documents.record(
        spec=documents.spec(target=contract.Target(address=path, host="there")),
        outcomes=documents.outcomes(**{outcome.replace("-", "_"): 4}),
        scheduled=4,
        reasons=documents.reasons((outcome, reason, 4)),
    )
    assert f"4 of 4 {outcome}; {said}" in unanswered.sentence(record)


def test_without_a_route_the_remedy_is_an_address() -> None:
    target = contract.Target(address="[2001:db8::7]:80", host="there")
    record = documents.record(
        spec=documents.spec(target=target),
        outcomes=documents.outcomes(not_sent=4),
        not_sent=documents.not_sent(route=4),
        scheduled=4,
        connections_opened=0,
    )
    said = unanswered.sentence(record)
    assert "4 of 4 not-sent; this machine has no route to [2001:db8::7]:80; correct the address" in said
    assert "(ip route get 2001:db8::7 " in said


def test_without_a_connection_the_remedy_is_not_a_longer_load() -> None:
    outcomes = documents.outcomes(unfinished=10)
    record = documents.record(outcomes=outcomes, scheduled=10, connections_opened=0)
    assert "no connection was made" in unanswered.sentence(record)
    opened = record.model_copy(update={"connections_opened": 10})
    assert "give it longer with -z" in unanswered.sentence(opened)


def test_a_closed_connection_suggests_https() -> None:
    why = documents.reasons(("reset", "before-answer", 4))
    record = documents.record(outcomes=documents.outcomes(reset=4), scheduled=4, reasons=why)
    assert unanswered.sentence(record).endswith("; is it the right port? Is it http, not https?")


def _judged(record: TrialRecord, **changes: Any) -> LoadDocument:
    return synthetic_load.load(record, **changes)


def test_exit_codes() -> None:
    fine = synthetic_load.closed().record
    silent = synthetic_load.silent().record
    invalid = Validity("engine-limited", ("it measured itself",), ())
    states: tuple[State, ...] = ("holds", "does not hold", "not known")
    holds, does_not, unknown = (Outcome("a", state, "") for state in states)
    code_of = load_result.code_of
    assert code_of(_judged(fine)) == 0
    assert code_of(_judged(fine, fail_if=(does_not,))) == 0
    assert code_of(_judged(fine, fail_if=(does_not, holds))) == 1
    assert code_of(_judged(fine, fail_if=(unknown,))) == 3
    assert code_of(_judged(fine, fail_if=(unknown, holds))) == 1
    assert code_of(_judged(fine, validity=invalid)) == 3
    assert code_of(_judged(fine, validity=invalid, fail_if=(holds,))) == 3
    assert code_of(_judged(silent, validity=invalid)) == 1
    # As with all verbs, whether anything was answered before or not.
    assert code_of(_judged(silent, validity=invalid, lost=Lost())) == 3
    assert code_of(_judged(fine, validity=invalid, lost=Lost(), fail_if=(does_not, unknown))) == 3
    assert code_of(_judged(fine, validity=invalid, lost=Lost(), fail_if=(holds,))) == 1


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"wrong_status": 3, "unfinished": 2}, "3 of 5 wrong-status; see request and answer with --debug"),
        ({}, "no request was sent; make the load longer"),
    ],
)
def test_the_reason_why_no_request_was_answered(ends: dict[str, int], said: str) -> None:
    outcomes = documents.outcomes(**ends)
    assert said in unanswered.sentence(documents.record(outcomes=outcomes, scheduled=outcomes.total))


@pytest.mark.parametrize(
    ("status", "head", "remedy"),
    [
        (301, "Location: /home", "load where it leads: crumple http://127.0.0.1:8080/home"),
        (307, "Location: ?page=2", "load where it leads: crumple 'http://127.0.0.1:8080/shop/list?page=2'"),
        (302, "Location: https://example.org/in", "load where it leads: crumple https://example.org/in"),
        (302, "", "see request and answer with --debug, or set --expect-status"),
        (401, "", "log in with -a USER:PASSWORD, or with -H 'Authorization: …'"),
        (404, "", "name a path that it serves, or set --expect-status 404"),
        (405, "Allow: POST", "name the method: -m POST, for instance"),
        (418, "", "see request and answer with --debug, or set --expect-status"),
        (503, "", "look at the server's log, or see its answer with --debug"),
    ],
)
def test_an_unexpected_status_has_a_remedy_of_its_own(status: int, head: str, remedy: str) -> None:
    target = contract.Target(address="127.0.0.1:8080", host="127.0.0.1:8080")
    came = documents.request_record(
        statuses={status: 9}, examples=(documents.example("wrong-status", status, head=head),)
    )
    record = documents.record(
        spec=documents.spec(target=target, requests=(documents.request(path="/shop/list"),)),
        outcomes=documents.outcomes(wrong_status=9),
        scheduled=9,
        requests=(came,),
    )
    said = unanswered.sentence(record)
    assert said.startswith(f"no request was answered as expected: 9 of 9 were {status} ")
    assert said.endswith(f"; {remedy}")


@pytest.mark.parametrize("reason", ["not-http", "unasked"])
def test_the_port_is_not_doubted_of_a_server_that_answers_others(reason: contract.Reason) -> None:
    """A body that is longer than announced may come in two parts, the second behind the answer."""

    def remedy(ok: int) -> str:
        record = documents.record(outcomes=documents.outcomes(ok=ok, malformed=4), scheduled=ok + 4)
        return reasons.words(record, "malformed", reason).remedy

    assert remedy(0) == "is it the right port?"
    assert remedy(4).startswith("let the server send as many bytes of a body as it announces")
