"""Sentences about one load, in the words of the glossary: plain text, no markup.

The live view, the summary and the page share them.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.load.report import server_sentences
from crumple.record import failures, outage, windows
from crumple.words import answer_sentences as answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crumple.load.report.load_document import LoadDocument
    from crumple.load.report.load_figures import RequestFigures, Spent, Spread
    from crumple.record.failures import Unexpected

OPEN = "The schedule waits for no answer: time spent queueing for a connection is part of the response time."
TOO_FEW = f"{numerals.ABSENT}  too few answers: a quantile q is shown from 10/(1−q) of them on"
OVERLOAD_LASTS = "the response times are of a queue that grows: a longer load has longer ones"
LOOPBACK = "Loopback on one small machine ranks mechanisms, not data centres."

# Histogram of the record → its name, and the span that it measures.
SPREADS = {
    "response_time": ("response time", "from due to the last byte"),
    "service_time": ("service time", "from sent to the last byte"),
    "lateness": ("lateness", "from due to sent"),
    "engine_lateness": ("engine's lateness", "its own part: from due, with a connection free, to sent"),
    "time_to_first_byte": ("time to first byte", "from sent to the first byte"),
    "connect_time": ("connect time", "from the attempt to the connection, TLS included"),
    "failed": ("failed", "from due to the failure"),
    "timed_out": ("timed out", "from due to giving up"),
    "unfinished_age": ("unfinished", "how long they had been due at the end"),
}
# The smallest share of its time that a load must have run for not to count as ended early.
_WHOLE = 0.99
# The smallest share of renewed connections that is mentioned: with fewer, connections were kept alive as
# asked.
_RENEWED_SHARE = 0.1
_NOT_SENT = {
    "too_late": "no connection was free in time",
    "ports": "no port was left",
    "descriptors": "no descriptor was left",
    "memory": "no memory for a socket",
    "forbidden": "a rule of this machine forbade the connection",
    "route": "this machine has no route to the server",
}


def asked(spec: contract.TrialSpec, url: str) -> str:
    """What was sent, and where to: "GET http://…", or "3 requests by weight to http://…"."""
    if len(spec.requests) == 1:
        return f"{spec.requests[0].method} {url}"
    return f"{numerals.count(len(spec.requests), 'request')} by weight to {url}"


def shape(spec: contract.TrialSpec, load: "LoadDocument | None" = None) -> str:
    """When requests are due: "open: 20,000 /s, Poisson, on up to 64 connections kept alive".

    `load`: the load when it is over; only then it is known whether connections were kept alive.
    """
    drawn = spec.shape
    life = _life(spec, load)
    if drawn.kind == "open":
        arrivals = "Poisson" if drawn.arrivals == "poisson" else "even"
        said = f"{_rates(drawn.rates)}, {arrivals}, on up to {_connections(drawn.connections)}{life}"
    elif drawn.kind == "ramp":
        over = seconds(drawn.over_s)
        connections = _connections(drawn.to_connections)
        said = f"{drawn.from_connections:,} to {connections}{life} over {over}{_pause(drawn)}"
    else:
        said = f"{_connections(drawn.connections)}{life}{_pause(drawn)}"
    through = f", through the proxy {spec.target.address}" if spec.target.proxy else ""
    return f"{drawn.kind}: {said}{through}"


def circumstances(record: contract.TrialRecord) -> list[str]:
    """How much was measured, with which seed, by which engine, and when."""
    spec = record.spec
    warm_up = f" after {_until(spec.warm_up.stop)} of warm-up" if spec.warm_up else ""
    began = datetime.fromtimestamp(record.began_unix_ns // 10**9, UTC)
    return [
        f"{_measured(record)}{warm_up}",
        f"seed {spec.seed}",
        f"engine {record.engine_version}, {numerals.count(_hosts(record) * spec.threads, 'thread')}"
        f"{', spinning' if spec.pacing == 'spin' else ''}",
        f"{began:%Y-%m-%d %H:%M} UTC",
    ]


def _hosts(record: contract.TrialRecord) -> int:
    """Return from how many machines the load came."""
    return len(record.load_hosts) or 1


def arrivals(load: "LoadDocument") -> str:
    """Whole answers by status; whose clock timed them, and what that means."""
    came = answers.statuses(load.record)
    return f"{came}; {_clock(load)}" if came else _clock(load)


def _clock(load: "LoadDocument") -> str:
    seen, held_ns = load.record.arrivals, load.held_mean_ns
    if seen.clock == "engine":
        return "timed by the engine: its own delay counts as the server's"
    held = f"; read by the engine {numerals.duration(held_ns)} later on average" if held_ns else ""
    unstamped = f"; {seen.unstamped:,} without a timestamp, by the engine" if seen.unstamped else ""
    return f"timed by the kernel{held}{unstamped}"


def identity(record: contract.TrialRecord) -> str:
    """Every scheduled request, and how it ended: "1,000 scheduled = 990 ok + 10 timeout"."""
    ends = {
        f"{name} (TLS failed)" if failures.tls_fault(record, name) else name: number
        for name, number in record.outcomes.as_dict().items()
        if number or name == "ok"
    }
    sign = "=" if record.scheduled == record.outcomes.total else "≠"
    return f"{record.scheduled:,} scheduled {sign} " + " + ".join(
        f"{number:,} {name}" for name, number in ends.items()
    )


def validity(load: "LoadDocument") -> str:
    """Whether the load measured the server, in a word; in more words if that could be read as "it passed"."""
    word = load.validity.word
    fails = any(each.state == "holds" for each in load.fail_if)
    return f"{word} measurement of a load that fails" if fails and word == "valid" else word


def losses(load: "LoadDocument") -> str:
    """Return the shares of requests that failed and were not sent, and the users without an answer.

    The former is a share of the requests that ended, the latter of those that were due. Empty: none.
    """
    if load.lost is not None:
        # How many failed after it was lost depends on how long the load went on.
        return ""
    record, silent = load.record, load.unanswered
    said = []
    if record.outcomes.failed:
        said.append(f"{numerals.share(failures.share(record.outcomes))} failed")
    if record.outcomes.not_sent:
        said.append(f"{numerals.share(record.outcomes.not_sent / record.scheduled)} not sent")
    if silent is not None:
        said.append(f"{silent.connections:,} of {silent.of:,} connections unanswered{silent.unopened}")
    return ", ".join(said)


def not_sent(record: contract.TrialRecord) -> str:
    """Why requests were not sent; empty if all were."""
    why = {name: number for name, number in record.not_sent.model_dump().items() if number}
    said = _NOT_SENT | ({"too_late": _too_late(record)} if record.spec.stop.kind == "requests" else {})
    reasons = [f"{f'{number:,} ' if len(why) > 1 else ''}{said[name]}" for name, number in why.items()]
    return f"not sent: {', '.join(reasons)}" if reasons else ""


def _too_late(record: contract.TrialRecord) -> str:
    """Why requests were too late in a load that ends by their number: usually its time was over before."""
    stop = record.spec.stop
    assert stop.kind == "requests"
    if record.measured_ns < _WHOLE * stop.within_s * 1e9:
        if record.spec.shape.kind == "open":
            return _NOT_SENT["too_late"]
        return f"the load was ended before all {stop.requests:,} were sent"
    said = f"the time, {seconds(stop.within_s)}, was over before all {stop.requests:,} were sent"
    return f"{said}, or {_NOT_SENT['too_late']}" if record.spec.shape.kind == "open" else said


def in_flight(record: contract.TrialRecord) -> str:
    """The requests that the end of a load cut off: "in flight, oldest 1.20 ms"; empty: none."""
    oldest_ns = record.histograms.unfinished_age.max_ns
    if not record.outcomes.unfinished or oldest_ns is None:
        return ""
    return f"in flight, oldest {numerals.duration(oldest_ns)}"


def requests(record: contract.TrialRecord) -> str:
    """How every request ended, and why some did not."""
    cut_off = in_flight(record)
    said = identity(record) + (f" ({cut_off})" if cut_off else "")
    return "; ".join(filter(None, (said, not_sent(record))))


def failed(request: "RequestFigures", ends: "Sequence[Unexpected]") -> str:
    """How many requests of one kind failed, and how: "312 (503 × 300, reset × 12)"; "0"."""
    ways = ", ".join(answers.short(end) for end in ends)
    return f"{request.outcomes.failed:,}{f' ({ways})' if ways else ''}"


def warnings(load: "LoadDocument") -> list[str]:
    """What may have affected the figures, without failures: these stand beside the verdict in more detail."""
    slow = slow_connects(load)
    known = ["", failures.sentence(load.record)]
    lasts = OVERLOAD_LASTS if load.overload else ""
    grew = ""
    if load.lost is None and outage.grew_until_timeout(load.record):
        grew = f"response times grew until they reached -t, {seconds(load.record.spec.timeouts.request_s)}"
    if slow:
        # The warning about slow connects states the effect of segments sent again; add only their number.
        known.append(failures.sent_again_sentence(load.record))
        slow = "; ".join(filter(None, (slow, failures.describe_segments(load.record))))
    return [
        each for each in (lasts, grew, *load.validity.warnings, slow, compressible(load)) if each not in known
    ]


def compressible(load: "LoadDocument") -> str:
    """That the server compresses for clients that ask for it, with both sizes; empty if it does not."""
    found = load.compressible
    if found is None:
        return ""
    sizes = f"{numerals.size(found.plain_bytes)} → {numerals.size(found.compressed_bytes)}"
    return f"the server would compress: {sizes}; clients ask for it: -H 'Accept-Encoding: {found.encoding}'"


def slow_connects(load: "LoadDocument") -> str:
    """Why connects took a second or more, and the effect on the times; empty if none took so long."""
    number = load.slow_connects
    if not number:
        return ""
    spec = load.record.spec
    why = "the server's backlog was full"
    if not local(spec):
        why += ", or the network lost a packet,"
    why += " and the kernel sent the SYN again"
    if spec.target.tls:
        why += ", or the TLS handshake was slow"
    return f"{numerals.count(number, 'connect')} took 1 s or more: {why}; the tail from 1 s on comes from it"


def facts(load: "LoadDocument") -> list[tuple[str, str]]:
    """The other facts, beside times and requests, by name; those with nothing to say are left out."""
    # Imported here because it takes time before a load, and the live view needs none of it.
    from crumple.load.report import server_sentences
    from crumple.words import cause_sentences, cpu_time_sentences

    rows = [
        ("throughput", throughput(load)),
        ("alone", server_sentences.alone(load.alone) if load.alone is not None else ""),
        ("time", server_sentences.time(load)),
        ("an answer", server_sentences.in_parts(load)),
        *(cpu_time_sentences.rows(load.record) if load.lost is None else ()),
        *cause_sentences.in_short(load.findings),
        ("connections", connections(load)),
        ("answers", arrivals(load)),
        ("engine", engine(load)),
        ("server", server(load)),
    ]
    return [(name, said) for name, said in rows if said]


def throughput(load: "LoadDocument") -> str:
    """Ok answers and bytes per second; in open shapes beside what was due."""
    record = load.record
    said = f"{numerals.rate(load.throughput_per_s)} ok"
    if load.lost is not None:
        return said if load.throughput_per_s else ""
    # A load that ends after a number of requests schedules all of them, even those not due in its time.
    by_number = record.spec.stop.kind == "requests" and record.not_sent.too_late
    if record.spec.shape.kind == "open" and not by_number:
        said += f" of {numerals.rate(load.due_per_s)} due"
    received, sent = (
        numerals.size(per_s or 0.0) for per_s in (load.received_bytes_per_s, load.sent_bytes_per_s)
    )
    return f"{said}, {received}/s received, {sent}/s sent"


def connections(load: "LoadDocument") -> str:
    """How many connections were opened and in which time, closed by the server, and requests retried."""
    record, connect = load.record, load.times["connect_time"]
    said = f"{record.connections_opened:,} opened"
    if connect.count:
        median = connect.quantile_ns.get(0.5)
        typical = f"p50 {numerals.duration(median)}, " if median is not None else ""
        said += f", connect time {typical}max {numerals.duration(connect.max_ns)}"
    said += _closed_by_server(load)
    if record.retried:
        said += f"; {numerals.count(record.retried, 'request')} retried"
    return said


def _closed_by_server(load: "LoadDocument") -> str:
    record = load.record
    closed = record.connections_closed_by_server
    if load.server_closes:
        return "; the server closed every connection after one answer (HTTP/1.0 or Connection: close)"
    return f"; the server closed {closed:,}" if closed and record.spec.connection == "keep-alive" else ""


def engine(load: "LoadDocument") -> str:
    """The engine's CPU time, lateness and ceiling."""
    if load.engine is None:
        return "its cost could not be read"
    cores = load.record.spec.cores
    number = _hosts(load.record) * (len(cores) or load.record.spec.threads)
    named = f"core{'s' if number > 1 else ''} {', '.join(map(str, cores))}"
    of = named if len(cores) == number else numerals.count(number, "core")
    said = f"{_each(load.engine)}{numerals.share(load.engine_share)} of {of}"
    late = load.times.get("engine_lateness")
    if late and 0.99 in late.quantile_ns:
        said += f"; own lateness p99 {numerals.duration(late.quantile_ns[0.99])}"
    if load.ceiling_per_s is not None:
        at_least = "at least " if load.ceiling_at_least else ""
        where = "here" if load.loaded_from is None else "there"
        said += f"; ceiling {where} {at_least}{numerals.rate(load.ceiling_per_s)}"
    return said


