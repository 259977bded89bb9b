"""What servers are called where room is short: variants by the settings that tell them apart.

The full label stands in tables and in titles; nothing here looks a server up.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import combinations

LONG = 28


def lines(label: str) -> tuple[str, ...]:
    """A label in two lines, name and settings; one without settings in one."""
    name, bracket, rest = label.partition("[")
    settings, _, after = rest.partition("]")
    return (f"{name}{after}", settings.replace(",", ", ")) if bracket else (label,)


def short(labels: Sequence[str], longest: int = LONG) -> dict[str, str]:
    """Label → the same, or, where that is longer, with so few of its settings that no two become alike."""
    return {label: _shortened(label, labels) if len(label) > longest else label for label in labels}


def on_an_axis(shown: Mapping[str, str]) -> str:
    """The expression by which an axis writes each label as it is to be shown."""
    return f"({json.dumps(dict(shown), ensure_ascii=False)})[datum.label]"


def _shortened(label: str, labels: Sequence[str]) -> str:
    name, mine = _parts(label)
    others = [
        settings for other in labels if other != label for of, settings in [_parts(other)] if of == name
    ]
    for number in range(1, len(mine)):
        # Shorter words first: where start_workers follows workers, workers says it.
        for chosen in sorted(combinations(mine, number), key=lambda some: len(",".join(some))):
            if not any(set(chosen) <= set(other) for other in others):
                return f"{name}[{','.join(chosen)}]"
    return label


def _parts(label: str) -> tuple[str, tuple[str, ...]]:
    name, _, settings = label.partition("[")
    return name, tuple(filter(None, settings.rstrip("]").split(",")))
