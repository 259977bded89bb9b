"""What limits the servers of an experiment, in words: plain text, no markup. Facts come from `why`."""

from collections.abc import Iterable

from crumple.limit.finding import CAUSES
from crumple.run.report import server_names, why
from crumple.run.report.view import ExperimentView
from crumple.run.report.why import Limit, ServerWhy
from crumple.verdict.verdict_sentences import enumerate_parts
from crumple.words import cause_sentences, time_sentences

ABOUT = (
    "Times are means over the starts that count. A cause limits a server if it comes first in at least half "
    "of them. How long a request takes alone is not measured here. So a server counts as limited where "
    "requests queue in front of it, fail or are not answered, or where its threads have no core."
)


def limit(found: ServerWhy) -> str:
    """Return what limits a server and what shows it, or why that is not known."""
    if found.limit is None:
        return f"not known: {found.no_limit}"
    return f"{cause_sentences.finding(found.limit.finding)}{_starts(found.limit)}"


def _starts(found: Limit) -> str:
    if found.starts == found.of:
        return ""
    judged = "" if found.judged == found.of else f"; {found.of - found.judged} more could not be judged"
    return f"; in {found.starts} of {found.judged} starts{judged}"


def time(found: ServerWhy) -> str:
    """Return where the mean response time of a server goes, or why that is not known."""
    if found.time is None:
        return f"not known: {found.no_time}"
    said = time_sentences.by_stages(found.time)
    if found.timed == found.starts:
        return said
    of = f"in {found.timed} of {found.starts} starts"
    return f"{said}; {of}, of the others it is not known: {found.no_time}"


def rows(shown: ExperimentView) -> list[tuple[str, str, str]]:
    """Return each server's name, what limits it, and where its time goes."""
    return [(each.server.name, limit(each), time(each)) for each in why.servers(shown)]


def in_short(shown: ExperimentView) -> str:
    """Return "limited by CPU (go-nethttp, rust-hyper), perhaps by workers (node-http)"; empty: not known.

    Perhaps: what was read makes it likely, and no experiment has tried it.
    """
    names = server_names.short([row.name for row in shown.servers])
    parts: list[str] = []
    for sure in ("tested", "likely"):
        of_cause: dict[str, list[str]] = {}
        for each in why.servers(shown):
            if each.limit is not None and each.limit.finding.sure == sure:
                of_cause.setdefault(CAUSES[each.limit.finding.cause], []).append(names[each.server.name])
        said = [f"{cause} ({', '.join(servers)})" for cause, servers in of_cause.items()]
        by = "limited by" if sure == "tested" else "perhaps by" if parts else "perhaps limited by"
        parts += [f"{by} {', '.join(said)}"] if said else []
    return ", ".join(parts)


def of_claim(found: Iterable[tuple[ExperimentView, ServerWhy]]) -> str:
    """Return "Limited here: node-http by one thread (one thread uses 99 % of a core …)"; empty: not known."""
    said = dict.fromkeys(
        f"{each.server.name} by {limit(each)}" for _, each in found if each.limit is not None
    )
    return f"Limited here: {enumerate_parts([*said])}." if said else ""
