"""Loads servers far below what they can serve, and counts in how many loads something is said to limit them.

    python corpus/healthy.py [--own|--tune|--kept] [--rounds N] [--out FILE]

Each server gets three kinds of requests, each at a low rate: what is answered at once, what waits for 20 ms,
and what computes for 2 ms; of a noisy server of the corpus, /work. Nothing limits a server then, so each
finding is false, except `none`: that nothing limits it. Each load is a line of FILE, and one that is there is
not repeated.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from crumple import project
from crumple.commands.project_files import Project
from crumple.subject import build, servers
from crumple.subject.server_toml import ServerDescription

import corpus
from corpus import Entry, Skipped, Subject

OUT = Path(".crumple-healthy.jsonl")
SECONDS, LIMIT_S = 4, 60
# What is asked, and how often per second: no more than a sixth of what one worker can serve.
OWN = {"light": ("/hello", 150), "waits": ("/hello?delay_ms=20", 8), "computes": ("/mix?spin_us=2000", 40)}
CORPUS = {"light": ("/", 150), "waits": ("/wait?ms=20", 8), "computes": ("/compute?ms=2", 40)}
NOISY = {"work": ("/work", 8)}

Asked = dict[str, tuple[str, int]]


def of_own(described: ServerDescription) -> AbstractContextManager[Subject]:
    """Run a server of the project."""

    @contextmanager
    def running() -> Iterator[Subject]:
        if missing := build.lacks(described):
            raise Skipped("; ".join(each.reason for each in missing))
        with servers.start(servers.build(described), cores=(), settings={}) as started:
            yield Subject(started.address, (started.pid,))

    return running()


def wanted(
    half: str | None, part: str | None
) -> Iterator[tuple[str, Asked, AbstractContextManager[Subject]]]:
    """Name, what is asked, and the server, which is not started yet."""
    if half in (None, "own"):
        for described in Project.here().servers.values():
            yield described.name, OWN, of_own(described)
    entries = corpus.read()
    for entry in entries.values() if half != "own" else ():
        if corpus.is_asked(entry, half, part) and (entry.noisy or not entry.cause):
            yield entry.name, _asked_of(entry), corpus.running(entry, entries)


def _asked_of(entry: Entry) -> Asked:
    return NOISY if entry.noisy else CORPUS


def loaded(subject: Subject, path: str, rate: int) -> tuple[list[str], str]:
    """Load the server; return what is said to limit it, each with its evidence, and what went wrong."""
    program = [Path(sys.executable).parent / "crumple", "load", f"http://{subject.address}{path}", "--json"]
    flags = ["--quiet", "--no-store", "-q", str(rate), "-z", f"{SECONDS}s", "--watch", str(subject.pids[0])]
    ran = subprocess.run(
        [*program, *flags], capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=project.root()
    )
    if not ran.stdout:
        return [], ran.stderr.strip() or f"code {ran.returncode}"
    found = [each for each in json.loads(ran.stdout)["findings"] if each["kind"] == "finding"]
    false = [each for each in found if each["cause"] != "none"]
    return [f"{each['cause']} ({each['sure']}): {each['evidence']}" for each in false], ""


def run(half: str | None, part: str | None, rounds: int, out: Path) -> None:
    """Make the loads that are not in the file yet."""
    known = {(each["name"], each["kind"], each["round"]) for each in read(out)}
    for name, asked, server in wanted(half, part):
        left = [
            (kind, number)
            for number in range(1, rounds + 1)
            for kind in asked
            if (name, kind, number) not in known
        ]
        if not left:
            continue
        try:
            with server as subject, out.open("a") as file:
                for kind, number in left:
                    found, error = loaded(subject, *asked[kind])
                    line = {"name": name, "kind": kind, "round": number, "found": found, "error": error}
                    print(f"{name:24} {kind:9} {'; '.join(found) or error or '-'}", flush=True)
                    print(json.dumps(line), file=file, flush=True)
        except Skipped as skipped:
            print(f"{name:24} skipped   {skipped}", flush=True)


def read(out: Path) -> list[dict[str, object]]:
    """The loads that are in the file."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def main() -> int:
    """Do what the command line asks, and print the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    corpus.add_halves(parser)
    parser.add_argument("--rounds", type=int, default=1, help="loads of each kind (default: 1)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where loads are stored (default: {OUT})")
    arguments = parser.parse_args()
    run(arguments.half, arguments.part, arguments.rounds, arguments.out)
    told = [each for each in read(arguments.out) if not each["error"]]
    false = [each for each in told if each["found"]]
    failed = len(read(arguments.out)) - len(told)
    print(f"\n{len(false)} of {len(told)} healthy loads with a finding; {failed} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
