"""Why requests failed, in words, with one thing to do about it. Pure: an outcome and its reason → a sentence.

`failures.py` counts them; how they are laid out is decided where they are shown.
"""

from dataclasses import dataclass

from crumple.contract import Example, Reason, TrialRecord

# Reasons for which `tls_fault` has more words.
_TLS: frozenset[Reason] = frozenset(
    {
        "not-tls",
        "certificate-expired",
        "certificate-not-yet-valid",
        "certificate-untrusted",
        "certificate-of-authority",
        "certificate-name",
        "certificate-invalid",
        "client-certificate-wanted",
        "client-certificate-refused",
        "no-shared-version",
        "no-shared-cipher",
        "handshake-failure",
        "no-shared-protocol",
        "unknown-server-name",
        "tls",
        "handshake",
    }
)
_TUNNEL: frozenset[Reason] = frozenset({"tunnel", "proxy-login", "proxy-refused", "proxy-malformed"})

_PORT = "is it the right port?"
_LOG = "look at the server's log"
# Reasons of a server that has answered others as it should.
_EXCESSIVE = "let the server send as many bytes of a body as it announces: the rest of one may have come late"
_SHOW_ANOTHER = "or load with --insecure"
_SHOW = "show one with --cert FILE --key FILE"
_LONGER = "raise -t, or lower the load"
_PROXY_LOG = "see the proxy's log, or load the server without -x"

# What happened, and the remedy. {} are the words of `_Context`.
_MALFORMED: dict[Reason, tuple[str, str]] = {
    "not-http": ("what came does not begin as an answer of HTTP/1.1", "{excessive}"),
    "http09": (
        "a document came without a status and headers, as in HTTP/0.9",
        "let the server begin its answer with HTTP/1.1 200 OK",
    ),
    "http2": (
        "the server answered in HTTP/2, which crumple does not speak",
        "let it speak HTTP/1.1, or load a port where it does",
    ),
    "tls-record": ("the server speaks TLS there, and was asked without", "write https://"),
    "version": ("the answer is of another version of HTTP", "let the server speak HTTP/1.1"),
    "status": (
        "the answer's first line is not as HTTP/1.1 has it",
        "let the server send HTTP/1.1, a space, a status from 100 to 999, a space and a reason in text",
    ),
    "field-line": (
        "a line of the answer's head or trailers is not a header as HTTP/1.1 has it",
        "let the server send a name, a colon right after it, and a value without control characters",
    ),
    "field-name": (
        "the name of a header has a space, or another character that no name may have",
        "let the server send names of letters, digits and hyphens",
    ),
    "space-before-colon": (
        "a header has a space between its name and the colon",
        "let the server send the colon right after the name",
    ),
    "no-colon": ("a line of the answer's head has no colon", "let the server send headers as Name: value"),
    "field-value": (
        "the value of a header has a control character",
        "let the server leave it out, or encode it",
    ),
    "long-head": (
        "the answer has a head longer than 64 KiB, which crumple does not read",
        "let the server send less",
    ),
    "many-fields": (
        "the answer has more than 100 headers, which crumple does not read",
        "let the server send fewer",
    ),
    "length": (
        "the Content-Length is not a number, or too great for one",
        "let the server send the length of the body in bytes",
    ),
    "conflicting-lengths": (
        "the answer has several lengths, which differ",
        "let the server and what is in front of it send one Content-Length",
    ),
    "transfer-encoding": (
        "an answer of HTTP/1.0 has a Transfer-Encoding",
        "let the server answer as HTTP/1.1, or without it",
    ),
    "switched-protocols": (
        "the server switched to another protocol (101)",
        "ask for what is answered in HTTP, without an Upgrade header",
    ),
    "chunk": (
        "a chunk of the body is not as HTTP/1.1 has it",
        "mend what writes the chunks, in the server or in front of it",
    ),
    "excess": ("{excess}", "let the server send as many bytes as it announces"),
    "no-body-allowed": (
        "a body came with an answer that has none ({bodiless})",
        "let the server send no body with it, or another status",
    ),
    "unasked": (
        "the server sent bytes before it was asked",
        "{excessive}",
    ),
    "not-tls": ("{address} does not speak TLS", "write http://"),
    "certificate-expired": ("the server's certificate has expired", f"renew it, {_SHOW_ANOTHER}"),
    "certificate-not-yet-valid": (
        "the server's certificate is not valid yet",
        f"set the clocks of both machines, {_SHOW_ANOTHER}",
    ),
    "certificate-untrusted": (
        "no authority that this machine trusts has issued the server's certificate",
        f"name the authority's certificate with --cacert FILE, {_SHOW_ANOTHER}",
    ),
    "certificate-of-authority": (
        "the server shows the certificate of an authority as its own, as `openssl req -x509` makes it",
        f"make it with -addext basicConstraints=critical,CA:FALSE, {_SHOW_ANOTHER}",
    ),
    "certificate-name": (
        "the server's certificate is for another name",
        f"load a name that it is for, {_SHOW_ANOTHER}",
    ),
    "certificate-invalid": (
        "the server's certificate is not valid",
        f"let the server show a valid one, {_SHOW_ANOTHER}",
    ),
    "client-certificate-wanted": ("the server wants a certificate of the client", _SHOW),
    "client-certificate-refused": ("{refused_certificate}", _SHOW),
    "no-shared-version": (
        "the server speaks neither TLS 1.2 nor TLS 1.3",
        "let it speak one of them",
    ),
    "no-shared-cipher": (
        "client and server have no cipher of TLS in common",
        "let the server offer one with AES-GCM or ChaCha20",
    ),
    "handshake-failure": (
        "the server ended the TLS handshake and named no reason",
        "look at its log: it may want a certificate of the client (--cert FILE), or another cipher",
    ),
    "no-shared-protocol": (
        "the server does not offer HTTP/1.1 over TLS (ALPN)",
        "let it offer http/1.1 beside h2",
    ),
    "unknown-server-name": (
        "the server has no certificate for the name that it was asked for",
        "load a name that it knows, and connect to it with --connect-to",
    ),
    "tls": ("TLS failed", _LOG),
    "proxy-login": ("the proxy wants a login (407)", "give it as -x http://USER:PASSWORD@HOST:PORT"),
    "proxy-refused": ("the proxy opened no tunnel", _PROXY_LOG),
    "proxy-malformed": (
        "the proxy does not answer CONNECT as HTTP/1.1 does",
        "is -x the address of a proxy?",
    ),
}

