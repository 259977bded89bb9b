"""Getting ready: installs what the servers need, after showing it and asking, and builds every server.

What cannot be had here is a reason, not an end: the other servers are made ready all the same.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from crumple.errors import CrumpleError, ServerFailed
from crumple.server import build, runtimes
from crumple.server.server import ServerDescription
from crumple.setup import database
from crumple.setup.packages import Ask, Say, install, packages, still_at_it
from crumple.workload.workload import Workload


@dataclass(frozen=True)
class Prepared:
    """What became of one server. `reason`: why it is not ready, or None; `build_s`: 0 if built before."""

    name: str
    reason: str | None
    remedy: str
    versions: dict[str, str]
    build_s: float

    @property
    def ready(self) -> bool:
        """Whether it can be started."""
        return self.reason is None


def prepare(
    descriptions: Sequence[ServerDescription],
    workloads: Mapping[str, Workload],
    *,
    yes: bool,
    say: Say,
    ask: Ask,
) -> tuple[Prepared, ...]:
    """Install and build what `descriptions` need; `say` shows a line, `ask` gets a yes or no unless `yes`.

    A database is needed where one of `workloads` that they serve asks one; no server names it.
    """
    began = time.monotonic()
    missing = [lack for description in descriptions for lack in runtimes.lacks(description)]
    queried = any(needs_database(description, workloads) for description in descriptions)
    wanted = packages([*missing, *(database.lacks() if queried else ())])
    if wanted:
        install(wanted, yes=yes, say=say, ask=ask)
        runtimes.forget()
    if queried:
        database.prepare(say)
    prepared = []
    for number, description in enumerate(descriptions, 1):
        prepared.append(_build(description, f"{number} of {len(descriptions)}", say))
    ready = sum(each.ready for each in prepared)
    say(f"{ready} of {len(prepared)} servers ready, {time.monotonic() - began:.0f} s")
    return tuple(prepared)


def needs_database(description: ServerDescription, workloads: Mapping[str, Workload]) -> bool:
    """Whether any workload it serves asks a database."""
    return any(name in workloads and workloads[name].database for name in description.workloads)


def _build(description: ServerDescription, which: str, say: Say) -> Prepared:
    name = description.name
    ready = runtimes.readiness(description)
    if isinstance(ready, runtimes.Missing):
        say(f"{name}: skipped, {ready.reason}; {ready.remedy}")
        return Prepared(name, ready.reason, ready.remedy, runtimes.versions(description), 0.0)
    is_built = build.is_built(description)
    if not is_built:
        say(f"{name}: building, {which} …")
    try:
        with nullcontext() if is_built else still_at_it(f"building {name}", say):
            built = build.build(description)
    except CrumpleError as error:
        say(f"{name}: not ready, {error}")
        for line in error.output_tail if isinstance(error, ServerFailed) else ():
            say(f"  {line}")
        return Prepared(name, error.message, error.remedy, ready.versions, 0.0)
    took = f", built in {built.build_s:.1f} s" if built.build_s else ""
    say(f"{name}: ready{took}")
    return Prepared(name, None, "", built.versions, built.build_s)
