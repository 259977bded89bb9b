"""What came instead of the answer that was expected, and what to do about it. Pure."""

import re

from crumple.contract import Outcomes, TrialRecord
from crumple.errors import CrumpleError
from crumple.record import failures, reasons

# Outcomes of a server that does answer, or does not take the request at all: asking longer does not help.
_AT_ONCE = ("wrong-status", "wrong-body", "malformed", "refused", "reset", "closed-early")
_LOGIN = re.compile(r"log-?in|sign-?in|auth|sso", re.IGNORECASE)
_LOCATION = re.compile(r"^location:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def at_once(record: TrialRecord) -> bool:
    """Whether something else came than an answer as expected, so that a longer wait would not help."""
    ends = _ends(record)
    return any(ends[name] for name in _AT_ONCE)


def describe(record: TrialRecord) -> str:
    """Return what came: "status 404 × 20", for instance."""
    ends = _ends(record)
    statuses = failures.statuses(record)
    if ends["wrong-status"] and statuses:
        return f"status {statuses}"
    for name in _AT_ONCE:
        if ends[name]:
            fault = failures.tls_fault(record, name)
            what = reasons.what(record, name)
            why = f" ({what})" if what else ""
            return f"TLS failed: {fault}" if fault else f"{name} × {ends[name]:,}{why}"
    waited_s = record.measured_ns / 1e9
    return f"no answer within {waited_s:.2g} s"


def error(record: TrialRecord) -> CrumpleError:
    """Return the error of a URL that is answered, and never as expected."""
    seen = failures.unexpected_statuses(record)
    remedy = "mend the URL, or say what counts as ok: --expect-status STATUS"
    heads = [example.head for each in record.requests for example in each.examples]
    leads = next((found[1] for head in heads if (found := _LOCATION.search(head))), None)
    if any(300 <= status < 400 for status in seen):
        to = f" {leads}" if leads else ""
        remedy = f"it redirects, which is not followed; diagnose where it leads:{to}".removesuffix(":")
        if leads and _LOGIN.search(leads):
            sends = "send what a user does who has logged in, as in -H 'Cookie: …'"
            remedy = f"it redirects to {leads}, which looks like a login: {sends}"
    elif seen.keys() & {401, 403, 407}:
        remedy = "it wants a login: give what it asks for, as in -H 'Authorization: …'"
    elif not seen:
        remedy = "look at one request and its answer: crumple load URL --debug"
    return CrumpleError(f"nothing is answered as expected: {describe(record)}", remedy)


def _ends(record: TrialRecord) -> dict[str, int]:
    outcomes: Outcomes = record.outcomes
    return outcomes.as_dict()
