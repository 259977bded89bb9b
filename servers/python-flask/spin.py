"""CPU work of a given length: a plain arithmetic loop that ends by the clock of the thread's own CPU time."""

from time import thread_time_ns

# Between two looks at the clock: some 50 µs of an interpreter's.
PIECE_ROUNDS = 700


def spin(microseconds: int) -> int:
    """Use the CPU for so long. The number it ends at is of no interest."""
    until_ns = thread_time_ns() + microseconds * 1_000
    x = 1
    while thread_time_ns() < until_ns:
        for _ in range(PIECE_ROUNDS):
            x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return x