_REFUSED: dict[Reason, tuple[str, str]] = {
    "refused": ("no program listened at {address}", "{start}"),
    "no-socket": ("there is no socket {address}", "start the server, or correct the path of the socket"),
    "unreachable": (
        "the network cannot reach {address}",
        "correct the address, or mend the route to it (ip route get {host})",
    ),
    "connect-error": ("the kernel could not connect to {address}", "correct the address"),
}

_CONNECT_TIMEOUT: dict[Reason, tuple[str, str]] = {
    "connecting": (
        "{address} took no connection within {connect}",
        "raise the server's backlog, or correct the address",
    ),
    "tunnel": ("the proxy opened no tunnel within {connect}", _PROXY_LOG),
    "handshake": (
        "no TLS handshake was completed within {connect}",
        "does {address} speak TLS, or plain http?",
    ),
}

_TIMEOUT: dict[Reason, tuple[str, str]] = {
    **{
        reason: (what.replace("{connect}", "{timeout}"), remedy)
        for reason, (what, remedy) in _CONNECT_TIMEOUT.items()
    },
    "sending": (
        "the server did not take the whole request within {timeout}",
        "look whether it reads bodies of this length",
    ),
    "before-answer": ("no byte of the answer came within {timeout}", _LONGER),
    "in-head": ("the head of the answer was not whole within {timeout}", _LONGER),
    "in-body": ("the body of the answer was not whole within {timeout}", _LONGER),
    "until-close": (
        "the answer gives no length{coding}, so it ends with the connection, which the server kept open",
        "let the server send a Content-Length or chunks, or close the connection",
    ),
    "late": ("the whole answer came, later than {timeout}", _LONGER),
}

_CLOSED: dict[Reason, tuple[str, str]] = {
    "connecting": ("the server {closed} the connection as soon as it was made", _PORT),
    "tunnel": ("the proxy {closed} the connection and opened no tunnel", _PROXY_LOG),
    "handshake": ("the server {closed} the connection during the TLS handshake", "{secure}"),
    "kept": (
        "the server {closed} a kept connection that had a request on it, without announcing it before",
        "let the server announce it (Connection: close), or load with --disable-keepalive",
    ),
    "sending": (
        "the server {closed} the connection before it had the whole request",
        "look how long a body it takes",
    ),
    "before-answer": ("the server {closed} the connection without a byte of an answer", "{right}"),
    "in-head": ("the server {closed} the connection within the head of its answer", _LOG),
    "in-body": ("the server {closed} the connection within the body of its answer", _LOG),
    "no-close-notify": (
        "TLS ended without close_notify, and the answer gives no length: it may be cut off",
        "let the server send a Content-Length, or end TLS with close_notify",
    ),
}