def server(load: "LoadDocument") -> str:
    """What the watched server cost, or why none was watched; empty if nobody asked."""
    watched = load.record.probes.server
    if watched is None:
        return f"not watched: {load.unwatched}" if load.unwatched else ""
    if load.lost is not None:
        return ""
    if load.server is None:
        why = windows.why(load.record, watched)
        return f"could not be read{f' ({why})' if why else ''}"
    seen = load.program
    within = f"process {seen.pid} in container {seen.container}: " if seen and seen.container else ""
    said = (
        f"{within}{_each(load.server)}{numerals.significant(load.server.cores, 2)} cores; "
        f"peak {numerals.size(load.server.memory_peak_bytes)}, "
        f"{numerals.count(load.server.processes_max, 'process', 'processes')}, "
        f"{numerals.count(load.server.threads_max, 'thread')}"
    )
    more = (server_sentences.allowed(seen) if seen else "", load.unwatched)
    return "; ".join([said, *filter(None, more)])


def quantiles(spread: "Spread", wanted: tuple[float, ...]) -> list[str]:
    """Each wanted quantile, or a dash where there are too few samples for it."""
    return [time_at(spread, q) for q in wanted]


def time_at(spread: "Spread", q: float) -> str:
    """The quantile `q`: "9.20 ms", "≤9.20 ms" if it is an upper bound, or a dash."""
    return f"{'≤' if q in spread.at_most else ''}{numerals.duration(spread.quantile_ns.get(q))}"


