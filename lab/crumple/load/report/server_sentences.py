"""Sentences about the server under a load, and alone, for the screens and the page: plain text, no markup."""

from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.machine.program import Program
from crumple.observation import group_words
from crumple.words import cause_sentences, time_sentences

if TYPE_CHECKING:
    from crumple.load.report.load_document import LoadDocument
    from crumple.observation.observed import WorkAlone

# The largest share of what is due in an overload that may pile up, or be given up, without a clause that says
# so.
GROWS_SHARE_MIN = 0.01
# What is left of a request alone, when its parts are named, is named itself if it comes to at least this
# share of the request, and to at least this time in seconds; a smaller rest is left out.
REST_SHARE_MIN, REST_S_MIN = 0.1, 0.002


def overload(load: "LoadDocument") -> str:
    """By how much it was more than the server takes: "overloaded: answers 195 of 300 a second, …"."""
    found = load.overload
    if found is None:
        return ""
    ended, due, grows, given_up = (
        f"{each:,.0f}" if each >= 10 else numerals.significant(each, 2)
        for each in (found.ended_per_s, found.due_per_s, found.grows_per_s, found.given_up_per_s)
    )
    said = [f"overloaded: answers {ended} of {due} a second"]
    if found.grows_per_s > GROWS_SHARE_MIN * found.due_per_s:
        said.append(f"the queue grows by {grows} a second")
    if found.given_up_per_s > GROWS_SHARE_MIN * found.due_per_s:
        said.append(f"{given_up} a second are given up")
    return ", ".join(said)


def time(load: "LoadDocument") -> str:
    """The mean response time by stages, beside the mean that was measured; empty if nobody asked.

    Where the stages are not known, with what to change about the load.
    """
    return time_sentences.by_stages(load.stages, with_remedy=True) if load.stages else ""


def in_parts(load: "LoadDocument") -> str:
    """That the rest of each answer is kept back on its way; empty if nothing says so.

    The stages under load show it; the times of requests alone say so where the stages are not known.
    """
    if load.kept_back_ns:
        return cause_sentences.in_parts(load.kept_back_ns, is_shown=True)
    kept_back_s = load.alone.unacknowledged_s if load.alone is not None else 0.0
    return cause_sentences.in_parts(1e9 * kept_back_s, is_shown=False) if kept_back_s else ""


def program(load: "LoadDocument") -> str:
    """What the server is: its program, process and container, or why that is not known."""
    seen, why = load.program, load.unwatched
    if seen is None:
        return f"not watched: {why}" if why else "not watched"
    inside = f", in container {seen.container}" if seen.container else ""
    more = [each for each in (allowed(seen), why) if each]
    return "; ".join([f"{seen.name}, process {seen.pid}{inside}", *more])


def allowed(seen: Program) -> str:
    """How much CPU time its control groups allow it: "its container 3f2a9c1b0d2e may use 0.5 CPU"."""
    return group_words.allows("quota", seen.quota) if seen.quota else ""


def alone(found: "WorkAlone") -> str:
    """How long a request takes without load, and where it is: "61.9 ms a request: kept back 41.4 ms · …"."""
    parts = {f"waiting for {name}": seconds for name, seconds in found.waits_s.items()}
    if found.cpu_s:
        parts["CPU"] = found.cpu_s
    if found.unacknowledged_s:
        parts["kept back"] = found.unacknowledged_s
    rest_s = found.mean_s - sum(parts.values())
    if rest_s >= max(REST_S_MIN, REST_SHARE_MIN * found.mean_s):
        parts["waiting inside" if found.cpu_s is not None else "else"] = rest_s
    said = f"{numerals.duration(1e9 * found.mean_s)} a request"
    if parts:
        longest_first = sorted(parts.items(), key=lambda part: -part[1])
        each = " · ".join(f"{name} {numerals.duration(1e9 * seconds)}" for name, seconds in longest_first)
        said = f"{said}: {each}"
    return f"{said} ({found.disturbed})" if found.disturbed else said
