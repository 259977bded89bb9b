"""An order drawn by chance that is the same for the same seed, on every machine and Python version. Pure."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shuffle(items: Sequence[Item], seed: str) -> list[Item]:
    """Return the items in an order that depends only on the seed."""
    # Python guarantees the sequence of Random(str).random() across versions, but not that of shuffle().
    generator = random.Random(seed)
    keys = [generator.random() for _ in items]
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]
