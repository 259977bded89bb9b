"""TCP segments that were sent again while measuring, and what comes of it: a record → a sentence. Pure."""

from crumple.contract import TrialRecord

# One segment sent again in so many requests is more than the p99.9 can hide.
REQUESTS_PER_RETRANSMIT = 10_000
SYN_AGAIN_NS = 1_000_000_000


def segments(record: TrialRecord) -> int:
    """How many this machine sent again, whichever of its programs; 0 where that could not be read."""
    sockets = record.probes.sockets
    read = zip(sockets.at_ns, sockets.retransmitted, strict=True)
    known = [(at_ns, number) for at_ns, number in read if number is not None]
    if not known:
        return 0
    before = [number for at_ns, number in known if at_ns <= record.warm_up_ns] or [known[0][1]]
    return known[-1][1] - before[-1]


def number(record: TrialRecord) -> str:
    """ "312 TCP segments were sent again on this machine (…)"; empty where they are too few to matter."""
    again = segments(record)
    if again * REQUESTS_PER_RETRANSMIT <= record.scheduled:
        return ""
    sent = "one TCP segment was" if again == 1 else f"{again:,} TCP segments were"
    return (
        f"{sent} sent again on this machine, by whichever program (limit 1 for "
        f"{REQUESTS_PER_RETRANSMIT:,} requests)"
    )


def sentence(record: TrialRecord) -> str:
    """The same with what it means and what to do; empty where there is nothing to say."""
    said = number(record)
    return said and (
        f"{said}: packets were lost or a backlog was full{_longest(record)}; "
        "look at the network, or raise the server's backlog"
    )


def _longest(record: TrialRecord) -> str:
    """What a SYN that was not answered does to the times: the kernel sends the next a second later."""
    longest_ns = record.histograms.connect_time.max_ns or 0
    if longest_ns < SYN_AGAIN_NS:
        return ""
    return (
        f", and to connect took up to {longest_ns / 1e9:.3g} s, for the kernel sends a SYN again after 1 s "
        "and more: the longest response times are of that"
    )
