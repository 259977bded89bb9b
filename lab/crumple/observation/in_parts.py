"""Whether the rest of each answer waits in the server's kernel for its first part to be acknowledged. Pure.

A server that writes head and body apart, without TCP_NODELAY, has the kernel keep the body back until the
head is acknowledged (Nagle's algorithm), and the client's kernel puts that off for 40 ms. The times alone do
not distinguish this from a server that pauses between head and body. The stages do: in the first case the
server has written the body, so the request is *returning*; in the second it is *inside*.
"""

from crumple.contract import TrialRecord
from crumple.observation.observed import PUT_OFF_S
from crumple.record import histogram
from crumple.record.stages import Budget, NoBudget

# The least share of the time from the first byte to the last that must be *returning*, at the low end of its
# interval, to say that the kernel held the rest back.
RETURNING_SHARE = 0.5
# The kernel keeps no more back than one segment, which holds 64 KiB on loopback. More takes time of itself.
ANSWER_BYTES_MAX = 65_536
# The quantile of the times that is compared.
_MEDIAN = 0.5


def kept_back_ns(record: TrialRecord, budget: Budget | NoBudget | None) -> float | None:
    """Return for how long the rest of an answer is kept back, at the median; None: that is not shown.

    The means would not do: a response time holds the time of connecting, the time to the first byte does not.
    """
    times, answers = record.histograms, record.outcomes.ok
    if not isinstance(budget, Budget) or not answers or record.received_bytes > ANSWER_BYTES_MAX * answers:
        return None
    sent, first = times.service_time or times.response_time, times.time_to_first_byte
    if not histogram.printable(_MEDIAN, first.count):
        return None
    late_ns = histogram.decoded(sent).quantile_ns(_MEDIAN) - histogram.decoded(first).quantile_ns(_MEDIAN)
    low, high = (1e9 * end for end in PUT_OFF_S)
    if not low <= late_ns <= high:
        return None
    return late_ns if budget.part("returning").low_ns >= RETURNING_SHARE * late_ns else None
