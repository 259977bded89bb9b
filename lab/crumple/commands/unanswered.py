"""Why no request of a load was answered as expected, and what to do: one line on stderr."""

import shlex
from http import HTTPStatus
from urllib.parse import urljoin

from crumple.contract import Example, TrialRecord
from crumple.drawing.terminal import shown
from crumple.record import failures
from crumple.record.failures import Unexpected
from crumple.words import answer_sentences, masked

SEE = "see request and answer with --debug, or set --expect-status"
LOG = "look at the server's log, or see its answer with --debug"
# The lowest status of an error that the server blames on itself, so its log may say why.
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
    said, remedy = f"{number:,} of {record.scheduled:,} {worst}", _remedy(worst, found, record, longer)
    if found is not None and found.status is not None:
        said = f"{found.count:,} of {record.scheduled:,} were {answer_sentences.unnumbered(found)}"
    elif found is not None and found.words is not None:
        ended = f"{found.count:,} of {record.scheduled:,} {answer_sentences.outcome(found)}"
        said, remedy = f"{ended}; {answer_sentences.what(found)}", found.words.remedy
    return f"no request was answered as expected: {said}; {remedy}"


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


def _remedy(outcome: str, found: Unexpected | None, record: TrialRecord, longer: str) -> str:
    """What to do where the outcome alone, or its status, says what happened."""
    address = record.spec.target.address
    is_tls, stands = record.spec.target.tls is not None, record.connections_opened > 0
    if outcome == "not-sent" and record.not_sent.route:
        return f"this machine has no route to {address}; {failures.route_remedy(record)}"
    if outcome == "unfinished" and not stands:
        what = "TLS handshake was completed" if is_tls else "connection was made"
        return f"no {what}; does {address} accept connections{', and is it https' if is_tls else ''}?"
    remedies = {
        "wrong-status": _of_status(found.first if found else None, record),
        "wrong-body": "see request and answer with --debug, or correct --expect-body",
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
