"""Answers in words: by status, a line for each that was not expected, and one exchange with both its sides.

Pure: record → plain text, or data. What a server sent is made safe to show here, so that no other module has
to do so.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from crumple import contract
from crumple.contract import Example, RequestSpec, TrialRecord
from crumple.drawing import numerals, terminal
from crumple.drawing.terminal import shown, shown_lines
from crumple.record import failures, reasons
from crumple.record.failures import Unexpected

# The most characters of a body that a sentence repeats.
EXCERPT_MAX = 120
# The most bytes of a body that the engine keeps.
KEPT_BYTES = 1024
_CUT_OFF = ("closed-early", "reset", "timeout")
# The largest share of replaced characters in a body that is shown as text.
_REPLACED_SHARE_MAX = 0.1
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def statuses(record: TrialRecord) -> str:
    """Whole answers by status: "83,000 × 200, 4,373 × 500"; empty where there was none."""
    return ", ".join(f"{count:,} × {status}" for status, count in failures.answers_by_status(record).items())


def line(each: Unexpected) -> str:
    """ "312 × 503 Service Unavailable; first: `no available server`"."""
    return f"{each.count:,} × {unnumbered(each)}"


def unnumbered(each: Unexpected) -> str:
    """The line without the count."""
    return "; ".join([diagnosis(each), *(_excerpt(each) if each.first else ())])


def outcome(each: Unexpected) -> str:
    """The outcome; if TLS failed, also that, since "malformed" alone would refer to an answer."""
    if each.tls_fault is None:
        return each.outcome
    return f"{'no tunnel' if reasons.is_tunnel(each.reason) else 'TLS failed'} ({each.outcome})"


def diagnosis(each: Unexpected) -> str:
    """What came, and the headers that say why: "415 Unsupported Media Type; sent without a Content-Type"."""
    details = _details(each.first, each.request) if each.first else ()
    remedy = [each.words.remedy] if each.words and each.words.remedy else []
    return "; ".join([_named(each), *remedy, *details, *_compared(each)])


def lines(found: Sequence[Unexpected], at_most: int) -> list[str]:
    """A line for each of the most frequent; the last says how many more there are."""
    said = [line(each) for each in found[:at_most]]
    rest = found[at_most:]
    if rest:
        said.append(f"{sum(each.count for each in rest):,} × {', '.join(_named(each) for each in rest)}")
    return said


def short(each: Unexpected) -> str:
    """What fits a cell of a table: "503 × 312", "reset × 9"."""
    return f"{each.status or outcome(each)} × {each.count:,}"


def status(code: int) -> str:
    """ "503 Service Unavailable"; the number alone where it has no name."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def sent_lines(example: Example) -> list[str]:
    """The request as it went out, line by line."""
    return shown_lines(example.request.rstrip("\r\n"))


def came_lines(example: Example) -> list[str]:
    """The answer, as far as it was kept, line by line; none where nothing came."""
    head, body = example.head.rstrip("\r\n"), example.body
    return [*(shown_lines(head) if head else []), *(["", *shown_lines(body)] if body else [])]


def header(head: str, name: str) -> str | None:
    """The value of a header in a head, or None."""
    for written in head.splitlines()[1:]:
        found, colon, value = written.partition(":")
        if not colon:
            break
        if found.strip().lower() == name.lower():
            return value.strip()
    return None


def leads_to(first: Example) -> str | None:
    """Where a redirect leads."""
    return header(first.head, "Location") if first.status and 300 <= first.status <= 399 else None


def _named(each: Unexpected) -> str:
    if each.status is None:
        since = "" if each.since_ns is None else f" from {numerals.duration(each.since_ns)} on"
        return f"{outcome(each)}{since}{_why(each)}"
    to = leads_to(each.first) if each.first else None
    return _status_line(each.status, each.first) + (f" → {shown(to)}" if to else "")


def _why(each: Unexpected) -> str:
    """Why the requests failed: ": a chunk of the body …"; empty if it is not known."""
    if each.words is None:
        return ""
    return f"{'' if each.reason else ', the first'}: {what(each)}"


def what(each: Unexpected) -> str:
    """What happened, with the words of TLS or of the proxy where they say more; empty if it is not known."""
    fault = f" ({shown(each.tls_fault)})" if each.tls_fault else ""
    return f"{each.words.what}{fault}" if each.words else ""


def _status_line(code: int, came: Example | None) -> str:
    """The status with the server's own reason phrase, where it is known and not empty."""
    words = came.head.partition("\r\n")[0].split(" ", 2) if came else []
    phrase = " ".join(words[2].split()) if len(words) == 3 and words[1] == str(code) else ""
    return f"{code} {_cut(shown(phrase))}" if phrase else status(code)


