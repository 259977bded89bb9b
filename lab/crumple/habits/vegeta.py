"""vegeta as data: the flags of `vegeta attack`, and what it sends by default."""

import re
from collections.abc import Mapping

from crumple.errors import UsageError
from crumple.habits.tool import CommandToSettle, Default, Tool, Words, even_rate, lacking, needless, other

_RATE = re.compile(r"(\d+)(?:/(\d*)(ms|s|m|h))?")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TARGETS = "write --request-file FILE; crumple import makes that file"


def _rate(typed: str) -> Words:
    """Write "50", "50/1s" or "3000/m" as requests per second at even gaps."""
    found = _RATE.fullmatch(typed)
    if found is None or int(found[1]) == 0:
        raise UsageError(
            f"-rate {typed}: that is no rate that has an end",
            "write 50/1s; as fast as the server answers is -c N alone",
        )
    over_s = float(found[2] or 1) * _UNIT_S[found[3] or "s"]
    return even_rate(f"{int(found[1]) / over_s:.15g}")


def _duration(typed: str) -> Words:
    if typed in ("0", "0s"):
        raise UsageError("-duration 0: a load has an end", "write -duration 30s, for instance")
    return ("-z", typed)


def _settled(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    if typed.get("-keepalive") == "false":
        asked.put("disable_keepalive")


VEGETA = Tool(
    name="vegeta",
    command="vegeta attack",
    seen="12.13.0 recorded",
    about=(
        "`vegeta attack -rate=500 -duration=30s` with one target is `crumple load URL --rate 500 -z "
        "30s --arrivals even`. By default arrivals\n"
        "are random here, and the rate is not 50 per second: without one, 50 connections are loaded "
        "as fast as they are answered."
    ),
    grammar="go",
    default=Default(
        connections=10_000,
        rate_per_s=50,
        timeout_s=30,
        headers=(("Accept-Encoding", "gzip"),),
        user_agent="Go-http-client/",
        http2_over_tls=True,
        redirects=10,
        waits_at_end=True,
        waits_under_rate=False,
        failed="statuses other than 200 to 399",
    ),
    flags=(
        other("-rate", "--rate", gives=_rate),
        other("-duration", "-z", gives=_duration),
        needless(
            "-connections", "the most idle connections; here all are kept", instead="write -c N", value=True
        ),
        other("-max-connections -max-workers", "-c"),
        needless("-workers", "connections are opened as they are needed", instead="write -c N", value=True),
        other("-timeout", "-t"),
        other("-body", "-D"),
        other("-header", "-H", instead="write -H 'NAME: VALUE'"),
        other(
            "-targets",
            "--request-file",
            "`crumple import` makes one from the targets",
            instead=_TARGETS,
            gives=None,
        ),
        other(
            "-format",
            "--request-file",
            "`crumple import` reads targets in both formats",
            instead=_TARGETS,
            gives=None,
        ),
        other(
            "-lazy", "--request-file", "it is read before the load", instead=_TARGETS, value=False, gives=None
        ),
        other(
            "-keepalive",
            "--disable-keepalive",
            "for `-keepalive=false`",
            value=False,
            gives=lambda _: (),
            instead="write --disable-keepalive for -keepalive=false; otherwise leave it out",
        ),
        other("-insecure", "--insecure", value=False),
        other("-root-certs", "--cacert"),
        other("-cert", "--cert"),
        other("-key", "--key"),
        other("-unix-socket", "--unix-socket"),
        other("-laddr", "--source-address"),
        other("-connect-to", "--connect-to", "HOST:PORT:HOST2:PORT2, as in curl"),
        other("-proxy-header", "--proxy-header"),
        lacking("-redirects", "redirects are not followed"),
        needless("-max-body", "bodies are read whole and not kept", value=True),
        lacking("-dns-ttl -resolvers", "names are looked up once, before the load"),
        needless("-session-tickets", "sessions are resumed where the server gives tickets"),
        lacking("-chunked", "bodies are sent whole", value=False),
        lacking("-http2 -h2c", "crumple speaks HTTP/1.1 only", value=False),
        needless(
            "-name",
            "a stored result is named by `--name`, with two hyphens",
            instead="write --name NAME for the stored result, or leave it out",
            value=True,
        ),
        other("-output", "--json", instead="write --json > FILE", gives=None),
        lacking(
            "-prometheus-addr",
            "`crumple export --as openmetrics` writes metrics after the load",
            instead="metrics are written after the load, by crumple export",
        ),
    ),
    differs=("numbers its requests in X-Vegeta-Seq",),
    settle=_settled,
)
