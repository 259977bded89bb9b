"""What is left when a load from another host is lost? A load with `--from` is begun, and after a second
something happens to it.

    python bench/lost_loads.py --rounds 20 --results lost.jsonl     # each fault 20 times: about an hour
    python bench/lost_loads.py --only link-cut,engine-frozen

The load must be over after 4 s, with no engine left on either host, and crumple must name what was lost and
call the load not valid. Beside it the script looks for what a load leaves: who listens on either host more
than before, and whether a password of a request's header is in an argument, an environment or a file of the
load host. Rows in the file of --results are not made again. It takes root and sshd, and is skipped without.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asked_corpus
import load_hosts
import options
import other_hosts  # type: ignore[import-not-found]
import secure_shell  # type: ignore[import-not-found]
from asked_corpus import Row, Rows
from bounds import Bounds, run
from crumple.machine import process_tree
from load_hosts import Elsewhere

SERVER, PATH = "go-wait", "/wait?ms=5"
ENGINE = "crumple"
OVER_S = 4.0
# After so long without an end, nobody ends it.
GIVEN_UP_S = 20.0
BEGUN_S = 60.0
LOST = "load-host-lost"
# In a header of each request; nothing else contains it.
CONNECTIONS = 50
SECRET = "hunter2-of-the-load"
HEADER = f"Authorization: Bearer {SECRET}"
# All that the load host has in files of its own.
FILES = 'find /tmp /run "$HOME" -xdev -type f -exec cat {} +'


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(secure_shell.why_not())
    rows, bounds = Rows(arguments.results), Bounds(judging=not arguments.shortest)
    keys = [(fault, round_) for round_ in range(1, arguments.rounds + 1) for fault in arguments.only]
    with load_hosts.started() as there, asked_corpus.served(SERVER) as port:
        url = f"http://{there.here}:{port}{PATH}"
        for far, key in asked_corpus.counted(keys, rows.has):
            row = rows.once(key, partial(lost, key[0], url, there))
            said = row["said"]
            print(
                f"{far:22} {key[0]:16} over after {said['over_s']:5.1f} s  {said['words'][-110:]}", flush=True
            )
            for wrong in wrongs(key[0], said):
                print(f"{'':22} {wrong}")
                bounds.miss(f"{key[0]}: {wrong}")
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    options.rounds(parser, 20)
    parser.add_argument("--only", type=options.words, default=list(FAULTS), help="these faults")
    parser.add_argument("--results", type=Path, help="append each row to this file, and continue it")
    return options.parse(parser, rounds=1, only=["engine-killed"])


def wrongs(fault: str, said: Row) -> list[str]:
    """What of an ending is not as it must be."""
    found = [f"{said['left']} engines left"] if said["left"] else []
    if said["over_s"] > OVER_S:
        found.append(f"over only after {said['over_s']:.1f} s")
    if fault != "lab-killed" and (LOST not in said["words"] or said["code"] == 0):
        found.append(f"not named, code {said['code']}")
    if said["listeners"]:
        found.append(f"listens: {', '.join(said['listeners'])}")
    if said["secrets"]:
        found.append(f"the password is there: {', '.join(said['secrets'])}")
    return found


def lost(fault: str, url: str, there: Elsewhere) -> Row:
    """Begin a load, let something happen to it, and see how it ends."""
    before, others, began_s = listeners(there), connections(url), time.monotonic()
    words = [str(asked_corpus.CRUMPLE), "load", "--quiet", "--no-store", "-z", "60s", "-H", HEADER]
    words += ["-c", str(CONNECTIONS), url]
    # A shell between crumple and that host, which goes on when what it started is lost.
    between = f"sh -c '\"$@\"; true' sh {' '.join(there.host.words())}"
    where = ["--from", between] if fault == "shell-killed" else [*there.words]
    pipe, environment = subprocess.PIPE, {**os.environ, "PATH": there.path}
    with subprocess.Popen(
        [*words, *where], stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        other_hosts.at_last(
            lambda: connections(url) >= others + CONNECTIONS or process.poll() is not None, BEGUN_S
        )
        time.sleep(1.0)
        seen = {"listeners": sorted(listeners(there, process.pid) - before), "secrets": secrets(there)}
        over_s, left = ended(fault, process, there)
        process.kill()
        for pid in engines(there):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        out, _ = process.communicate()
    how = {"over_s": over_s, "left": left, "code": process.returncode, "words": " ".join(out.split())}
    return {"said": {**seen, **how}, "error": "", "took_s": time.monotonic() - began_s}


def ended(fault: str, process: subprocess.Popen[str], there: Elsewhere) -> tuple[float, int]:
    """Let it happen; return after how long no engine was there any more, and how many processes stay."""
    if process.poll() is not None:
        return 0.0, len(engines(there))
    here, at_s = process_tree.descendants(process.pid), time.monotonic()
    FAULTS[fault](there, process.pid)
    other_hosts.at_last(lambda: not engines(there), GIVEN_UP_S)
    over_s = time.monotonic() - at_s
    other_hosts.at_last(lambda: process.poll() is not None, GIVEN_UP_S)
    left = len(engines(there)) + (0 if other_hosts.ended(here) else 1)
    if fault == "link-cut":
        there.link.mend()
    return over_s, left


def engines(there: Elsewhere) -> dict[int, str]:
    """The engine's processes on the load host."""
    found: dict[int, str] = there.host.processes()
    return {pid: command for pid, command in found.items() if ENGINE in command}


