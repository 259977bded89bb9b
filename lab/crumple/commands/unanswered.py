"""Why no request of a load was answered as expected, and what to do: one line on stderr."""

import shlex
from http import HTTPStatus
from urllib.parse import urljoin

from crumple.contract import Example, TrialRecord
from crumple.drawing.terminal import shown
from crumple.load import engine_spec
from crumple.load.report import answer_sentences, masked
from crumple.record import failures, malformed

SEE = "see request and answer with --debug, or set --expect-status"
LOG = "look at the server's log, or see its answer with --debug"
SERVER_ERRORS = 500
STATUS_REMEDIES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "log in with -a USER:PASSWORD, or with -H 'Authorization: …'",
    HTTPStatus.FORBIDDEN: "log in with -a USER:PASSWORD, or with -H 'Authorization: …'",
    HTTPStatus.NOT_FOUND: "name a path that it serves, or set --expect-status 404",
    HTTPStatus.METHOD_NOT_ALLOWED: "name the method: -m POST, for instance",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "name the type of the body: -T application/json, for instance",
}


def sentence(record: TrialRecord, longer: str = "-z") -> str:
    """Return one line: why no request was answered as expected, and the remedy.

    `longer`: the flag by which the load lasts longer.
    """
    ends = {name: number for name, number in record.outcomes.as_dict().items() if number}
    if not ends:
        return "no request was sent; make the load longer, or its rate higher"
    worst, number = max(ends.items(), key=lambda end: end[1])
    found = next((each for each in failures.unexpected_ends(record) if each.outcome == worst), None)
    fault = failures.tls_fault(record, worst)
    first = found.first if found else None
    said = f"{number:,} of {record.scheduled:,} {f'without TLS ({worst})' if fault else worst}"
    if found is not None and found.status is not None:
        said = f"{found.count:,} of {record.scheduled:,} were {answer_sentences.unnumbered(found)}"
    return f"no request was answered as expected: {said}; {_remedy(worst, first, record, longer)}"


def alone(record: TrialRecord) -> str:
    """Return the same of requests that were sent one at a time."""
    ends = record.outcomes
    if ends.total > ends.not_sent + ends.unfinished:
        return sentence(record)
    spent_s = (record.warm_up_ns + record.measured_ns) / 1e9
    return (
        f"{record.spec.target.address} takes a connection, but gave no answer within {spent_s:.0f} s; if one "
        "takes longer, load it for longer: crumple load URL -z 60s -t 60s"
    )


def _remedy(outcome: str, first: Example | None, record: TrialRecord, longer: str) -> str:
    address = record.spec.target.address
    is_tls, stands = record.spec.target.tls is not None, record.connections_opened > 0
    fault = record.tls_fault or ""
    if record.spec.target.proxy is not None and fault.startswith("the proxy"):
        return f"{shown(fault)}; see the proxy's log, or load the server without -x"
    if outcome in ("closed-early", "reset") and first is not None and first.status is not None:
        return "the server closed the connection within its answer; look at the server's log"
    if outcome == "connect-timeout" and is_tls:
        return f"no TLS handshake was completed in time; does {address} speak TLS, or plain http?"
    if outcome == "malformed" and is_tls and "InvalidContentType" in (record.tls_fault or ""):
        return f"{address} does not speak TLS; write http://"
    if outcome == "malformed" and is_tls and not stands:
        why = f": {shown(record.tls_fault)}" if record.tls_fault else ""
        return (
            f"no TLS handshake was completed{why}; is it https, is its certificate trusted (--cacert FILE)?"
        )
    if outcome == "malformed" and (reason := malformed.most_frequent(record)):
        return f"{malformed.what(reason)}; {malformed.remedy(reason)}"
    if outcome == "not-sent" and record.not_sent.route:
        return f"this machine has no route to {address}; {failures.routed(record)}"
    if outcome == "unfinished" and not stands:
        what = "TLS handshake was completed" if is_tls else "connection was made"
        return f"no {what}; does {address} accept connections{', and is it https' if is_tls else ''}?"
    hung_up = "the server closed the connection before its answer was complete; is it the right port"
    remedies = {
        "closed-early": f"{hung_up}{'' if is_tls else ', and http, not https'}?",
        "reset": f"{hung_up}{'' if is_tls else ', and http, not https'}?",
        "refused": engine_spec.nobody_listens(record.spec.target),
        "connect-timeout": f"{address} does not accept connections; is it the right address?",
        "wrong-status": _of_status(first, record),
        "wrong-body": "see request and answer with --debug, or correct --expect-body",
        "timeout": "the answers took longer than -t; raise it, or lower the load",
        "unfinished": f"the load ended before the first answer; give it longer with {longer}",
    }
    return remedies.get(outcome, "look at the server's log")


def _of_status(first: Example | None, record: TrialRecord) -> str:
    """What to do about an answer with another status than expected."""
    if first is None or first.status is None:
        return SEE
    if (to := answer_sentences.leads_to(first)) is not None:
        return f"load where it leads: crumple {shlex.quote(shown(masked.url(urljoin(_url(record), to))))}"
    return STATUS_REMEDIES.get(first.status, SEE if first.status < SERVER_ERRORS else LOG)


def _url(record: TrialRecord) -> str:
    """The URL of the first request."""
    target = record.spec.target
    return f"{'https' if target.tls else 'http'}://{target.host}{record.spec.requests[0].path}"
