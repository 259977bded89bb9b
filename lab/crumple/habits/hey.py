"""hey as data: its flags, and what it sends by default."""

from collections.abc import Mapping

from crumple.habits.tool import (
    CommandToSettle,
    Default,
    Tool,
    even_rate,
    lacking,
    needless,
    other,
    per_connection,
    same,
    timeout,
)


def _settled(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    per_connection(asked, "-q", typed)
    connections, requests = asked.value("connections") or "", asked.value("requests") or ""
    # Each of its workers sends the same number, rounded down.
    if connections.isdecimal() and requests.isdecimal() and 0 < int(connections) <= int(requests):
        asked.put("requests", str(int(requests) // int(connections) * int(connections)))


HEY = Tool(
    name="hey",
    command="hey",
    seen="0.1.4 and 0.1.5 recorded",
    about=(
        "`hey -n 2000 -c 50 URL` is `crumple load URL -n 2000 -c 50`. By default hey sends 200 requests, "
        "and crumple loads for 10 seconds."
    ),
    grammar="go",
    default=Default(
        connections=50,
        requests=200,
        timeout_s=20,
        headers=(("Content-Type", "text/html"), ("Accept-Encoding", "gzip")),
        user_agent="hey/",
        redirects=10,
        verifies=False,
        waits_at_end=True,
        equal_parts=True,
    ),
    flags=(
        same(
            "-n",
            "each connection of hey sends the same number, rounded down: `-n 250 -c 100` are 200 requests",
        ),
        same("-c"),
        same("-q", "the rate of all connections together; in hey that of each worker", gives=even_rate),
        same("-z", "if hey has `-z`, its `-n` does not count; here what comes first ends the load"),
        same("-m"),
        same("-H"),
        same("-t", "`-t 20` and `-t 20s` are the same; 0 is refused", gives=timeout),
        same("-A"),
        same("-d", "the method is then POST; hey sends GET unless `-m` says otherwise"),
        same("-D", "as for `-d`"),
        same("-T", "hey sends `text/html` with every request if it is not given"),
        same("-U", "hey adds its own name"),
        same("-a"),
        same("-x"),
        same("-host"),
        same("-disable-compression", "that is so by default: hey asks for `gzip`", value=False),
        same("-disable-keepalive", value=False),
        same("-disable-redirects", "that is so by default", value=False),
        other("-o", "--csv", "by interval, not by request", gives=None),
        lacking("-h2", "crumple speaks HTTP/1.1 only", value=False),
        needless(
            "-cpus",
            "`--threads` are the engine's threads",
            instead="write --threads N for the engine's threads",
            value=True,
        ),
    ),
    number_or_time="time",
    settle=_settled,
)
