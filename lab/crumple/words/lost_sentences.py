"""A server that is lost, in words: plain text, no markup. All verbs that load a server share them."""

import time

from crumple.drawing import numerals
from crumple.machine.life import End
from crumple.record.loss import Lost
from crumple.record.outage import Outage

# How many times at which a server was lost are listed.
GAPS_MAX = 3
# What a server answers for another one behind it that does not.
GATEWAY = frozenset((502, 503, 504))

_INSTEAD = {
    "reset": "it resets the connection of every request",
    "closed-early": "it closes the connection of every request without an answer",
    "malformed": "it answers every request with something else than HTTP",
    "wrong-body": "it answers every request with another body than expected",
}


def how(lost: Lost) -> str:
    """What became of it: "its process 4711 was killed by signal 9 (SIGKILL)"."""
    if lost.end is not None:
        return ended(lost.end)
    if lost.is_stopped:
        return "a signal has stopped its process"
    if lost.refuses or lost.gaps:
        return f"nobody {'listened' if lost.answers_again else 'listens'} at {lost.address} any more"
    if lost.statuses:
        return f"it answers {', '.join(map(str, lost.statuses))} to every request"
    if lost.is_cut:
        return "it closes the connection of every request before the answer is whole"
    if lost.instead in _INSTEAD:
        return _INSTEAD[lost.instead]
    if lost.silent_s is not None:
        return f"a request sent after that got no answer in {numerals.seconds(lost.silent_s)}"
    if lost.alone_s is not None:
        came = numerals.count(lost.outage.answered_after if lost.outage else 0, "answer")
        return f"{came} came after that, and a request alone now takes {numerals.seconds(lost.alone_s)}"
    if lost.answers_again and lost.outage is not None and not lost.gaps:
        lasted = numerals.seconds(lost.outage.lasted_s)
        return f"no request was answered as expected for {lasted}; it answers again"
    return "it answers nothing any more"


def ended(end: End) -> str:
    """How its process ended, and whether the kernel's killer of processes may have done it."""
    memory = ""
    if end.out_of_memory:
        memory = "; memory had run out, and the kernel has killed a process of this machine"
    return f"its process {end.pid} {end.how}{memory}"


def when(lost: Lost) -> str:
    """When it was lost: "4.5 s after measuring began, at 14:03:22 UTC"; empty: that is not known."""
    since_s, at = lost.since_s, _clock(lost)
    if since_s is None:
        is_exact = lost.end is not None and lost.end.at_unix_s is not None
        return f"{'at' if is_exact else 'before'} {at}" if at else ""
    said = _since(since_s)
    return f"{said}, at {at}" if at else said


def before(lost: Lost) -> str:
    """What it had answered, and what was in flight; empty: the load does not show it."""
    seen = next(iter(lost.gaps), lost.outage)
    if seen is None:
        return ""
    answered = f"it had answered {numerals.count(seen.answered, 'request')}"
    if isinstance(seen, Outage) and 0 < seen.ok_measured < seen.answered:
        answered += f", {seen.answered - seen.ok_measured:,} of them in the warm-up"
    flight = "1 was" if seen.in_flight == 1 else f"{seen.in_flight:,} were"
    said = f"{answered}, and {flight} in flight" if seen.in_flight else answered
    after = seen.answered_after if isinstance(seen, Outage) and lost.alone_s is None else 0
    return f"{said}; {numerals.count(after, 'answer')} came after that" if after else said


def again(lost: Lost) -> str:
    """How often it was lost within the load, and since when it answers again; empty: neither."""
    if not lost.gaps:
        return "it answers again" if lost.answers_again and lost.end is not None else ""
    if len(lost.gaps) == 1 and lost.outage is None and lost.answers_again:
        return f"it answers again since {_point(lost.gaps[0].until_s)} after measuring began"
    spans = [f"from {_point(gap.since_s)} to {_point(gap.until_s)}" for gap in lost.gaps[:GAPS_MAX]]
    number = len(lost.gaps) + (lost.outage is not None)
    if lost.outage is not None:
        spans.append(f"from {_point(lost.outage.since_s)} until the load was over")
    listed = ", ".join([*spans, "…"] if len(lost.gaps) > GAPS_MAX else spans)
    said = f"it was lost {number} time{'' if number == 1 else 's'} ({listed}, since measuring began)"
    if not lost.answers_again:
        return said
    return f"{said}, and answers again" + ("" if lost.outage else f" since {_point(lost.gaps[-1].until_s)}")


def sentence(lost: Lost, what: str = "the server was lost") -> str:
    """All of it in a sentence, which begins with `what`: when, how, and what was in flight."""
    said = " ".join(filter(None, (what, when(lost))))
    return "; ".join(filter(None, (f"{said}: {how(lost)}", before(lost), again(lost))))


def until(lost: Lost) -> str:
    """What figures of the load are of: "the 4.5 s before that"; empty: there are none."""
    seen = lost.outage
    if seen is None or lost.gaps or not seen.ok_measured:
        return ""
    return (
        f"the {numerals.seconds(lost.measured_s)} before that" if lost.measured_s else "the time before that"
    )


def remedy(lost: Lost) -> str:
    """What to do about it: one that is up is not to be started."""
    if lost.is_stopped:
        return "let its process go on (kill -CONT), and repeat the load"
    if lost.end is not None and lost.end.out_of_memory:
        return "give it more memory, or look at what takes it; its log may say more"
    if lost.end is not None or lost.gaps:
        if lost.answers_again:
            return "look at its log for why it ended; it runs again"
        if lost.gaps:
            return "look at its log for why it ends; it was started again before"
        return "look at its log, and start it again"
    if lost.refuses:
        return "look at its log for why it stopped listening, and start it again"
    if GATEWAY.intersection(lost.statuses):
        return "look at the log of the server behind it: this one runs, and has no answer of it"
    if lost.statuses:
        return "it runs: look at its log, or see its answer with --debug"
    if lost.instead:
        return "it runs: look at its log for why, or see what it sends with --debug"
    if lost.silent_s is not None:
        return "look at what its threads wait for: a lock, a pool, a query"
    if lost.alone_s is not None:
        return "it runs: look at what its requests wait for"
    return "it runs: look at its log of that time"


def _since(since_s: float) -> str:
    if since_s < 0:
        return f"in the warm-up, {numerals.seconds(-since_s)} before measuring began"
    return f"{numerals.seconds(since_s)} after measuring began"


def _point(at_s: float) -> str:
    """An instant since measuring began, in short: "4.8 s", "−0.30 s"."""
    return f"{'−' if at_s < 0 else ''}{numerals.seconds(abs(at_s))}"


def _clock(lost: Lost) -> str:
    """The time of the day at which it was lost."""
    at_s = lost.end.at_unix_s if lost.end is not None else None
    if at_s is None and lost.began_unix_s:
        since_s = 0.0 if lost.since_s is None else lost.warm_up_s + lost.since_s
        at_s = lost.began_unix_s + since_s
    return "" if at_s is None else f"{time.strftime('%H:%M:%S', time.gmtime(at_s))} UTC"
