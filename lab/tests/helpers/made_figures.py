"""Figures of made-up trials, for tests of claims: `server` gives one for each block, `ramp` a curve."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from crumple.record.curve import Curve, Point
from crumple.record.figures import Figures
from crumple.record.histogram import Times

# By what factor each trial of a server differs from the server's speed: by up to 1 %.
WOBBLE = (1.0, 1.01, 0.99, 1.005, 0.995)
USERS = tuple(range(20, 501, 20))


def trial(server: str, block: int, speed: float, **changes: Any) -> Figures:
    twin = changes.get("twin", False)
    experiment = changes.get("experiment", "shared")
    known: dict[str, Any] = {
        "trial_id": f"{experiment}/b{block:02}/{server}{'~twin' if twin else ''}",
        "experiment": experiment, "block": block, "server": server, "twin": False, "valid": True,
        "problems": (), "throughput_per_s": speed, "failed_share": 0.0, "response_mean_ns": 1e9 / speed,
        "response_ns": {},
        "cpu_per_request_us": None, "cpu_user_us": None, "cpu_kernel_us": None, "switches_per_request": None,
        "memory_peak_bytes": None, "processes_max": None, "threads_max": None,
        "ended": 10_000,
    }  # fmt: skip
    return Figures(**(known | changes))


def server(
    name: str, speed: float, wobble: Sequence[float] = WOBBLE, shift: int = 0, **changes: Any
) -> list[Figures]:
    rolled = [wobble[(index + shift) % len(wobble)] for index in range(len(wobble))]
    return [trial(name, block, speed * luck, **changes) for block, luck in enumerate(rolled, 1)]


def twins(name: str = "go", speed: float = 30_000.0, apart: float = 1.0, **changes: Any) -> list[Figures]:
    return server(name, speed, **changes) + server(name, speed * apart, shift=1, twin=True, **changes)


def times(ns: float, count: int = 1_000) -> Times:
    """Return `count` times of `ns`."""
    return Times(np.array([round(ns)]), np.array([count]))


def point(users: float, p50_ns: float = 1e6, **changes: Any) -> Point:
    known: dict[str, Any] = {
        "seconds": 10.0, "connections": float(users), "waiting": float(users), "pause_s": 0.0,
        "ok": round(10 * users / (p50_ns / 1e9)), "failed": 0, "times": times(p50_ns),
        "cores_busy": 0.1, "memory_bytes": 1e7, "processes": 1.0, "threads": 1.0,
    }  # fmt: skip
    return Point(**(known | changes))


def curve(p50_ns: Callable[[float], float], users: Sequence[int] = USERS, **along: Any) -> Curve:
    """Return a point for each number of users; `along`: field → function of the users."""
    return tuple(
        point(each, p50_ns(each), **{name: of(each) for name, of in along.items()}) for each in users
    )


def kneed(at: float, plateau_ns: float = 3.2e8, per_user_ns: float = 1.5e7) -> Callable[[float], float]:
    """Return the response time in ns as a function of users: flat up to `at`, then rising."""
    return lambda users: plateau_ns + max(0.0, users - at) * per_user_ns


def noisy(of: Callable[[float], float], seed: int, sigma: float = 0.02) -> Callable[[float], float]:
    """Return the function with log-normal noise, which `seed` makes different in every start."""
    random = np.random.default_rng(seed)
    return lambda users: of(users) * float(np.exp(random.normal(0, sigma)))


def ramp(
    name: str, p50_ns: Callable[[float], float], experiment: str = "ramp", seed: int = 1, **along: Any
) -> list[Figures]:
    """Return five starts of a server in a ramp."""
    return [
        trial(name, block, 1_000, experiment=experiment,
              curve=curve(noisy(p50_ns, 100 * seed + block), **along))
        for block in range(1, 6)
    ]  # fmt: skip
