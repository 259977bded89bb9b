"""A server in Python that ends, stalls, refuses or slows down in a given way at a given time, for tests.

It counts the time from its first request. How it can be lost is in WAYS. `faults` judges what crumple says.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from crumple.machine import process_tree

# Arguments: the port; how it is lost; when, in seconds after the first request, or "idle:S": at the first
# time after that at which nobody has asked anything for 60 ms; how long an answer takes, in ms.
PROGRAM = """
import asyncio, os, signal, socket, struct, sys, time

PORT, HOW, WHEN, TAKES_S = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4]) / 1e3
is_idle, at_s = WHEN.startswith("idle:"), float(WHEN.removeprefix("idle:"))
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"
LIMITED = b"HTTP/1.1 429 Too Many Requests\\r\\nRetry-After: 1\\r\\nContent-Length: 2\\r\\n\\r\\nno"
FAILED = b"HTTP/1.1 500 Internal Server Error\\r\\nContent-Length: 2\\r\\n\\r\\nno"
lost, writers, first_s, last_s, served = "", set(), None, 0.0, None
tokens, filled_s = 20.0, time.monotonic()

def passes():
    global tokens, filled_s
    now = time.monotonic()
    tokens, filled_s = min(20.0, tokens + 200 * (now - filled_s)), now
    if tokens >= 1:
        tokens -= 1
        return True
    return False

def reset(writer):
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()

async def answer(reader, writer):
    global first_s, last_s
    writers.add(writer)
    try:
        if lost == "resets":
            return reset(writer)
        while True:
            await reader.readuntil(b"\\r\\n\\r\\n")
            last_s = time.monotonic()
            first_s = first_s or last_s
            if TAKES_S:
                await asyncio.sleep(TAKES_S)
            if lost == "hangs":
                await asyncio.sleep(600)
            if lost == "crawls":
                async with slow:
                    await asyncio.sleep(1.0)
            answered = FAILED if lost == "fails" else ANSWER
            if HOW == "limits" and not passes():
                answered = LIMITED
            if lost == "drains":
                answered = answered.replace(b"\\r\\n\\r\\n", b"\\r\\nConnection: close\\r\\n\\r\\n")
            writer.write(answered)
            await writer.drain()
            if lost == "drains":
                return writer.close()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writers.discard(writer)
        writer.close()

async def lose():
    global lost
    lost = HOW
    if HOW == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW == "exits":
        os._exit(3)
    if HOW == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if HOW in ("refuses", "closes", "drains"):
        served.close()
    if HOW == "closes":
        for writer in list(writers):
            writer.close()
    if HOW in ("refuses", "resets"):
        for writer in list(writers):
            reset(writer)
    if HOW == "accepts no more":
        asyncio.get_running_loop().remove_reader(listener.fileno())
        for writer in list(writers):
            reset(writer)
    if HOW == "drains":
        await asyncio.sleep(0.3)
        os._exit(0)

