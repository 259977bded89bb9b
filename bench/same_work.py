"""Does a server get the same work from `crumple load --like TOOL` as from TOOL? The server's CPU time for a
request, and answers per second, of each and of crumple without --like, on an nginx that compresses for those
who ask for it.

    python bench/same_work.py --rounds 10 --seconds 2 --tools hey,oha

Each load generator has one core, and the server has another. A tool and crumple take turns, with the same
words; the order within a round is random. The script shows the ratios of both within a round, with their 95 %
intervals over rounds: of the CPU time, which other programs change little, and of the answers per second,
which they change much. lab/tests/importing/test_recorded.py compares what is sent. This judges nothing.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import load
import options
import targets
from bounds import run, skip
from crumple.machine import process_tree
from crumple.stats import estimate
from peers import PEERS

CRUMPLE = "crumple"
WITHOUT = "without --like, which asks for no compressed page"
# Of process_tree.stat.
UTIME, STIME = 11, 12
COMMAND = [str(load.ROOT / "crumple"), "load"]
BESIDE = ["--json", "--no-store", "--quiet"]
SCRIPT = "import http from 'k6/http';\nexport default function () { http.get(__ENV.TARGET); }\n"
# In k6's output "1234.5/s", behind the number of requests.
_K6 = r"http_reqs\W+\d+\s+([\d.]+)/s"


@dataclass(frozen=True)
class Came:
    """One load: answers per second, and what nginx used for each request, in µs."""

    per_s: float
    cpu_us: float


@dataclass(frozen=True)
class Tool:
    """How a tool is called. `words(connections, seconds)` mean the same to it and behind `crumple load
    --like`; `shown`: words for its output alone; `per_s` reads its answers per second."""

    name: str
    words: Callable[[int, int], list[str]]
    per_s: Callable[[str], float]
    shown: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


def _of_peer(name: str) -> Callable[[str], float]:
    return next(peer.per_s for peer in PEERS if peer.name == name)


def _read(pattern: str) -> Callable[[str], float]:
    return lambda output: float(re.findall(pattern, output)[-1])


def _autocannon(output: str) -> float:
    found = json.loads(output)
    return float(found["2xx"] / found["duration"])


def _bombardier(output: str) -> float:
    result = json.loads(output)["result"]
    return float(result["req2xx"] / result["timeTakenSeconds"])


TOOLS = (
    Tool("wrk", lambda c, s: ["-t1", f"-c{c}", f"-d{s}s"], _of_peer("wrk")),
    Tool("h2load", lambda c, s: ["--h1", f"-c{c}", f"-D{s}"], _of_peer("h2load")),
    Tool("ab", lambda c, s: ["-k", "-c", str(c), "-t", str(s), "-n", "5000000"], _of_peer("ab"), ("-q",)),
    Tool("hey", lambda c, s: ["-c", str(c), "-z", f"{s}s"], _of_peer("hey"), ("-cpus", "1")),
    Tool("oha", lambda c, s: ["-c", str(c), "-z", f"{s}s"], _of_peer("oha"), ("--output-format", "json")),
    Tool("bombardier", lambda c, s: ["-c", str(c), "-d", f"{s}s"], _bombardier, ("-o", "json", "-p", "r")),
    Tool("autocannon", lambda c, s: ["-c", str(c), "-d", str(s)], _autocannon, ("-j",)),
    Tool(
        "k6",
        lambda c, s: ["--vus", str(c), "--duration", f"{s}s"],
        _read(_K6),
        ("--no-usage-report",),
        ("run",),
    ),
    Tool(
        "vegeta",
        lambda c, s: [f"-max-workers={c}", f"-duration={s}s", "-rate=200"],
        _read(r"throughput\]\s+[\d.]+, [\d.]+, ([\d.]+)"),
        before=("attack",),
    ),
)


def main() -> None:
    arguments = parse()
    if not targets.has_nginx():
        skip(f"nginx is not installed (to install: {targets.INSTALL_NGINX})")
    chosen = [each for each in TOOLS if each.name in arguments.tools and shutil.which(each.name)]
    print(
        f"nginx, a page of {targets.PAGE_BYTES:,} bytes, {arguments.rounds} rounds (ratios: 95 % intervals)"
    )
    print(f"{'':12}{'server CPU':>12}{'--like it':>11}{'':24}{'answers':>12}{'--like it':>11}")
    with targets.nginx(arguments.server_core, status=True) as address:
        for tool in chosen:
            compare(tool, address, arguments)
        words = ["-c", str(arguments.connections), "-z", f"{arguments.seconds}s"]
        plain = once(address, lambda url: _crumple(words, url, arguments))
    print(f"{CRUMPLE:12}{plain.cpu_us:9,.0f} µs{'':35}{plain.per_s:9,.0f} /s   {WITHOUT}")


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 8)
    options.cores(parser)
    parser.add_argument("--seconds", type=int, default=2, help="of one load; some tools count whole seconds")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--tools", type=options.words, default=[each.name for each in TOOLS])
    return options.parse(parser, rounds=1, seconds=1, tools=["wrk", "hey"])


def compare(tool: Tool, address: str, arguments: argparse.Namespace) -> None:
    """Runs the rounds with one tool and prints its row."""
    words = tool.words(arguments.connections, arguments.seconds)
    calls: dict[str, Callable[[str], float]] = {
        tool.name: lambda url: tool.per_s(_tool(tool, words, url, arguments)),
        CRUMPLE: lambda url: _crumple(["--like", tool.name, *words], url, arguments),
    }
    found: dict[str, list[Came]] = {who: [] for who in calls}
    for who in load.interleaved(calls, arguments.rounds, arguments.connections):
        found[who].append(once(address, calls[who]))
    cpu = _both([[each.cpu_us for each in found[who]] for who in calls], "µs")
    print(
        f"{tool.name:12}{cpu}{_both([[each.per_s for each in found[who]] for who in calls], '/s')}",
        flush=True,
    )


def _both(of: list[list[float]], unit: str) -> str:
    its, ours = of
    ratio = estimate.paired_ratio(ours, its)
    shown = f"{load.middle(its):9,.0f} {unit}{load.middle(ours):8,.0f} {unit}"
    return f"{shown}  {ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f}) "


def once(address: str, call: Callable[[str], float]) -> Came:
    """Loads nginx once."""
    cpu_s, requests = _used(address)
    per_s = call(f"http://{address}{targets.PAGE_PATH}")
    cpu_after_s, requests_after = _used(address)
    # Less the two questions how many there were.
    return Came(per_s, (cpu_after_s - cpu_s) / max(1, requests_after - requests - 1) * 1e6)


def _used(address: str) -> tuple[float, int]:
    """Returns the CPU time of nginx, and how many requests it has had."""
    host, _, port = address.partition(":")
    asked = http.client.HTTPConnection(host, int(port))
    asked.request("GET", targets.STATUS_PATH)
    requests = int(asked.getresponse().read().split()[9])
    asked.close()
    pid = process_tree.owner(int(port))
    ticks = 0
    for each in (pid, *process_tree.descendants(pid)):
        fields = process_tree.stat(each)
        ticks += int(fields[UTIME]) + int(fields[STIME])
    return ticks / os.sysconf("SC_CLK_TCK"), requests


def _crumple(words: list[str], url: str, arguments: argparse.Namespace) -> float:
    """Loads with one thread, and returns the answers per second."""
    said = _run([*COMMAND, *words, url, *BESIDE, "--threads", "1"], arguments)
    return float(json.loads(said)["throughput_per_s"])


def _tool(tool: Tool, words: list[str], url: str, arguments: argparse.Namespace) -> str:
    call = [tool.name, *tool.before, *words, *tool.shown]
    if tool.name == "vegeta":
        sent = _printed(call, arguments, f"GET {url}\n".encode())
        return _run([tool.name, "report"], arguments, sent)
    if tool.name == "k6":
        return _run([*call, "-e", f"TARGET={url}", "-"], arguments, SCRIPT.encode())
    return _run([*call, url], arguments)


def _run(call: list[str], arguments: argparse.Namespace, given: bytes = b"") -> str:
    return _printed(call, arguments, given).decode(errors="replace")


def _printed(call: list[str], arguments: argparse.Namespace, given: bytes) -> bytes:
    """Runs a command on the core of the load generator, and returns what it prints."""
    ended = subprocess.run(
        call,
        input=given,
        capture_output=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {arguments.load_core}),
        check=False,
    )
    if not ended.stdout:
        raise load.LoadError(f"{' '.join(call)}: {ended.stderr.decode(errors='replace')}")
    return ended.stdout


if __name__ == "__main__":
    run(main)