BY_OUTCOME: dict[str, dict[Reason, tuple[str, str]]] = {
    "malformed": _MALFORMED,
    "refused": _REFUSED,
    "connect-timeout": _CONNECT_TIMEOUT,
    "timeout": _TIMEOUT,
    "closed-early": _CLOSED,
    "reset": {reason: words for reason, words in _CLOSED.items() if reason != "no-close-notify"},
}


@dataclass(frozen=True)
class Words:
    """What happened, and one thing to do about it."""

    what: str
    remedy: str


def words(record: TrialRecord, outcome: str, reason: Reason, first: Example | None = None) -> Words:
    """Return what happened to requests that ended so. `first`: one of them; None: the first that was kept."""
    what, remedy = BY_OUTCOME[outcome][reason]
    kept = (each for kind in record.requests for each in kind.examples if each.reason == reason)
    first = first or min(kept, key=lambda each: each.at_ns, default=None)
    context = _context(record, outcome, first)
    return Words(_filled(what, context), _filled(remedy, context))


def is_tls(reason: Reason | None) -> bool:
    """Whether TLS is the reason."""
    return reason in _TLS


def is_tunnel(reason: Reason | None) -> bool:
    """Whether the tunnel through a proxy is the reason."""
    return reason in _TUNNEL


def most_frequent(record: TrialRecord, outcome: str) -> Reason | None:
    """Return the reason of most requests with this outcome; None if there were none."""
    rows = [row for row in record.reasons if row.outcome == outcome]
    return max(rows, key=lambda row: row.count).reason if rows else None


def what(record: TrialRecord, outcome: str) -> str:
    """Return what happened to most requests with this outcome; empty if it has no reason."""
    reason = most_frequent(record, outcome)
    return words(record, outcome, reason).what if reason else ""


def _filled(text: str, context: dict[str, str]) -> str:
    for name, said in context.items():
        text = text.replace(f"{{{name}}}", said)
    return text


def _context(record: TrialRecord, outcome: str, first: Example | None) -> dict[str, str]:
    target, timeouts = record.spec.target, record.spec.timeouts
    address = target.address.removeprefix("unix:")
    shows = target.tls is not None and target.tls.client is not None
    plain = "" if target.tls is not None else " Is it http, not https?"
    return {
        "address": address,
        "host": address.rpartition(":")[0].strip("[]"),
        "start": "start it, or mend -x" if target.proxy else "start the server, or mend the URL",
        "connect": f"{timeouts.connect_s:g} s",
        "timeout": f"{timeouts.request_s:g} s",
        "closed": "reset" if outcome == "reset" else "closed",
        "secure": f"does {address} speak TLS, or plain http?",
        # A server that answers others has not the wrong port.
        "excessive": _EXCESSIVE if record.outcomes.ok else _PORT,
        "right": _LOG if record.outcomes.ok else f"{_PORT}{plain}",
        "refused_certificate": (
            "the server refused the certificate that it was shown"
            if shows
            else "the server ended the handshake, as it does that wants a certificate of the client"
        ),
        "excess": _excess(first),
        "bodiless": _bodiless(first),
        "coding": _coding(first),
    }


def _header(first: Example | None, name: str) -> str | None:
    """The value of a header of the answer that was kept."""
    lines = first.head.partition("\r\n\r\n")[0].splitlines() if first else []
    found = (line.partition(":") for line in lines[1:])
    return next((value.strip() for key, _, value in found if key.strip().lower() == name), None)


def _excess(first: Example | None) -> str:
    length = _header(first, "content-length")
    if length is not None and length.isdecimal():
        return f"more bytes came than the {int(length):,} of the body that Content-Length announces"
    if _header(first, "transfer-encoding"):
        return "more bytes came after the last chunk of the body"
    return "more bytes came than belong to the answer"


def _bodiless(first: Example | None) -> str:
    if first is not None and first.request.startswith("HEAD "):
        return "to HEAD"
    return f"status {first.status}" if first is not None and first.status else "204, 304, or to HEAD"


def _coding(first: Example | None) -> str:
    coding = _header(first, "transfer-encoding")
    return f", as its Transfer-Encoding is not chunked ({coding[:40]})" if coding else ""