def connections(url: str) -> int:
    """How many connections the server has. Those of a load whose link was cut stay: it hears of no end."""
    port = urlsplit(url).port
    asked = ["ss", "-Htn", "state", "established", f"sport = :{port}"]
    return len(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines())


def named(there: Elsewhere, words: str) -> list[int]:
    """The engine's processes there whose command has these words."""
    return [pid for pid, command in engines(there).items() if words in f"{command} "]


def listeners(there: Elsewhere, crumple: int | None = None) -> set[str]:
    """Where somebody listens on the load host, and where crumple and what it started do here.

    On its own loopback that host may have a server of the engine's, by which it learns what it can do.
    """
    found = {f"there {each}" for each in there.host.listeners() if not each.startswith("127.")}
    own = {f"pid={pid}," for pid in (crumple, *process_tree.descendants(crumple))} if crumple else set()
    here = subprocess.run(["ss", "-Hltunp"], capture_output=True, text=True, check=True).stdout
    return found | {
        f"here {line.split()[4]}" for line in here.splitlines() if any(pid in line for pid in own)
    }


def secrets(there: Elsewhere) -> list[str]:
    """Where the load host has the password: in which process, or in a file."""
    found = []
    for pid, command in there.host.processes().items():
        for what in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if SECRET in Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace"):
                    found.append(f"{what} of {command[:40]}")
    files = there.host.run("sh", "-c", FILES, check=False, text=False).stdout
    return found + (["a file"] if SECRET.encode() in files else [])


def kill_there(words: str, how: int, there: Elsewhere, crumple: int) -> None:
    """Send a signal to the engine's processes there whose command has these words."""
    for pid in named(there, words):
        os.kill(pid, how)


def kill_client(there: Elsewhere, crumple: int) -> None:
    """Kill what crumple started to reach the host: ssh, or the shell between."""
    for pid in process_tree.descendants(crumple):
        command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        if command.startswith(("ssh ", "/usr/bin/ssh ", "sh ")):
            os.kill(pid, signal.SIGKILL)


FAULTS: dict[str, Callable[[Elsewhere, int], None]] = {
    "client-killed": kill_client,
    "shell-killed": kill_client,
    "engine-killed": partial(kill_there, " run ", signal.SIGKILL),
    "engine-frozen": partial(kill_there, " run ", signal.SIGSTOP),
    "serve-killed": partial(kill_there, " serve ", signal.SIGKILL),
    "serve-frozen": partial(kill_there, " serve ", signal.SIGSTOP),
    "link-cut": lambda there, crumple: there.link.cut(),
    "lab-killed": lambda there, crumple: os.kill(crumple, signal.SIGKILL),
}

if __name__ == "__main__":
    run(main)