def quantile(q: float) -> str:
    """The name of a quantile: 0.999 → "p99.9"."""
    return f"p{q * 100:.10g}"


def seconds(value: float) -> str:
    """A span as it was asked for: "2.5 s", "5 min"."""
    return numerals.seconds(value) if value >= 60 else f"{_plain(round(value, 3))}{NARROW}s"


def local(spec: contract.TrialSpec) -> bool:
    """Whether the load stayed on this machine, as far as the address shows."""
    return spec.target.address.startswith(("127.", "[::1]", "unix:"))


def _rates(rates: tuple[contract.RateSpec, ...]) -> str:
    if len(rates) == 1:
        only = rates[0]
        over = f" over {seconds(only.duration_s)}" if only.from_per_s != only.to_per_s else ""
        return f"{rate(only)}{over}"
    first, last = rates[0].from_per_s, rates[-1].to_per_s
    return f"{len(rates)} steps from {_plain(first)} to {_plain(last)}{NARROW}/s"


def rate(each: contract.RateSpec) -> str:
    """The rate of a step: "1,000 /s", "100 to 2,000 /s"."""
    said = f"{_plain(each.to_per_s)}{NARROW}/s"
    return said if each.from_per_s == each.to_per_s else f"{_plain(each.from_per_s)} to {said}"


