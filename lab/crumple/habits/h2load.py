"""h2load as data: its flags, and what it sends with --h1, which is all that crumple speaks."""

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
)

HTTP_1 = "crumple speaks HTTP/1.1 only"


def _settled(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    per_connection(asked, "--rps", typed)


H2LOAD = Tool(
    name="h2load",
    command="h2load --h1",
    seen="1.52.0 recorded, 1.71 read",
    about=(
        "crumple speaks no HTTP/2. For a server that speaks both, `h2load --h1 -c 100 -D 30 URL` is "
        "`crumple load URL -c 100 -z 30s`. By\n"
        "default h2load sends one request, by HTTP/2 even to `http://`, and crumple loads for 10 seconds."
    ),
    grammar="getopt",
    default=Default(
        connections=1,
        requests=1,
        user_agent="h2load nghttp2/",
        verifies=False,
        equal_parts=True,
        body_method="POST",
        failed="statuses from 400 on",
    ),
    flags=(
        same("-n"),
        other("--requests", "-n"),
        other("-c --clients", "-c"),
        needless(
            "-t --threads", "here `-t` is the timeout; one thread suffices for most servers", value=True
        ),
        other("-D", "-z", "here `-D` is a file that holds the body"),
        same("--duration"),
        other("--warm-up-time", "--warm-up"),
        lacking("-m --max-concurrent-streams", f"here `-m` is the method; {HTTP_1}", instead=HTTP_1),
        same("-H --header"),
        other("-d --data", "-D", "here `-d` is the body itself, or `@FILE`"),
        other(
            "--rps",
            "--rate",
            "of all connections together; in h2load that of each client",
            instead="write --rate PER_S of all connections together",
            gives=even_rate,
        ),
        other(
            "-r --rate",
            "--ramp",
            "here `-r` is the number of redirects and `--rate` requests per second; h2load opens so "
            "many connections per period",
            gives=None,
        ),
        lacking("--rate-period", "of connections, which is `--ramp`", instead="write --ramp FROM-TO"),
        other("-T --connection-active-timeout", "-t", "here `-T` is the Content-Type", gives=None),
        lacking(
            "-N --connection-inactivity-timeout", "a request has a timeout, `-t`", instead="write -t DURATION"
        ),
        other(
            "-i --input-file",
            "--request-file",
            "`crumple import` makes one from the list",
            instead="for URLs of a file, crumple import makes what --request-file FILE takes",
            gives=None,
        ),
        other(
            "-B --base-uri",
            "--unix-socket",
            "a base URI is the URL; one with `unix:` is a socket",
            instead="for a base URI write its URL, or --unix-socket PATH",
            gives=None,
        ),
        other("--connect-to", "--connect-to", "here HOST:PORT:HOST2:PORT2, as in curl", gives=None),
        needless("--h1", "crumple speaks HTTP/1.1 only"),
        lacking("--alpn-list --npn-list -p --no-tls-proto", HTTP_1),
        lacking("--h3 --no-udp-gso", HTTP_1, value=False),
        lacking("-f --max-frame-size -W --connection-window-bits", HTTP_1),
        lacking("-w --window-bits --header-table-size --encoder-header-table-size", HTTP_1),
        lacking("--max-udp-payload-size --qlog-file-base", HTTP_1),
        lacking("--ciphers --tls13-ciphers --groups", "TLS 1.2 or 1.3 is agreed on with the server"),
        lacking("--ktls", "TLS is done by the engine", value=False),
        lacking("--tls-session-file", "sessions are resumed where the server gives tickets"),
        lacking(
            "--sni",
            "write `--connect-to HOST:PORT:HOST2:PORT2`",
            instead="write --connect-to HOST:PORT:HOST2:PORT2",
        ),
        other("--log-file", "--csv", "by interval, not by request", gives=None),
        other("--output-file", "--json", instead="write --json > FILE", gives=None),
        needless("--histogram", "the histogram is always shown"),
        other(
            "--timing-script-file",
            "--request-file",
            "the times of requests follow from a rate, steps or a ramp",
            gives=None,
        ),
        other("-v --verbose", "--debug", value=False, gives=None),
    ),
    differs=("speaks HTTP/2 without --h1",),
    number_or_time="time",
    settle=_settled,
)
