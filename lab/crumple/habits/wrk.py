"""wrk and wrk2 as data: their flags, and what they send by default."""

from collections.abc import Mapping
from dataclasses import replace

from crumple.errors import UsageError
from crumple.habits.tool import (
    CommandToSettle,
    Default,
    Flag,
    Tool,
    even_rate,
    lacking,
    needless,
    nothing,
    other,
    same,
)

# Threads that wrk starts unless -t says otherwise; each has an equal part of the connections.
THREADS = 2
SHOWN = "the quantiles are always shown"
LATE = "counts answers later than 2 s as timeouts, and waits for them"


def _of_each_thread(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    """Round the connections down to the same number for each thread, as wrk does."""
    connections, threads = asked.value("connections") or "", typed.get("-t", str(THREADS))
    if connections.isdecimal() and threads.isdecimal() and 0 < int(threads) <= int(connections):
        asked.put("connections", str(int(connections) // int(threads) * int(threads)))


def _with_rate(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    _of_each_thread(asked, typed)
    if asked.value("rate") is None:
        raise UsageError("--like wrk2: wrk2 needs a rate", "write -R PER_S")


_FLAGS: tuple[Flag, ...] = (
    other("-c --connections", "-c", "by default 50; wrk has 10"),
    other("-d --duration", "-z", "here `-d` is the body; one that reads as a duration is refused"),
    other(
        "-t --threads",
        "--threads",
        "here `-t` is the timeout; one thread suffices for most servers",
        gives=nothing,
    ),
    same("-H --header"),
    Flag(
        ("--timeout",),
        ("--timeout",),
        "by default 20s, and a request that is given up is counted as `timeout`; wrk has 2s, and "
        "does not give it up",
        "",
        nothing,
        True,
    ),
    needless("--latency", SHOWN),
    lacking(
        "-s --script",
        "requests vary by counts, random numbers and lines of a file",
        instead="write --request-file FILE",
    ),
    lacking("-v --version", "that is `crumple --version`", instead="write crumple --version", value=False),
)

WRK = Tool(
    name="wrk",
    command="wrk",
    seen="4.1.0 recorded, 4.2.0 read",
    about=(
        "`wrk -t4 -c100 -d30s --latency URL` is `crumple load URL -c 100 -z 30s`. wrk runs scripts of "
        "Lua, crumple none."
    ),
    grammar="getopt",
    default=Default(connections=10, duration_s=10, verifies=False, failed="statuses from 400 on"),
    flags=_FLAGS,
    differs=(LATE,),
    settle=_of_each_thread,
)

WRK2 = Tool(
    name="wrk2",
    command="wrk2",
    seen="that of 2019 read",
    about="`wrk2 -R 2000 URL` is `crumple load URL --rate 2000 --arrivals even`.",
    grammar="getopt",
    default=replace(WRK.default, failed="statuses from 400 on"),
    flags=(
        *_FLAGS,
        other(
            "-R --rate",
            "--rate",
            "wrk2 sends at even gaps on each connection; here arrivals are random by default",
            gives=even_rate,
        ),
        needless("-L", SHOWN),
        needless(
            "-U --u_latency",
            "here `-U` is the User-Agent; service times stand beside response times under a rate",
        ),
        lacking("-B --batch_latency", "requests of a connection follow each other", value=False),
    ),
    differs=(LATE, "gives each connection its part of the rate"),
    settle=_with_rate,
)
