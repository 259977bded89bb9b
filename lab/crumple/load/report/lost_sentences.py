"""A server that is lost, in words: plain text, no markup. All verbs that load a server share them."""

import time

from crumple.drawing import numerals
from crumple.load.lost import Lost
from crumple.machine.life import End

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
    if lost.refuses:
        return f"nobody listens at {lost.address} any more"
    if lost.statuses:
        return f"it answers {', '.join(map(str, lost.statuses))} to every request"
    if lost.instead in _INSTEAD:
        return _INSTEAD[lost.instead]
    if lost.silent_s is not None:
        return f"a request sent after that got no answer in {numerals.seconds(lost.silent_s)}"
    if lost.alone_s is not None:
        came = numerals.count(lost.outage.answered_after if lost.outage else 0, "answer")
        return f"{came} came after that, and a request alone now takes {numerals.seconds(lost.alone_s)}"
    if lost.answers_again and lost.outage is not None:
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
    said = f"{numerals.seconds(since_s)} after measuring began"
    if since_s < 0:
        said = f"in the warm-up, {numerals.seconds(-since_s)} before measuring began"
    return f"{said}, at {at}" if at else said


def before(lost: Lost) -> str:
    """What it had answered, and what was in flight; empty: the load does not show it."""
    if lost.outage is None:
        return ""
    seen = lost.outage
    answered = f"it had answered {numerals.count(seen.answered, 'request')}"
    flight = "1 was" if seen.in_flight == 1 else f"{seen.in_flight:,} were"
    return f"{answered}, and {flight} in flight" if seen.in_flight else answered


def sentence(lost: Lost, what: str = "the server was lost") -> str:
    """All of it in a sentence, which begins with `what`: when, how, and what was in flight."""
    said = " ".join(filter(None, (what, when(lost))))
    return "; ".join(filter(None, (f"{said}: {how(lost)}", before(lost))))


def until(lost: Lost) -> str:
    """What figures of the load are of: "the 4.5 s before that"; empty: there are none."""
    seen = lost.outage
    if seen is None or not seen.ok_measured:
        return ""
    before_s = min(seen.measured_s, lost.since_s or seen.measured_s)
    return f"the {numerals.seconds(before_s)} before that"


def remedy(lost: Lost) -> str:
    """What to do about it."""
    if lost.is_stopped:
        return "let its process go on (kill -CONT), and repeat the load"
    if lost.end is not None and lost.end.out_of_memory:
        return "give it more memory, or look at what takes it; its log may say more"
    return "look at its log, and start it again"


def _clock(lost: Lost) -> str:
    """The time of the day at which it was lost."""
    at_s = lost.end.at_unix_s if lost.end is not None else None
    if at_s is None and lost.began_unix_s:
        since_s = lost.warm_up_s + lost.outage.since_s if lost.outage is not None else 0.0
        at_s = lost.began_unix_s + since_s
    return "" if at_s is None else f"{time.strftime('%H:%M:%S', time.gmtime(at_s))} UTC"