async def main():
    global served, slow
    slow = asyncio.Lock()
    served = await asyncio.start_server(answer, sock=listener, backlog=1000)
    print("serving", flush=True)
    while True:
        await asyncio.sleep(0.005)
        now = time.monotonic()
        if at_s < 0:
            due = True
        else:
            due = first_s is not None and now >= first_s + at_s and (not is_idle or now >= last_s + 0.06)
        if due and HOW not in ("lives", "limits"):
            await lose()
            await asyncio.Event().wait()

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", PORT))
asyncio.run(main())
"""

# The record of a load is known to this length of time.
INTERVAL_S = 0.1


@dataclass(frozen=True)
class Way:
    """How a server is lost, and what crumple says of it, as a regular expression."""

    how: str
    said: str


WAYS = {
    each.how: each
    for each in (
        Way("killed", r"its process \d+ was killed by signal 9 \(SIGKILL\)"),
        Way("exits", r"its process \d+ ended with code 3"),
        Way("stopped", r"a signal has stopped its process"),
        Way("hangs", r"got no answer in|answered no request"),
        Way("refuses", r"nobody listens at 127\.0\.0\.1:\d+"),
        Way("closes", r"nobody listens at 127\.0\.0\.1:\d+"),
        Way("resets", r"it resets the connection of every request"),
        Way("drains", r"its process \d+ ended with code 0"),
        Way("accepts no more", r"got no answer in|answered no request"),
        Way("fails", r"it answers 500 to every request"),
        Way("crawls", r"a request alone now takes \d|got no answer in"),
    )
}


@dataclass(frozen=True)
class Served:
    """A server that was started: its URL, and its process, for which nobody waits before the test ends."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def serving(how: str, when: str = "0", takes_ms: float = 0.0) -> Iterator[Served]:
    """Run the server until the `with` ends. `how`: of WAYS, or "lives", or "limits": 429 beyond 200 /s."""
    port = process_tree.free_port()
    words = [sys.executable, "-c", PROGRAM, str(port), how, when, str(takes_ms)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "serving\n"
            if when.startswith("-"):
                time.sleep(0.3)
            yield Served(f"http://127.0.0.1:{port}/", process)
        finally:
            process.kill()


def faults(verb: str, way: Way, code: int, out: str, err: str, *, was_up: bool = True) -> list[str]:
    """What is wrong with what `crumple VERB --json` said of a server that was lost so; empty: nothing.

    `was_up`: it answered something before it was lost.
    """
    document = json.loads(out) if out.strip() else {}
    headline = str(document.get("headline") or "")
    told = " ".join((headline, str(document.get("why") or ""), str(document.get("gone") or ""), err))
    told = told.replace("\u202f", " ")
    found = []
    if code not in (1, 3):
        found.append(f"exit code {code}")
    if was_up and not re.search(way.said, told):
        found.append(f"the cause is not named: {told!r}")
    if was_up and verb in ("load", "find") and document and not re.search(r"\d\d:\d\d:\d\d UTC", told):
        found.append(f"the time is not named: {told!r}")
    causes = [each for each in document.get("findings") or () if each["kind"] == "finding"]
    if causes:
        found.append(f"a limit is named: {causes}")
    if not was_up:
        return [*found, *(["a throughput"] if document.get("throughput_per_s") else [])]
    return [*found, *_FIGURES[verb](document)]


def _of_load(document: Mapping[str, Any]) -> Iterator[str]:
    if not document:
        return
    lost = document["lost"] or {"outage": None}
    outage = lost["outage"]
    if outage is None and document["throughput_per_s"] and document["lost"]:
        yield "a throughput without any answers before the server was lost"
    if outage is not None:
        # It may be left out; if it is there, the time until the server was lost is known to an interval.
        ok, since_s, per_s = outage["ok_measured"], outage["since_s"], document["throughput_per_s"]
        least, most = ok / (since_s + INTERVAL_S), ok / max(1e-3, since_s - INTERVAL_S)
        if per_s and (since_s < 0 or not least <= per_s <= most):
            yield f"the throughput is not that of the time before: {document['throughput_per_s']}"
    for name in ("stages", "alone", "server", "overload", "kept_back_ns"):
        if document[name] is not None:
            yield f"{name} rests on the whole load"
    if document["validity"]["word"] == "valid":
        yield "it is called valid"


def _of_find(document: Mapping[str, Any]) -> Iterator[str]:
    if not document:
        return
    if document["ending"] != "gone":
        yield f"it ended with {document['ending']!r}"
    if document["breaking_point"] is not None and " before " not in document["headline"]:
        yield f"a breaking point that is not said to be of the time before: {document['headline']}"
    for level in document["levels"]:
        if level["outcome"] in ("held", "broke") and not level["ok"]:
            yield f"the level at {level['load']:.0f} {level['outcome']}, and nothing was answered in it"


def _of_versus(document: Mapping[str, Any]) -> Iterator[str]:
    if document and document["ending"] != "gone":
        yield f"it ended with {document['ending']!r}"
    decided = document and any(each["answer"] != "undecided" for each in document["ratios"])
    if decided and not any(" before " in each for each in document["headlines"].values()):
        yield "a ratio that is not said to be of the time before"


def _of_diagnose(document: Mapping[str, Any]) -> Iterator[str]:
    if document:
        yield "a diagnosis of a server that was lost"


_FIGURES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "load": _of_load,
    "find": _of_find,
    "versus": _of_versus,
    "diagnose": _of_diagnose,
}


def words(verb: str, url: str, other: str = "") -> list[str]:
    """The command, as short as it can be."""
    more = {
        "load": ["-z", "2s", "--warm-up", "1s", "-c", "8"],
        "find": ["--budget", "10s", "-c", "32", "--objective", "p99<200ms, failed<0.1%"],
        "versus": [other, "--budget", "30s", "-c", "4", "--rate", "100"],
        "diagnose": ["--no-search"],
    }
    return [verb, url, *more[verb], "--quiet", "--json", "--seed", "3"]
