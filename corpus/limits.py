"""Are limits of control groups named? Diagnoses servers in groups with a limit, and the same ones without.

    python corpus/limits.py [LIMIT…] [--runs 10]

It makes real control groups, so it is root's. Each run is a line; in how many a limit was named comes last.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from crumple.subject.server_toml import Setting

import corpus
from corpus import made_groups

MIB = 2**20


@dataclass(frozen=True)
class Plant:
    """A limit, the server that it is planted in, and what is then to be named.

    `says`: a part of the evidence. `cause`: the first finding.
    """

    like: str
    settings: Mapping[str, Setting]
    limits: Mapping[str, Any]
    cause: str
    says: str


PLANTS = {
    "quota": Plant("c-prefork-compute", {}, {"quota": 0.5}, "throttled", "may use 0.50 CPU"),
    "cores": Plant("c-prefork-compute", {}, {"cores": "0"}, "cpu", "may use core 0 only"),
    "memory": Plant(
        "c-thread",
        {"work": "read:4", "options": "map=128"},
        {"memory": 64 * MIB},
        "memory",
        "may use 64.0 MiB of memory",
    ),
    "tasks": Plant(
        "c-fork", {"work": "wait:50"}, {"tasks": 14}, "workers", "may have 14 processes and threads"
    ),
}


def diagnosed(plant: Plant, entries: Mapping[str, corpus.Entry], *, is_planted: bool) -> tuple[bool, str]:
    """Diagnose the server, with the limit or without; return whether it is named, and what is said."""
    entry = entries[plant.like]
    entry = entry.model_copy(update={"settings": {**entry.settings, **plant.settings}})
    with ExitStack() as stack:
        limits = plant.limits if is_planted else {}
        move = stack.enter_context(made_groups.group(f"crumple-corpus-{os.getpid()}", **limits))
        subject = stack.enter_context(corpus.running(entry, entries))
        for pid in subject.pids:
            move(pid)
        command = ["crumple", "diagnose", "--no-search", "--json", f"http://{subject.address}/work"]
        asked = subprocess.run([sys.executable, "-m", *command], capture_output=True, check=False)
    if not asked.stdout:
        return False, asked.stderr.decode().splitlines()[-1]
    found = json.loads(asked.stdout)
    first = next(iter(found["findings"]), {})
    said = first.get("evidence") or first.get("why", "")
    is_named = first.get("cause") == plant.cause and plant.says in said.replace("\u202f", " ")
    return is_named, f"{found['line']}: {said}"


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="LIMIT", help=f"of {', '.join(PLANTS)}; none: all")
    parser.add_argument("--runs", type=int, default=10)
    asked = parser.parse_args()
    if why := made_groups.cannot():
        sys.exit(why)
    entries, named = corpus.read(), Counter[str]()
    for run in range(asked.runs):
        for name in asked.names or PLANTS:
            for is_planted in (True, False):
                is_named, said = diagnosed(PLANTS[name], entries, is_planted=is_planted)
                kind = f"{name}, {'planted' if is_planted else 'not planted'}"
                named[kind] += is_named
                print(f"{run + 1:3} {kind:20} {'named' if is_named else '-':6} {said}", flush=True)
    for kind, number in named.items():
        print(f"{kind:22} named in {number} of {asked.runs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
