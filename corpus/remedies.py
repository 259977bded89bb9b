"""Tries a remedy on servers, and counts how many gains lie inside the predicted interval.

    python corpus/remedies.py [NAME…] [--limit N] [--seconds S] [--out FILE]

Each server is diagnosed without a search, with the URL of its work alone, as by `crumple diagnose --try`, and
in the time of --seconds: in 40 s there is time for two experiments, and forty servers take some 45 minutes.
Then one number of it is changed: what it has few of, or, where its cores or what it asks are the limit, what
gives nothing. The numbers were written down before any prediction was known. Each server is a line of FILE,
and one that is there is not diagnosed again. A server whose runtime is missing is skipped, with the reason.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crumple import contract, engine, project
from crumple.commands.project_files import Project
from crumple.diagnose import change, diagnosis, remedy_trial, time_left
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.errors import CrumpleError
from crumple.experiment.subject import Subject
from crumple.load import request
from crumple.load.load_options import Options
from crumple.load.typed_request import TypedRequest
from crumple.machine import facts
from crumple.machine.ceiling import Ceilings
from crumple.subject import build, servers
from crumple.subject.server_toml import Setting

import corpus
from corpus import Entry, Skipped

OUT = Path(".crumple-remedies.jsonl")
AT_LEAST = 0.8
# A diagnosis gives up what tells least if it takes longer; loads that compare last so long, at least.
DIAGNOSED_S, LOAD_S, LOOK_S = 40.0, 0.8, 1.0
SEED = 7
WAITS, COMPUTES = "/hello?delay_ms=50", "/mix?spin_us=5000"


@dataclass(frozen=True)
class Trial:
    """A server, a setting of it, and its value with the change.

    `path`: what a server of the project is asked; empty: it is of the corpus, and asked /work. `settings`:
    what it has besides its defaults.
    """

    name: str
    setting: str
    value: int
    path: str = ""
    settings: tuple[tuple[str, Setting], ...] = ()

    @property
    def key(self) -> str:
        """What it is called in the file."""
        own = "".join(f",{name}={value}" for name, value in self.settings)
        return f"{self.name}{own} {self.path or '/work'} {self.setting}={self.value}"


def own(name: str, path: str, setting: str, few: int, more: int) -> Trial:
    return Trial(name, setting, more, path, ((setting, few),))


ALL = (
    own("python-gunicorn", WAITS, "workers", 4, 8),
    own("python-gunicorn", COMPUTES, "workers", 4, 8),
    own("java-servlet", WAITS, "workers", 8, 16),
    own("java-servlet", COMPUTES, "workers", 8, 24),
    own("java-grizzly-worker", WAITS, "workers", 4, 12),
    own("php-fpm", WAITS, "workers", 6, 12),
    own("php-fpm", COMPUTES, "workers", 6, 12),
    own("php-apache", WAITS, "workers", 8, 16),
    Trial("c-prefork", "workers", 32),
    Trial("c-prefork-compute", "workers", 16),
    Trial("c-grow-fast", "workers", 32),
    Trial("aiohttp-connector", "pool", 8),
    Trial("aiohttp-executor", "threads", 12),
    Trial("clojure-ring", "threads", 60),
    Trial("cluster-compute", "workers", 4),
    Trial("elysia-ask", "requests", 12),
    Trial("go-pool", "pool", 16),
    Trial("go-dependency", "pool", 1000),
    Trial("gunicorn-sync-compute", "workers", 10),
    Trial("grizzly-report", "threads", 12),
    Trial("hapi-thumbnails", "pool", 8),
    Trial("java-connections", "pool", 6),
    Trial("java-connections-enough", "threads", 24),
    Trial("java-heap-enough", "threads", 16),
    Trial("jooby-search", "threads", 32),
    Trial("mux-items", "connections", 20),
    Trial("node-pool", "pool", 10),
    Trial("prefork-render", "processes", 16),
    Trial("prefork-queue", "processes", 8),
    Trial("pyramid-quote", "threads", 8),
    Trial("py-pool", "workers", 12),
    Trial("py-hash", "workers", 16),
    Trial("py-dependency", "workers", 16),
    Trial("rust-write", "workers", 16),
    Trial("rust-close", "workers", 12),
    Trial("spark-wait", "threads", 44),
    Trial("tokio-dependency", "workers", 4),
    Trial("vertx-client", "pool", 10),
    Trial("vertx-upstream", "pool", 400),
    Trial("go-lock-and-pool", "pool", 8),
)


class Silent:
    """A watcher of a diagnosis without a search, which shows nothing."""

    def doing(self, what: str) -> None:
        """Show nothing."""


def plan_of(trial: Trial, entries: dict[str, Entry]) -> DiagnosisPlan:
    """Return the diagnosis of the server, with the change. Raises Skipped."""
    given = dict(trial.settings)
    if trial.path:
        description = Project.here().servers[trial.name]
        if missing := build.lacks(description):
            raise Skipped("; ".join(each.reason for each in missing))
        before = servers.settings_with(description, given)
        running = partial(_own, servers.build(description), trial.path)
    else:
        entry = entries[trial.name]
        defaults = {name: each.default for name, each in corpus.description(entry).settings.items()}
        before = {**defaults, **entry.settings, **given}
        running = partial(_of_corpus, entry, entries)
    after = {**before, trial.setting: trial.value}
    meant = change.of_settings({trial.setting: str(trial.value)}, before)
    return DiagnosisPlan(
        trial.key, None, SEED, partial(running, before), change=meant, changed=partial(running, after)
    )


@contextmanager
def _own(built: build.Built, path: str, settings: dict[str, Setting]) -> Iterator[Subject]:
    with servers.start(built, cores=(), settings=settings) as started:
        yield _subject(started.address, started.pid, path)


@contextmanager
def _of_corpus(entry: Entry, entries: dict[str, Entry], settings: dict[str, Setting]) -> Iterator[Subject]:
    with corpus.running(entry.model_copy(update={"settings": settings}), entries) as started:
        yield _subject(started.address, started.pids[0], "/work")


def _subject(address: str, pid: int, path: str) -> Subject:
    work = request.make(TypedRequest(path=path))
    target = contract.Target(address=address, host=address)
    options = Options(seed=SEED, server_pid=pid)
    return Subject(target, (work,), work, None, None, options, len(facts.usable_cores()))


def judged(found: diagnosis.Diagnosis) -> dict[str, Any]:
    """Return what came of a trial: the first limit, what was predicted and what it gave, and a word."""
    remedy = found.remedy
    limit = next((each.cause for each in found.said if hasattr(each, "probability")), None)
    if remedy is None:
        return {"limit": limit, "word": "failed", "why": "no load was put on beyond its limit"}
    line = {"limit": limit, "remedy": {**asdict(remedy), "then": len(remedy.then)}}
    if remedy.compared is None:
        return {**line, "word": "failed", "why": remedy.problem}
    if remedy.predicted is None:
        return {**line, "word": "nothing predicted", "why": remedy.why_none}
    inside = remedy.predicted.low <= remedy.compared.gain.estimate <= remedy.predicted.high
    return {**line, "word": "inside" if inside else "outside", "meets": remedy.outcome == "as predicted"}


def said(line: dict[str, Any]) -> str:
    remedy = line.get("remedy") or {}
    gave, of = remedy.get("compared"), remedy.get("predicted")
    gain = (
        f"×{gave['gain']['estimate']:.2f} [{gave['gain']['low']:.2f}–{gave['gain']['high']:.2f}]"
        if gave
        else ""
    )
    expected = f"predicted {of['low']:.2f}–{of['high']:.2f}" if of else line.get("why", "")
    of_trial = f"{line['key']:52} {line['limit']!s:16} {gain:20} {expected:22}"
    return f"{of_trial} {line['word']}, {line['took_s']:.0f} s"


def run(trials: list[Trial], seconds: float, out: Path) -> None:
    """Try those that are not in the file yet. `seconds`: how long a diagnosis may take."""
    time_left.LASTS_S_MAX, remedy_trial.LOAD_S, remedy_trial.LOOK_S = seconds, LOAD_S, LOOK_S
    loader = engine.load(project.root())
    entries, known = corpus.read(), {each["key"] for each in read(out)}
    for trial in trials:
        if trial.key in known:
            continue
        began_s = time.monotonic()
        try:
            found = diagnosis.diagnose(plan_of(trial, entries), loader, Ceilings(loader), Silent(), trial.key)  # type: ignore[arg-type]
            line = judged(found)
        except Skipped as skipped:
            print(f"{trial.key:52} skipped: {skipped}", flush=True)
            continue
        except CrumpleError as error:
            line = {"limit": None, "word": "failed", "why": str(error)}
        line = {"key": trial.key, "took_s": time.monotonic() - began_s, **line}
        print(said(line), flush=True)
        with out.open("a") as file:
            print(json.dumps(line), file=file)


def read(out: Path) -> list[dict[str, Any]]:
    """The trials that are in the file."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def main() -> int:
    """Do what the command line asks, and print the sum; 1: fewer are inside than have to be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers (default: all)")
    parser.add_argument("--limit", type=int, default=len(ALL), help="no more than so many trials")
    parser.add_argument(
        "--seconds", type=float, default=DIAGNOSED_S, help=f"of each diagnosis (default: {DIAGNOSED_S:.0f})"
    )
    parser.add_argument("--out", type=Path, default=OUT, help=f"where trials are stored (default: {OUT})")
    arguments = parser.parse_args()
    chosen = [each for each in ALL if not arguments.names or each.name in arguments.names]
    run(chosen[: arguments.limit], arguments.seconds, arguments.out)
    lines = read(arguments.out)
    words = Counter(each["word"] for each in lines)
    told = words["inside"] + words["outside"]
    meets = sum(bool(each.get("meets")) for each in lines)
    print(
        f"\ninside the predicted interval: {words['inside']} of {told}; the intervals meet: {meets} of {told}"
    )
    print(f"nothing predicted: {words['nothing predicted']}; failed: {words['failed']}")
    return int(words["inside"] < AT_LEAST * told)


if __name__ == "__main__":
    sys.exit(main())
