"""What a watched server waited for: threads, and a database."""

from collections.abc import Sequence
from typing import Any

import made_inside
import made_stages
from crumple.contract import TrialRecord

DATABASE = "127.0.0.1:5432"


# 20,000 requests in two seconds: 10,000 per second, so that one of them inside takes 0.1 ms of each.
INSIDE, UNREAD = 20, 12


def watched(
    *,
    user: float = 0.0,
    kernel: float = 0.0,
    threads: Sequence[tuple[int, int, int]] = ((0, 0, 0),) * 60,
    waits: dict[str, Sequence[tuple[int, int, int]]] | None = None,
    inside: int = INSIDE,
    **of_tasks: Any,
) -> TrialRecord:
    """The plain record, with so many requests inside, and what the server does meanwhile."""
    rows = [{"inside": inside, "unread": 32 - inside}] * 60
    plain = made_stages.record(made_stages.readings(rows))
    probes = plain.probes.model_copy(
        update={
            "server": made_inside.server(plain, user, kernel),
            "tasks": made_inside.tasks(plain, threads, **({"cores": user + kernel} | of_tasks)),
            "dependencies": made_inside.dependencies(plain, waits or {}),
        }
    )
    return plain.model_copy(update={"probes": probes})
