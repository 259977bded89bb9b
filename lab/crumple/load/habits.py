"""Flags of other load generators: which flag of crumple does the same, or why none does.

Flags that crumple shares with them (-n, -c, -z, -m, -H, -T) are not listed.
"""

from collections.abc import Sequence

from crumple.errors import UsageError

COMMANDS = ("load", "find")
_HTTP2 = "crumple speaks HTTP/1.1 only"
_KEPT = "connections are kept alive unless --disable-keepalive says otherwise"
_LATENCY = "the quantiles are always shown"
_NEVER = "it never is: crumple follows no redirect, and asks for no compression unless -H does"
_THREADS = "write --threads N for the engine's threads, --cores LIST to bind them"
_RATE = "write --rate PER_S, of all connections together"
_ADDRESS = "write the address into the URL, and -H 'Host: …'"
_NO_CERTIFICATE = "crumple shows no certificate of its own"
_AUTHORIZATION = "write -H 'Authorization: Basic …'"

# Option, without its value → what to write instead. Where two tools mean different things, both are given.
INSTEAD = {
    # hey, oha
    "-o": "write --json, or --csv FILE, --html FILE",
    "--output": "write --json, or --csv FILE, --html FILE",
    "-a": _AUTHORIZATION,
    "-U": "write -H 'User-Agent: …'",
    "-x": "no proxy is spoken to; load the server itself",
    "-h2": _HTTP2,
    "--http2": _HTTP2,
    "--http-version": _HTTP2,
    "-host": "write -H 'Host: …'",
    "--host": "write -H 'Host: …'",
    "-cpus": _THREADS,
    "--cpus": _THREADS,
    "-more": "write --debug to see one request and its answer",
    "--rps": _RATE,
    "--qps": _RATE,
    "--query-per-second": _RATE,
    "--basic-auth": _AUTHORIZATION,
    "--proxy": "no proxy is spoken to; load the server itself",
    "--urls-from-file": "write --request-file FILE",
    "--output-format": "write --json, or --csv FILE, --html FILE",
    "--ipv4": _ADDRESS,
    "--ipv6": _ADDRESS,
    "-4": _ADDRESS,
    "-6": _ADDRESS,
    "--cert": _NO_CERTIFICATE,
    "--key": _NO_CERTIFICATE,
    "-Z": "write --request-file FILE, with a body for each",
    "-disable-compression": _NEVER,
    "--disable-compression": _NEVER,
    "-disable-keepalive": "write --disable-keepalive",
    "-disable-redirects": _NEVER,
    "-r": "redirects are not followed, and errors stop no load; leave it out",
    "--redirect": "redirects are not followed; load where it leads",
    "--no-tui": "write --quiet",
    "-j": "write --json",
    "-w": "write --html FILE for a page; requests in flight at the end are counted as unfinished",
    "--latency-correction": "response times run from when a request was due; leave it out",
    "--burst-rate": "write --rate PER_S, or --steps",
    "--connect-to": _ADDRESS,
    "--disable-color": "set NO_COLOR=1",
    # wrk, wrk2
    "--latency": _LATENCY,
    "-L": f"{_LATENCY}; redirects are not followed",
    "-R": "write --rate PER_S",
    "-s": "for a script write --request-file FILE; for a timeout write -t, for silence --quiet",
    "--script": "write --request-file FILE",
    # ab
    "-k": f"{_KEPT}; for a certificate that is not to be verified write --insecure",
    "-p": "for a body write -D FILE and -T TYPE; of connections there are -c",
    "-u": "for a body write -m PUT -D FILE; for a password " + _AUTHORIZATION,
    "-C": "write -H 'Cookie: …'",
    "-i": "write -m HEAD; to see the answer's head write --debug",
    "-e": "write --csv FILE",
    "-g": "write --csv FILE",
    "-l": "the length of answers may differ unless --expect-body says otherwise; leave it out",
    "-v": "write --debug to see one request and its answer",
    "-B": "write --source-address ADDRESS",
    # vegeta
    "-rate": "write --rate PER_S",
    "-duration": "write -z DURATION",
    "-targets": "write --request-file FILE",
    "-workers": "write -c N",
    "-max-workers": "write -c N",
    "-connections": "write -c N",
    "-timeout": "write -t DURATION",
    "-body": "write -D FILE",
    "-header": "write -H 'NAME: VALUE'",
    "-output": "write --json, or --csv FILE, --html FILE",
    "-insecure": "write --insecure",
    "-root-certs": "write --cacert FILE",
    "-unix-socket": "write --unix-socket PATH",
    "-laddr": "write --source-address ADDRESS",
    "-http2": _HTTP2,
    "-h2c": _HTTP2,
    "-keepalive": "write --disable-keepalive for -keepalive=false; otherwise leave it out",
    "-redirects": _NEVER,
    "-max-connections": "write -c N",
    "-max-body": "bodies are read whole; leave it out",
    "-format": "write --request-file FILE: TOML or JSON",
    "-lazy": "write --request-file FILE",
    "-name": "leave it out",
    "-cert": _NO_CERTIFICATE,
    "-key": _NO_CERTIFICATE,
    "-proxy-header": "no proxy is spoken to; load the server itself",
    "-chunked": "bodies are sent whole; leave it out",
    "-connect-to": _ADDRESS,
    "-session-tickets": "sessions are resumed where the server gives tickets; leave it out",
    # curl, k6
    "-X": "for a method write -m METHOD; no proxy is spoken to",
    "--request": "write -m METHOD",
    "--data": "write -d TEXT",
    "--data-binary": "write -D FILE",
    "--user": _AUTHORIZATION,
    "-b": "write -H 'Cookie: …'",
    "-I": "write -m HEAD",
    "--data-raw": "write -d TEXT",
    "--user-agent": "write -H 'User-Agent: …'",
    "--cookie": "write -H 'Cookie: …'",
    "--head": "write -m HEAD",
    "--location": "redirects are not followed; load where it leads",
    "-F": "write -D FILE and -T TYPE; crumple composes no form",
    "--form": "write -D FILE and -T TYPE; crumple composes no form",
    "--max-time": "write -t DURATION",
    "--resolve": _ADDRESS,
    "--compressed": "write -H 'Accept-Encoding: gzip'",
    "--iterations": "write -n N",
    "--stage": "write --steps RATES, or --ramp FROM-TO",
    "--out": "write --json, or --csv FILE, --html FILE",
    "--summary-export": "write --json",
    "--http-debug": "write --debug to see one request and its answer",
    "--insecure-skip-tls-verify": "write --insecure",
    "--no-connection-reuse": "write --disable-keepalive",
    "--no-vu-connection-reuse": "write --disable-keepalive",
    "--max-redirects": "redirects are not followed; leave it out",
    "--discard-response-bodies": "bodies are read and not kept; leave it out",
    "--vus": "write -c N",
    "--verbose": "write --debug to see one request and its answer",
}


def check(arguments: Sequence[str]) -> None:
    """Return unless a word with one hyphen, such as -duration, would be read as a letter and its value.

    `arguments`: the words of the command line. Raises UsageError.
    """
    if arguments and arguments[0] in COMMANDS:
        for typed in arguments[1:]:
            word = typed.partition("=")[0]
            if word in INSTEAD and word[:2] != "--" and len(word) > 2:
                raise UsageError(f"No such option: {word}", INSTEAD[word])


def instead(command: str, option: str) -> str | None:
    """What to write instead of an option that `command` does not have; None: no other tool has it."""
    return INSTEAD.get(option) if command.split()[-1] in COMMANDS else None
