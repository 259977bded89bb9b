"""How long a diagnosis may still take, and which of its parts are then given up. It puts no load on.

Most servers are diagnosed in half of the time. One that takes seconds for each request or connection is not:
then the parts go first that show least of what it is and of what limits it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

# The longest diagnosis, in seconds, without the search of the breaking point and the start of the server.
LASTS_S_MAX = 90.0

Part = Literal[
    "what a connection takes in memory",
    "3 requests in 12 s, where none was answered in 1.2 s",
    "requests whose times differ, for longer",
    "512 connections that ask for what waits",
    "a longer load of a server that adds processes or threads",
    "one request at a time, once more",
    "512 connections beyond the limit",
]
# How many seconds must be left to begin a part: what it takes at most, and what the more important parts
# after it take.
NEEDS_S: dict[Part, float] = {
    "what a connection takes in memory": 60.0,
    "3 requests in 12 s, where none was answered in 1.2 s": 45.0,
    "requests whose times differ, for longer": 45.0,
    "512 connections that ask for what waits": 45.0,
    "a longer load of a server that adds processes or threads": 28.0,
    "one request at a time, once more": 20.0,
    "512 connections beyond the limit": 8.0,
}
# How many seconds must be left to wait until the server has done what it was asked.
SETTLED_NEEDS_S = 30.0
# What a load that is looked at takes besides, in seconds: its warm-up, and measuring what a switch costs.
LOOK_NEEDS_S = 3.0


@dataclass
class TimeLeft:
    """The time of one diagnosis. `given_up`: parts that were not begun, or not ended."""

    now_s: Callable[[], float] = time.monotonic
    given_up: list[Part] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._over_s = self.now_s() + LASTS_S_MAX

    @property
    def left_s(self) -> float:
        """How long the diagnosis may still take."""
        return max(0.0, self._over_s - self.now_s())

    def has(self, part: Part) -> bool:
        """Whether the part may be begun, or go on; otherwise it is given up."""
        if self.left_s >= NEEDS_S[part]:
            return True
        if part not in self.given_up:
            self.given_up.append(part)
        return False

    def without(self, for_s: float) -> None:
        """Leave out `for_s` seconds that have passed."""
        self._over_s += for_s