def _plain(value: float) -> str:
    """A number as it was typed, with all its digits."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _connections(number: int) -> str:
    return numerals.count(number, "connection")


def _life(spec: contract.TrialSpec, load: "LoadDocument | None") -> str:
    """How long connections were kept."""
    if spec.connection == "per-request":
        return " at a time, a new one per request"
    if load is None:
        return ""
    if load.server_closes:
        return " at a time, which the server closed after each answer"
    if not answers.statuses(load.record):
        return ""
    if load.renewed_share > _RENEWED_SHARE:
        return f" at a time, a new one after {numerals.share(load.renewed_share)} of the requests"
    return " kept alive"


def _pause(drawn: contract.ClosedShapeSpec | contract.RampShapeSpec) -> str:
    if not drawn.pause_ms:
        return ""
    on_average = " on average, exponential" if drawn.pause == "exponential" else ""
    return f", pausing {numerals.duration(drawn.pause_ms * 1e6)}{on_average}"


def _until(stop: contract.StopSpec) -> str:
    if stop.kind == "requests":
        return numerals.count(stop.requests, "request")
    return seconds(stop.duration_s)


def _measured(record: contract.TrialRecord) -> str:
    stop, measured_s = record.spec.stop, record.measured_ns / 1e9
    if stop.kind == "requests":
        left = record.not_sent.too_late
        part = f"{record.scheduled - left:,} of " if left else ""
        return f"{part}{_until(stop)} in {seconds(round(measured_s, 1))}"
    cut_short = measured_s < _WHOLE * stop.duration_s
    return f"{seconds(round(measured_s, 1))} of {_until(stop)}" if cut_short else _until(stop)


def _each(spent: "Spent") -> str:
    if spent.cpu_per_request_us is None:
        return ""
    return f"{numerals.significant(spent.cpu_per_request_us)}{NARROW}µs CPU/request, "
