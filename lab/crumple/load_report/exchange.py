"""One request that was sent once: as sent, what came, and whether that was expected.

Pure: record → text, or data. What a server sent is made fit to be shown.
"""

from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from crumple import contract
from crumple.drawing import numerals, terminal
from crumple.drawing.shown import shown
from crumple.load_report import answer_sentences, answers

WIDTH_MIN, WIDTH_MAX = 80, 160
EXAMPLE_BODY_BYTES = 1024


@dataclass(frozen=True)
class Exchange:
    """The record of one request, sent once."""

    record: contract.TrialRecord

    @property
    def asked(self) -> contract.Request:
        """What was asked."""
        return self.record.spec.requests[0]

    @property
    def example(self) -> contract.Example | None:
        """Both sides as they went over the wire; None where nothing did."""
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
    def took_ns(self) -> int | None:
        """From due to its end."""
        times = self.record.histograms
        ends = (times.response_time, times.failed, times.timed_out, times.unfinished_age)
        return next((each.max_ns for each in ends if each.count), None)


def text(exchanges: list[Exchange], width: int | None = None, styled: bool | None = None) -> str:
    """All of them. Without `width` and `styled`: as the terminal has it, plain where there is none."""
    columns = width or terminal.width(WIDTH_MIN, WIDTH_MAX)
    parts = [part for exchange in exchanges for part in (*_parts(exchange), Text())]
    return terminal.printed(Group(*parts[:-1]), columns, styled)


def document(exchanges: list[Exchange]) -> list[dict[str, Any]]:
    """The same as data. Times in ns; the sides unescaped, as the engine kept them."""
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
    """To where, how long it took, and what is known of TLS."""
    target, took_ns = record.spec.target, record.histograms.connect_time.max_ns
    if took_ns is None:
        fault = f": {shown(record.tls_fault)}" if record.tls_fault else ""
        return f"no connection to {target.address}{fault}"
    said = f"connected to {target.address} in {numerals.duration(took_ns)}"
    if target.tls is None:
        return said
    verified = "verified" if target.tls.verify else "not verified (--insecure)"
    return f"{said}, TLS included; certificate for {target.tls.server_name} {verified}"


def expected(expect: contract.Expect) -> str:
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
        parts += [Text(f"> {line}".rstrip(), style="cyan") for line in answer_sentences.sent_lines(example)]
        parts.append(Text())
        came = answer_sentences.came_lines(example)
        parts += [Text(f"< {line}".rstrip()) for line in came]
        parts += [Text(_cut(exchange), style="dim")] if _is_cut(example) else []
        parts += [Text()] if came else []
    return [*parts, _verdict(exchange)]


def _is_cut(example: contract.Example) -> bool:
    return len(example.body.encode(errors="surrogatepass")) >= EXAMPLE_BODY_BYTES


def _cut(exchange: Exchange) -> str:
    came = exchange.record.received_bytes
    return f"… the first KiB of the body; {came:,} bytes came in all, the head included"


def _verdict(exchange: Exchange) -> Text:
    took = f" after {numerals.duration(exchange.took_ns)}" if exchange.took_ns is not None else ""
    wanted = expected(exchange.asked.expect)
    if exchange.is_met:
        return Text(f"✓ ok{took}: {wanted} was expected, and came", style="green")
    word, why = exchange.outcome, ""
    for each in answers.unexpected(exchange.record):
        word = answer_sentences.outcome(each)
        why = answer_sentences.diagnosis(each).removeprefix(word).lstrip(";: ")
    parts = [*([why] if why else []), f"{wanted} was expected"]
    return Text(f"✗ {word}{took}: {'; '.join(parts)}", style="bold red")
