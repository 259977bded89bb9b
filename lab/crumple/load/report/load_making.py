"""The document of a load that is over, made of its record and of what is known beside it. Pure."""

from typing import Any, TypedDict, Unpack

from crumple.contract import HistogramRecord, TrialRecord
from crumple.documents import result
from crumple.gate.condition import Outcome
from crumple.limit.finding import Said
from crumple.load.compression import Compressible
from crumple.load.report import load_document, load_figures, load_headline, load_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import NO_SPREAD, SECOND_NS, UnexpectedEnd
from crumple.machine.program import Program
from crumple.observation import in_parts
from crumple.observation.observed import WorkAlone
from crumple.record import failures, histogram, stages
from crumple.record.engine_limits import engine_share
from crumple.record.loss import Lost
from crumple.record.overload import overload
from crumple.record.validity import Validity
from crumple.words import lost_sentences

# The version of the JSON of a load, by which a reader knows its fields.
VERSION = 1
# The kernel sends an unanswered SYN again after a second; half a percent allows for a histogram's buckets.
_SYN_AGAIN_NS = 0.995 * SECOND_NS


class KnownBeside(TypedDict, total=False):
    """What is known of a load beside its record: fields of its document."""

    fail_if: tuple[Outcome, ...]
    ceiling_per_s: float | None
    ceiling_at_least: bool
    idle_cores: float | None
    alone: WorkAlone | None
    compressible: Compressible | None
    program: Program | None
    unwatched: str | None


def make(
    record: TrialRecord,
    validity: Validity,
    url: str,
    command: str,
    *,
    findings: tuple[Said, ...] = (),
    lost: Lost | None = None,
    ended_early: bool = False,
    tags: tuple[str, ...] = (),
    **beside: Unpack[KnownBeside],
) -> LoadDocument:
    """Return the document of a load, which has no name yet.

    `url`: as typed; `command`: the command that repeats it. `lost`: how the server was lost; then nothing is
    in it that would rest on the time after that.
    """
    if lost is not None:
        validity = Validity("not-valid", (_problem(lost),), ())
        findings = tuple(each for each in findings if getattr(each, "cause", "") == "limiter")
        beside["alone"] = None
    known: dict[str, Any] = {**_UNKNOWN, **beside, "findings": findings}
    made = LoadDocument(
        **result.head(
            "load",
            VERSION,
            command=command,
            began_unix_s=record.began_unix_ns / SECOND_NS,
            ended_early=ended_early,
            asked=load_sentences.asked(record.spec, url),
            headline="",
            engine_version=record.engine_version,
            tags=tags,
        ),
        url=url,
        validity=validity,
        # An engine that was late at times does not make a queue grow; one that was the limit does.
        overload=overload(record) if validity.word in ("valid", "schedule-missed") else None,
        lost=lost,
        record=record,
        **_counts(record),
        **_per_second(record, lost),
        **_figures(record, lost, known["idle_cores"]),
        **{**known, "unwatched": known["unwatched"] or None},
    )
    return made.model_copy(update={"headline": load_headline.headline(made)})


_UNKNOWN: KnownBeside = {
    "fail_if": (),
    "ceiling_per_s": None,
    "ceiling_at_least": False,
    "idle_cores": None,
    "alone": None,
    "unwatched": None,
}


def _problem(lost: Lost) -> str:
    until, sentence = lost_sentences.until(lost), lost_sentences.sentence(lost)
    return f"{sentence}; all figures are of {until}" if until else f"{sentence}; no figure is of it"


def _counts(record: TrialRecord) -> dict[str, Any]:
    """Return the counts of the record."""
    statuses = failures.answers_by_status(record).items()
    return {
        "scheduled": record.scheduled,
        "outcomes": record.outcomes,
        "statuses": {str(status): count for status, count in statuses},
        "unexpected": tuple(UnexpectedEnd.of(each) for each in failures.unexpected_ends(record)),
        "users": record.users,
        "users_unanswered": record.users_unanswered,
        "connections_opened": record.connections_opened,
        "connections_closed_by_server": record.connections_closed_by_server,
        "slow_connects": _slow(record.histograms.connect_time),
    }


def _slow(connects: HistogramRecord) -> int:
    """Return how many connects took so long that the kernel had sent the SYN again."""
    is_none = (connects.max_ns or 0) <= _SYN_AGAIN_NS
    return 0 if is_none else histogram.decoded(connects).count_above(_SYN_AGAIN_NS)


def _per_second(record: TrialRecord, lost: Lost | None) -> dict[str, Any]:
    """Return what went through per second, until the server was lost; None: that is not known."""
    seconds = load_document.counted_s(record, lost)
    outage = lost.outage if lost is not None else None
    counts = {
        "throughput_per_s": record.outcomes.ok if outage is None else outage.ok_measured,
        "received_bytes_per_s": record.received_bytes,
        "sent_bytes_per_s": record.sent_bytes,
    }
    unknown = None if lost is not None else 0.0
    return {name: count / seconds if seconds else unknown for name, count in counts.items()}


def _figures(record: TrialRecord, lost: Lost | None, idle_cores: float | None) -> dict[str, Any]:
    """Return times and costs; without the server's side and the share of failures if it was lost."""
    budget = stages.budget(record, idle_cores or 0.0) if lost is None else None
    spreads = load_figures.spreads(record)
    ok = record.outcomes.ok
    return {
        "failed_share": failures.share(record.outcomes) if lost is None else None,
        "times": spreads if load_document.has_times(lost) else dict.fromkeys(spreads, NO_SPREAD),
        "requests": load_figures.by_request(record, has_times=load_document.has_times(lost)),
        "load_hosts": load_figures.by_host(record),
        "steps": load_figures.steps(record, load_document.counted_s(record, lost)),
        "engine": load_figures.spent(record, record.probes.engine),
        "engine_share": engine_share(record),
        "held_mean_ns": record.arrivals.held_ns / ok if ok else None,
        "server": load_figures.spent(record, record.probes.server) if lost is None else None,
        "stages": budget,
        "kept_back_ns": in_parts.kept_back_ns(record, budget),
    }
