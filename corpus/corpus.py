"""Reads the corpus and runs its servers. Who judges a diagnosis may know what is true, the diagnosis may not.

entries = corpus.read()
with corpus.running(entries["ruby-puma"], entries) as subject: ...  # subject.address, subject.pids
"""

import argparse
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "tests" / "helpers"))

import made_groups
from crumple import parsing
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, Problem
from crumple.limit.finding import Cause
from crumple.subject import build, servers
from crumple.subject.server_toml import IoModel, ServerDescription, Setting
from pydantic import Field

HERE = Path(__file__).resolve().parent
RUNTIMES = HERE / "runtimes.toml"
SPLIT = HERE / "split.toml"

# What is planted: nothing; a cause in the server itself; in some entries, one that shows only with what
# a server asks; and what those ask. The servers of each kind have a folder.
Kind = Literal["plain", "planted", "behind", "dependencies"]


class Entry(Frozen):
    """One server of the corpus and what is true of it; README.md says what each field means."""

    name: str
    kind: Kind
    folder: str
    settings: dict[str, Setting] = Field(default_factory=dict)
    beside: str | None = None
    beside_settings: dict[str, Setting] = Field(default_factory=dict)
    quota_percent: int | None = None
    helper: bool = False
    units: bool = False
    io_model: IoModel
    also: tuple[IoModel, ...] = ()
    waits: float | Literal["unlimited"]
    computes: float
    at_wait: tuple[Cause, ...]
    at_compute: tuple[Cause, ...]
    cause: tuple[Cause, ...] = ()
    both: bool = False
    near_miss: tuple[Cause, ...] = ()
    noisy: bool = False
    idle: int = 0
    why: str
    cannot_tell: str = ""
    part: str = ""
    written: date | None = None
    tune: bool = False


class Skipped(Exception):  # noqa: N818  (no error)
    """The server cannot run here; the message is the reason."""


@dataclass(frozen=True)
class Subject:
    """A server that answers. `address`: "ip:port"; `pids`: its first process, and what stands beside it."""

    address: str
    pids: tuple[int, ...]


def read() -> dict[str, Entry]:
    """Name → entry, by folder. Raises FileInvalid with the problems of all files."""
    halves = parsing.read_toml(SPLIT)
    tuned = {name for half in halves.values() for name in half["tune"]}
    found: dict[str, Entry] = {}
    problems: list[Problem] = []
    for file in sorted(HERE.glob("*/*/truth.toml")):
        for name, tables in _merged(parsing.read_toml(file)).items():
            kind, folder = file.parent.relative_to(HERE).parts
            whole = {**tables, "name": name, "kind": kind, "folder": folder, "tune": name in tuned}
            entry, invalid = parsing.meant(Entry, whole, file)
            problems += [Problem(file, f"{name}.{each.key}", each.message, each.remedy) for each in invalid]
            if entry:
                found[name] = entry
    if problems:
        raise FileInvalid(problems)
    return found


def _merged(written: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of a file, each with what it takes from [all] and from the entry it is `like`."""
    of_all = written.pop("all", {})
    found: dict[str, dict[str, Any]] = {}
    for name, own in written.items():
        base = found.get(own.pop("like", ""), of_all)
        settings = {**base.get("settings", {}), **own.get("settings", {})}
        found[name] = {**base, **own, "settings": settings}
    return found


def description(entry: Entry) -> ServerDescription:
    """How the entry's server is built and started: its server.toml with runtimes.toml."""
    folder = HERE / entry.kind / entry.folder
    written = parsing.read_toml(folder / "server.toml")
    known = parsing.read_toml(RUNTIMES)
    settings = written.pop("settings", {})
    whole = {
        "program": folder.name,
        **written,
        "name": folder.name,
        "folder": str(folder),
        "io_model": entry.io_model,
        "workloads": ["corpus"],
        "about": written["title"],
        "requires": {name: known[name] for name in written["requires"]},
        "settings": {name: {"default": value, "meaning": name} for name, value in settings.items()},
    }
    found, problems = parsing.meant(ServerDescription, whole, folder / "server.toml")
    if found is None:
        raise FileInvalid(problems)
    return found


@contextmanager
def running(entry: Entry, entries: Mapping[str, Entry]) -> Iterator[Subject]:
    """Run the server, and what stands beside it, until the `with` ends. Raises Skipped and ServerFailed."""
    with ExitStack() as stack:
        settings = dict(entry.settings)
        pids: tuple[int, ...] = ()
        if entry.beside:
            behind = entries[entry.beside]
            beside = behind.model_copy(update={"settings": {**behind.settings, **entry.beside_settings}})
            second = stack.enter_context(running(beside, entries))
            settings["beside_port"] = int(second.address.rpartition(":")[2])
            pids = second.pids
        described = description(entry)
        if missing := build.lacks(described):
            raise Skipped("; ".join(f"{each.reason} (apt: {' '.join(each.apt)})" for each in missing))
        move = stack.enter_context(_group(entry.quota_percent)) if entry.quota_percent else None
        built = servers.build(described)
        started = stack.enter_context(servers.start(built, cores=(), settings=settings))
        if move:
            move(started.pid)
        yield Subject(started.address, (started.pid, *pids))


@contextmanager
def _group(percent: int) -> Iterator[Callable[[int], None]]:
    """A control group whose processes may use `percent` of one core. Raises Skipped."""
    if why := made_groups.cannot():
        raise Skipped(why)
    with made_groups.group(f"crumple-corpus-{os.getpid()}", quota=percent / 100) as move:
        yield move


def add_halves(parser: argparse.ArgumentParser) -> None:
    """Add --own, --tune and --kept, of which one at most may be given, as `half`, and --part."""
    which = parser.add_mutually_exclusive_group()
    for half, text in (
        ("own", "the project's servers"),
        ("tune", "the half for tuning"),
        ("kept", "the other"),
    ):
        which.add_argument(f"--{half}", dest="half", action="store_const", const=half, help=text)
    add_part(parser)


def add_part(parser: argparse.ArgumentParser) -> None:
    """Add --part."""
    parser.add_argument("--part", help="of this part: first to ninth (default: of all)")


def is_asked(entry: Entry, half: str | None, part: str | None) -> bool:
    """Whether the entry is of that half and of that part; None: of any."""
    is_of_half = half not in ("tune", "kept") or entry.tune == (half == "tune")
    return not entry.helper and is_of_half and part in (None, entry.part)


def split(entries: Mapping[str, Entry], seed: int) -> list[str]:
    """The half that may be looked at while rules are tuned: of each kind of entry every other one, by lot."""
    strata = defaultdict(list)
    for entry in entries.values():
        if not entry.helper:
            planted = ("planted", entry.cause[:1], entry.both, entry.noisy) if entry.cause else entry.io_model
            strata[str(planted)].append(entry.name)
    tuned: list[str] = []
    first = 0
    for stratum, names in sorted(strata.items()):
        names.sort()
        random.Random(f"{seed} {stratum}").shuffle(names)
        tuned += names[first::2]
        first = (first + len(names)) % 2  # an odd one is taken from every other stratum
    return sorted(tuned)
