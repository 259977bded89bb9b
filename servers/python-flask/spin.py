"""CPU work of a given length: a plain arithmetic loop. As it is imported, it measures how fast it turns here.

Whoever serves from several processes imports it before forking, so that all of them agree.
"""

import time

PIECE_S = 0.005
WARM_UP_S = 0.05
PIECES = 20


def spin(microseconds: int) -> int:
    """Use the CPU for so long. The number it ends at is of no interest."""
    return _turn(round(microseconds * ROUNDS_PER_US))


def _turn(rounds: int) -> int:
    x = 1
    for _ in range(rounds):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return x


def _measured_rounds_per_us() -> float:
    """The best of several pieces: whatever disturbs a piece can only make it slower."""
    warm_until = time.thread_time() + WARM_UP_S
    rounds = 1000
    while time.thread_time() < warm_until:
        rounds = round(rounds * PIECE_S / _took_s(rounds))
    return max(rounds / (_took_s(rounds) * 1e6) for _ in range(PIECES))


def _took_s(rounds: int) -> float:
    began = time.thread_time()
    _turn(rounds)
    return time.thread_time() - began


ROUNDS_PER_US = _measured_rounds_per_us()