def _compared(each: Unexpected) -> Iterator[str]:
    """In how many ok answers the bytes were compared; the others may have wrong bytes as well."""
    if each.compared is not None and each.compared[0] < each.compared[1]:
        compared, ok = each.compared
        of = f"in {compared:,} of the {ok:,} ok answers; of the others, the length"
        yield f"bytes are compared in a sample: {of}"


def _details(first: Example, asked: RequestSpec | None) -> Iterator[str]:
    """The headers, sent or received, that explain what is wrong with a request."""
    code = first.status
    if first.outcome == "wrong-body" and asked is not None and asked.expect.body_bytes is not None:
        yield _wrong_body(first, asked.expect.body_bytes)
    if first.outcome in _CUT_OFF and code is not None:
        yield f"the first after {_status_line(code, first)}{_part(first)}"
    if first.outcome != "wrong-status" or code is None:
        return
    if leads_to(first):
        yield "redirects are not followed"
    if code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        sent = header(first.request, "Content-Type")
        yield "sent without a Content-Type" if sent is None else f"sent with Content-Type: {shown(sent)}"
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        is_sent = header(first.request, "Authorization") is not None
        yield f"sent {'with' if is_sent else 'without'} Authorization"
        yield from _came(first, "WWW-Authenticate")
    if code == HTTPStatus.METHOD_NOT_ALLOWED:
        yield f"{shown(first.request.partition(' ')[0])} was sent"
        yield from _came(first, "Allow")
    yield from _came(first, "Retry-After")


def _wrong_body(first: Example, expected: int) -> str:
    came = _body_bytes(first)
    if came == expected:
        return f"{expected:,} bytes came as expected, but others"
    return f"{expected:,} bytes were expected{'' if came is None else f', {came:,} came'}"


def _body_bytes(first: Example) -> int | None:
    """The length of the whole body in bytes; None where what was kept does not show it."""
    said = header(first.head, "Content-Length")
    if said is not None and said.isdecimal():
        return int(said)
    return _kept_bytes(first)


def _kept_bytes(first: Example) -> int | None:
    """The length of a body that was kept whole, in bytes; None if it may be cut, or bytes were replaced."""
    kept = _kept(first)
    return kept if first.head and kept < KEPT_BYTES and "\ufffd" not in first.body else None


def _kept(example: Example) -> int:
    return len(example.body.encode(errors="surrogatepass"))


def _part(first: Example) -> str:
    """How much of its body came before an answer was cut off: " and 3 of 5 bytes of its body"."""
    came, said = _kept_bytes(first), header(first.head, "Content-Length")
    if came is None:
        return ""
    return f" and {came:,}{f' of {said}' if said and said.isdecimal() else ''} bytes of its body"


def _came(first: Example, name: str) -> Iterator[str]:
    value = header(first.head, name)
    if value is not None:
        yield f"{name}: {shown(value)}"


def _excerpt(each: Unexpected) -> Iterator[str]:
    """The beginning of what came, on one line."""
    assert each.first is not None
    if each.outcome in ("wrong-status", "wrong-body"):
        said, word = _text(each.first.body), "first"
    elif each.outcome in _CUT_OFF and each.first.status is not None:
        said, word = _text(each.first.body), "it began"
    else:
        # There was no whole answer; the beginning of a malformed one shows which protocol the peer speaks.
        said, word = _text(each.first.head + each.first.body), "it began"
    if said:
        yield f"{word}: `{said}`"


def _text(body: str) -> str:
    """The words of a body, without the tags of HTML; empty if it is not text."""
    if body.count("\ufffd") + body.count("\x00") > _REPLACED_SHARE_MAX * len(body):
        return ""
    if body.lstrip()[:1] == "<":
        body = html.unescape(_TAGS.sub(" ", body))
    return _cut(shown(" ".join(body.split())))


def _cut(said: str) -> str:
    return said if len(said) <= EXCERPT_MAX else f"{said[: EXCERPT_MAX - 1].rstrip()}…"


# The most columns that an exchange fills on a terminal. A wider one is not filled.
WIDTH_MAX = 160


