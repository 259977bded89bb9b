"""Flags of other load generators: which flag of crumple does the same, or why none does.

The tools are hey, oha, wrk, wrk2, ab, vegeta, curl and k6. Flags that crumple shares with them (-n, -c, -z,
-m, -H, -T) are not listed.
"""

from collections.abc import Sequence

from crumple.errors import Mistakes, UsageError
from crumple.load.load_flags import HabitFlags

COMMANDS = ("load", "find")
# What to write → the options that it replaces, without their values. Where two tools mean different things by
# an option, both are given.
_REPLACED = {
    "write --json, or --csv FILE, --html FILE": "-o --output --output-format -output --out",
    "write -H 'Authorization: Basic …'": "-a --basic-auth --user",
    "write -H 'User-Agent: …'": "-U --user-agent",
    "no proxy is spoken to; load the server itself": "-x --proxy -proxy-header",
    "crumple speaks HTTP/1.1 only": "-h2 --http2 --http-version -http2 -h2c",
    "write -H 'Host: …'": "-host --host",
    "write --threads N for the engine's threads, --cores LIST to bind them": "-cpus --cpus",
    "write --debug to see one request and its answer": "-more -v --http-debug --verbose",
    "write --rate PER_S, of all connections together": "--rps --qps --query-per-second",
    "write --request-file FILE": "--urls-from-file --script -targets -lazy",
    "write the address into the URL, and -H 'Host: …'": (
        "--ipv4 --ipv6 -4 -6 --connect-to -connect-to --resolve"
    ),
    "crumple shows no certificate of its own": "--cert --key -cert -key",
    "write --request-file FILE, with a body for each": "-Z",
    "it never is: crumple follows no redirect, and asks for no compression unless -H does": (
        "-disable-compression --disable-compression -disable-redirects -redirects"
    ),
    "write --disable-keepalive": "-disable-keepalive --no-connection-reuse --no-vu-connection-reuse",
    "redirects are not followed, and errors stop no load; leave it out": "-r",
    "redirects are not followed; load where it leads": "--redirect --location",
    "write --quiet": "--no-tui",
    "write --json": "-j --summary-export",
    "write --html FILE for a page; requests in flight at the end are counted as unfinished": "-w",
    "response times run from when a request was due; leave it out": "--latency-correction",
    "write --rate PER_S, or --steps": "--burst-rate",
    "set NO_COLOR=1": "--disable-color",
    "the quantiles are always shown": "--latency",
    "the quantiles are always shown; redirects are not followed": "-L",
    "write --rate PER_S": "-R -rate",
    "for a script write --request-file FILE; for a timeout write -t, for silence --quiet": "-s",
    (
        "connections are kept alive unless --disable-keepalive says otherwise; "
        "for a certificate that is not to be verified write --insecure"
    ): "-k",
    "for a body write -D FILE and -T TYPE; of connections there are -c": "-p",
    "for a body write -m PUT -D FILE; for a password write -H 'Authorization: Basic …'": "-u",
    "write -H 'Cookie: …'": "-C -b --cookie",
    "write -m HEAD; to see the answer's head write --debug": "-i",
    "write --csv FILE": "-e -g",
    "the length of answers may differ unless --expect-body says otherwise; leave it out": "-l",
    "write --source-address ADDRESS": "-B -laddr",
    "write -z DURATION": "-duration",
    "write -c N": "-workers -max-workers -connections -max-connections --vus",
    "write -t DURATION": "-timeout --max-time",
    "write -D FILE": "-body --data-binary",
    "write -H 'NAME: VALUE'": "-header",
    "write --insecure": "-insecure --insecure-skip-tls-verify",
    "write --cacert FILE": "-root-certs",
    "write --unix-socket PATH": "-unix-socket",
    "write --disable-keepalive for -keepalive=false; otherwise leave it out": "-keepalive",
    "bodies are read whole; leave it out": "-max-body",
    "write --request-file FILE: TOML or JSON": "-format",
    "leave it out": "-name",
    "bodies are sent whole; leave it out": "-chunked",
    "sessions are resumed where the server gives tickets; leave it out": "-session-tickets",
    "for a method write -m METHOD; no proxy is spoken to": "-X",
    "write -m METHOD": "--request",
    "write -d TEXT": "--data --data-raw",
    "write -m HEAD": "-I --head",
    "write -D FILE and -T TYPE; crumple composes no form": "-F --form",
    "write -H 'Accept-Encoding: gzip'": "--compressed",
    "write -n N": "--iterations",
    "write --steps RATES, or --ramp FROM-TO": "--stage",
    "redirects are not followed; leave it out": "--max-redirects",
    "bodies are read and not kept; leave it out": "--discard-response-bodies",
}
INSTEAD = {option: remedy for remedy, options in _REPLACED.items() for option in options.split()}


def check(arguments: Sequence[str]) -> None:
    """Return unless a word with one hyphen, such as -duration, would be read as a letter and its value.

    `arguments`: the words of the command line. Raises UsageError.
    """
    if arguments and arguments[0] in COMMANDS:
        for typed in arguments[1:]:
            word = typed.partition("=")[0]
            if word in INSTEAD and word[:2] != "--" and len(word) > 2:
                raise UsageError(f"No such option: {word}", INSTEAD[word])


def check_flags(flags: HabitFlags) -> None:
    """Return unless a flag that changes nothing asks for something. Raises UsageError."""
    mistakes = Mistakes()
    if flags.redirect:
        mistakes.add(
            f"-r {flags.redirect}: redirects are not followed",
            "load the URL where it leads; --debug shows that",
        )
    if flags.http_version is not None and flags.http_version.strip() != "1.1":
        mistakes.add(f"--http-version {flags.http_version}: only HTTP/1.1 is spoken", "leave it out")
    mistakes.none()


def instead(command: str, option: str) -> str | None:
    """What to write instead of an option that `command` does not have; None: no other tool has it."""
    return INSTEAD.get(option) if command.split()[-1] in COMMANDS else None
