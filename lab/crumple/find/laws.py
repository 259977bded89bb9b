"""The laws by which levels show where a server breaks, and what each law takes from the load. Pure.

The engine computes how likely a level is by a law (`engine/src/weigh/queue_law.rs`, `share_law.rs`).

**Where a queue grows** a level that held at a load slightly below the server's capacity says little, since
the wait grows beyond the limit only now and then. The breaking point lies below the capacity, by a distance
that follows from how much arrivals and the work of requests vary.

**Where slow or failed answers come one by one**, their share rises with the load. Answers that came in
bunches count as fewer: their number is divided by how much more it varies within levels than that of
independent answers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from crumple import contract
from crumple.find.seen import Base, PartEvidence
from crumple.stats.shares import APART

# How exactly the variance is known, as a logarithm: that of arrivals; that of the work, which some answers
# show; and what is added for a small queue, divided by the number of requests that fit into the limit. The
# fewer fit, the less is a queue like a walk of small steps.
_KNOWN_TO, _READ_TO, _SMALL = 0.15, 0.5, 1.5
# The least variance of arrivals and work together, and the largest of the work alone, with which the law of
# queues computes.
VARIANCE_MIN, ANSWERS_VARIANCE_MAX = 0.05, 10.0
# The least share of the limit that has to be left for a queue, beside the response time without one.
ROOM_SHARE_MIN = 0.2
# The fewest requests for which the limit has room in a queue: with fewer the wait is not a walk of small
# steps.
QUEUE_MIN = 12.0
# How long a wait stays beyond the limit on average, at least, in seconds. If it is shorter, counting answers
# shows more.
BEYOND_S_MIN = 0.05
# How far from the limit a share is, as a factor of odds, if it does not show how answers near the limit come.
FAR = 8.0


@dataclass(frozen=True)
class Queue:
    """A queue out of which slow answers come. `limit`: the objective's share, `limit_s`: its time.

    `calm`: response times without a queue; `arrivals`: variance of the gaps between requests over the square
    of their mean, which is 1 for independent users and 0 for even gaps; `level_s`: the length of a level that
    holds; `near`: a load near the breaking point.
    """

    limit: float
    limit_s: float
    calm: Base
    arrivals: float
    level_s: float
    near: float

    @property
    def holds(self) -> bool:
        """Whether the law of queues is valid near that load."""
        law = self.law
        return law.room_s * self.near >= QUEUE_MIN and law.beyond_s_per_load * self.near >= BEYOND_S_MIN

    @property
    def gap(self) -> float:
        """The distance between the breaking point and the capacity, as a logarithm."""
        return math.log1p(self.law.log_share * self.law.variance / (2 * self.law.room_s * self.near))

    @cached_property
    def law(self) -> contract.QueueLawSpec:
        """What the engine needs to know of it."""
        log_share = math.log(1 / self.limit)
        room_s = max(self.limit_s - self.calm.median_s, ROOM_SHARE_MIN * self.limit_s)
        work = min(self.calm.variation, ANSWERS_VARIANCE_MAX)
        variance = max(VARIANCE_MIN, self.arrivals + work)
        return contract.QueueLawSpec(
            log_share=log_share,
            room_s=room_s,
            variance=variance,
            work_variance=work,
            known_to=math.hypot(_KNOWN_TO, _READ_TO * work / variance, _SMALL / (room_s * self.near)),
            beyond_s_per_load=2 * room_s**2 / (log_share**2 * variance),
            level_s=self.level_s,
            pace=self.calm.pace,
        )


def of_shares(limit: float, together: float, gap: float = 0.0) -> contract.SharesLawSpec:
    """Return the law where slow or failed answers come one by one; `limit`: the objective's share.

    `together`: how many answers count as one; `gap`: where slow answers come out of a queue, the distance
    between the breaking point and the capacity, as a logarithm.
    """
    odds = APART * limit / (1 - limit)
    return contract.SharesLawSpec(limit=limit, telling=odds / (1 + odds), together=together, gap=gap)


def balance_s(limit_s: float, load: float) -> float:
    """About how many seconds a queue takes to reach its balance, at a load near the breaking point."""
    return limit_s**2 * load / 2


def together(seen: Sequence[PartEvidence]) -> float:
    """How many answers count as one: their dispersion over all levels near the limit, at least 1.

    Far beyond the limit answers against it come ever faster within a level, as a queue grows or overflows.
    That says nothing of how those come that are few.
    """
    near = [each.dispersion for each in seen if _odds(each.share) <= FAR * _odds(each.limit)]
    freedom, excess = sum(each.freedom for each in near), sum(each.excess for each in near)
    return max(1.0, (excess + 1.0) / (freedom + 1.0))


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf
