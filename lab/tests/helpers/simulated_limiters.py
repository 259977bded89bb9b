"""Limiters, and servers that turn requests away by chance, under simulated loads. Pure."""

import random
from collections import deque
from collections.abc import Callable, Iterator

from crumple.record.let_through import Slot

ROW_S = 0.1
# Whether the request of that time is let through, and when its answer comes.
Server = Callable[[float], float | None]


def bucket(rate: float, burst: float) -> Server:
    """A token bucket, full at first."""
    tokens, last = burst, 0.0

    def serve(now: float) -> float | None:
        nonlocal tokens, last
        tokens, last = min(burst, tokens + (now - last) * rate), now
        if tokens < 1:
            return None
        tokens -= 1
        return now

    return serve


def leaky(rate: float, burst: float) -> Server:
    """As limit_req of nginx with a delay: up to `burst` requests wait for their turn."""
    turn = 0.0

    def serve(now: float) -> float | None:
        nonlocal turn
        if turn - now > burst / rate:
            return None
        turn = max(turn, now) + 1 / rate
        return max(now, turn - 1 / rate)

    return serve


def fixed(number: int, window_s: float, offset_s: float) -> Server:
    """A number in each window, which began `offset_s` before the load."""
    window, used = -1, 0

    def serve(now: float) -> float | None:
        nonlocal window, used
        if (at := int((now + offset_s) / window_s)) != window:
            window, used = at, 0
        used += 1
        return now if used <= number else None

    return serve


def sliding(number: int, window_s: float) -> Server:
    """A number in any time as long as the window."""
    passed: deque[float] = deque()

    def serve(now: float) -> float | None:
        while passed and passed[0] <= now - window_s:
            passed.popleft()
        if len(passed) >= number:
            return None
        passed.append(now)
        return now

    return serve


def by_chance(share: float, rng: random.Random) -> Server:
    """Turns away that share of requests."""
    return lambda now: None if rng.random() < share else now


def arrivals(kind: str, per_s: float, seconds: float, rng: random.Random) -> Iterator[float]:
    """The times of the requests: `poisson`, `even`, or `closed`: as fast as a server that varies answers."""
    now, speed = 0.0, 1.0
    while now < seconds:
        yield now
        if kind == "even":
            now += 1 / per_s
        elif kind == "poisson":
            now += rng.expovariate(per_s)
        else:
            speed = min(1.3, max(0.7, speed + rng.gauss(0, 0.01)))
            now += rng.uniform(0.5, 1.5) / (per_s * speed)


def load(serve: Server, kind: str, per_s: float, seconds: float, rng: random.Random) -> list[Slot]:
    """What ended in each tenth of a second of a load."""
    rows = round(seconds / ROW_S)
    ok, ended = [0] * rows, [0] * rows
    for now in arrivals(kind, per_s, seconds, rng):
        came = serve(now)
        row = int((now if came is None else came) / ROW_S)
        if row < rows:
            ok[row] += came is not None
            ended[row] += 1
    return [Slot(ROW_S, *each) for each in zip(ok, ended, strict=True)]