@dataclass(frozen=True)
class Exchange:
    """The record of one request, sent once."""

    record: contract.TrialRecord

    @property
    def asked(self) -> contract.RequestSpec:
        """What was asked."""
        return self.record.spec.requests[0]

    @property
    def example(self) -> contract.Example | None:
        """Request and answer as they went over the wire; None where nothing did."""
        return next((each for kind in self.record.requests for each in kind.examples), None)

    @property
    def outcome(self) -> str:
        """How the request ended."""
        ends = self.record.outcomes.as_dict()
        return next((name for name, number in ends.items() if number), "not-sent")

    @property
    def is_met(self) -> bool:
        """Whether the answer was the one expected."""
        return self.outcome == "ok"

    @property
    def body_bytes(self) -> int:
        """Bytes of the answer's body: those that it names, or else all that came behind the head."""
        head = self.example.head if self.example else ""
        named = header(head, "Content-Length")
        received = self.record.received_bytes - len(head.encode(errors="surrogatepass"))
        return int(named) if named and named.isdecimal() else max(0, received)

    @property
    def took_ns(self) -> int | None:
        """How long the request took from when it was due to its end."""
        times = self.record.histograms
        ends = (times.response_time, times.failed, times.timed_out, times.unfinished_age)
        return next((each.max_ns for each in ends if each.count), None)


def text(exchanges: list[Exchange], width: int | None = None, styled: bool | None = None) -> str:
    """Return the exchanges as text. `width` and `styled` None: as the terminal has it; plain without one."""
    columns = width or terminal.width(WIDTH_MAX)
    parts = [part for exchange in exchanges for part in (*_parts(exchange), Text())]
    return terminal.printed(Group(*parts[:-1]), columns, styled)


def document(exchanges: list[Exchange]) -> list[dict[str, Any]]:
    """Return the exchanges as data. Times in ns; request and answer unescaped, as the engine kept them."""
    return [
        {
            "request": each.asked.model_dump(mode="json"),
            "outcome": each.outcome,
            "met": each.is_met,
            "connect_time_ns": each.record.histograms.connect_time.max_ns,
            "response_time_ns": each.took_ns,
            "tls_fault": each.record.tls_fault,
            "received_bytes": each.record.received_bytes,
            "example": each.example and each.example.model_dump(mode="json"),
        }
        for each in exchanges
    ]


def connected(record: contract.TrialRecord) -> str:
    """Where the connection went, how long it took, and whether TLS was verified."""
    target, took_ns = record.spec.target, record.histograms.connect_time.max_ns
    if took_ns is None:
        fault = f": {shown(record.tls_fault)}" if record.tls_fault else ""
        return f"no connection to {target.address}{fault}"
    proxy = f" through the proxy {target.address}" if target.proxy else ""
    to = target.proxy.authority if target.proxy else target.address
    said = f"connected to {to}{proxy} in {numerals.duration(took_ns)}"
    if target.tls is None:
        return said
    verified = "verified" if target.tls.verify else "not verified (--insecure)"
    return f"{said}, TLS included; certificate for {target.tls.server_name} {verified}"


def expected(expect: contract.ExpectSpec) -> str:
    """The answer that would be ok: "a status from 200 to 299, a body of 13 bytes"."""
    status = "a status from 200 to 299" if expect.status is None else f"status {expect.status}"
    if expect.body_bytes is None:
        return status
    body = f"a body of {numerals.count(expect.body_bytes, 'byte')}"
    return f"{status}, {body}" + (f" with SHA-256 {expect.body_sha256[:12]}…" if expect.body_sha256 else "")


def _parts(exchange: Exchange) -> list[RenderableType]:
    parts = [Text(connected(exchange.record), style="dim"), Text()]
    example = exchange.example
    if example is not None and exchange.record.histograms.connect_time.count:
        parts += [Text(f"> {line}".rstrip(), style="cyan") for line in sent_lines(example)]
        parts.append(Text())
        came = came_lines(example)
        parts += [Text(f"< {line}".rstrip()) for line in came]
        parts += [Text(_cut_exchange(exchange), style="dim")] if _kept(example) >= KEPT_BYTES else []
        parts += [Text()] if came else []
    return [*parts, _verdict(exchange)]


def _cut_exchange(exchange: Exchange) -> str:
    came = exchange.record.received_bytes
    return f"… the first KiB of the body; {came:,} bytes came in all, the head included"


def _verdict(exchange: Exchange) -> Text:
    took = f" after {numerals.duration(exchange.took_ns)}" if exchange.took_ns is not None else ""
    wanted = expected(exchange.asked.expect)
    if exchange.is_met:
        return Text(f"✓ ok{took}: {wanted} was expected, and came", style="green")
    word, why = exchange.outcome, ""
    for found in failures.unexpected_ends(exchange.record):
        each = replace(found, since_ns=None)  # It was sent once.
        word = outcome(each)
        why = diagnosis(each).removeprefix(word).lstrip(";: ")
    parts = [*([why] if why else []), f"{wanted} was expected"]
    return Text(f"✗ {word}{took}: {'; '.join(parts)}", style="bold red")
