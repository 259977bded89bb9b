"""autocannon as data: its flags, and what it sends by default."""

from collections.abc import Mapping

from crumple.errors import UsageError
from crumple.habits.tool import (
    OWN_FAILED,
    CommandToSettle,
    Default,
    Tool,
    Words,
    even_rate,
    lacking,
    needless,
    other,
    per_connection,
    same,
)


def _header(typed: str) -> Words:
    """Write "NAME=VALUE", or "NAME: VALUE", which autocannon takes as well."""
    found = min((mark for mark in "=:" if mark in typed), key=typed.index, default=None)
    if found is None:
        raise UsageError(f"-H {typed}: that is no header", "write NAME=VALUE")
    name, _, value = typed.partition(found)
    return ("-H", f"{name.strip()}: {value.strip()}")


def _settled(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    per_connection(asked, "--connectionRate", typed)


AUTOCANNON = Tool(
    name="autocannon",
    command="autocannon",
    seen="9.0.0 recorded",
    about="`autocannon -c 100 -d 30 URL` is `crumple load URL -c 100 -z 30s`.",
    grammar="getopt",
    default=Default(
        connections=10,
        duration_s=10,
        timeout_s=10,
        headers=(("Connection", "keep-alive"),),
        verifies=False,
        equal_parts=True,
        failed=OWN_FAILED,
    ),
    flags=(
        same("-c --connections"),
        other("-d --duration", "-z", "here `-d` is the body"),
        other("-a --amount", "-n", "here `-a` is a user and a password"),
        lacking("-p --pipelining", "requests of one connection follow each other"),
        needless(
            "-w --workers", "one thread suffices for most servers", instead="write --threads N", value=True
        ),
        other("-S --socketPath", "--unix-socket"),
        other("-W --warmup", "--warm-up", gives=None),
        same("-m --method"),
        same("-t --timeout"),
        other("-T --title", "--name", "here `-T` is the Content-Type"),
        other("-b --body", "-d", "the method is then POST; autocannon sends GET unless `-m` says otherwise"),
        other("-i --input", "-D", "as for `-b`"),
        other("-F --form", "-F", "here NAME=VALUE for each field, as in curl, not JSON", gives=None),
        other("-H --headers", "-H", "here `NAME: VALUE`, not `NAME=VALUE`", gives=_header),
        other(
            "--har",
            "--request-file",
            "`crumple import` makes one from a HAR",
            instead="write --request-file FILE; crumple import makes that file",
            gives=None,
        ),
        lacking("-B --bailout", "failures end no load early"),
        other("-M --maxConnectionRequests", "-n", "of all connections together", gives=None),
        other("-O --maxOverallRequests", "-n"),
        other(
            "--connectionRate -r",
            "--rate",
            "here `-r` is the number of redirects, and a rate is of all connections together",
            instead="write --rate PER_S, of all connections together",
            gives=even_rate,
        ),
        other("-R --overallRate", "--rate", gives=even_rate),
        needless(
            "-C --ignoreCoordinatedOmission",
            "under a rate a response time always begins when the request was due",
        ),
        other(
            "-D --reconnectRate",
            "--disable-keepalive",
            "here `-D` is a file that holds the body; the flag is a new connection for every request",
            gives=None,
        ),
        needless("-n --no-progress", "here `-n` is the number of requests", instead="write --quiet"),
        needless("-l --latency", "the quantiles are always shown"),
        needless("--renderStatusCodes", "all statuses are always shown"),
        lacking(
            "-I --idReplacement",
            "write `{seq}` into the body",
            instead="write {seq} into the body",
            value=False,
        ),
        other("-j --json", "--json", value=False),
        lacking("-f --forever", "a load has an end", value=False),
        other("-s --servername", "--connect-to", gives=None),
        needless(
            "-x --excludeErrorStats",
            "here `-x` is a proxy; failed requests are never among the response times",
        ),
        other("-E --expectBody", "--expect-body"),
        lacking("-L", "the series has an interval of 100 ms"),
        same("--cert"),
        same("--key"),
        other("--ca", "--cacert"),
        needless(
            "--debug", "here `--debug` shows one request and its answer; errors are always counted by kind"
        ),
        lacking(
            "--on-port",
            "`crumple diagnose` and `crumple versus` start a command that follows `--`",
            instead="a running server is loaded; crumple diagnose and crumple versus start a command",
            value=False,
        ),
    ),
    number_or_time="number",
    settle=_settled,
)
