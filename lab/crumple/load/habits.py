"""Flags of other load generators: which flag of crumple does the same, or why none does.

The tools are hey, oha, wrk, wrk2, ab, vegeta, curl, k6, autocannon and h2load. Flags that crumple shares with
them (-n, -c, -z, -m, -H, -T) are not listed.
"""

from collections.abc import Sequence

from crumple.errors import Mistakes, UsageError
from crumple.load.load_flags import HabitFlags

COMMANDS = ("load", "find")
# What to write → the options that it replaces, without their values. Where two tools mean different things by
# an option, both are given.
_REPLACED = {
    # What is shown and written
    "write --json > FILE, or --csv FILE, --html FILE, --hdr FILE": (
        "-o --output -output --out --summary-export -j --db-url"
    ),
    "write --json for JSON; a table for a spreadsheet is --csv FILE": "--output-format",
    "write --debug to see one request and its answer": "-more -v --verbose --http-debug",
    "write --quiet": "--silent -S --no-progress",
    "write --html FILE for a page; what is in flight at the end is counted as unfinished": "-w",
    "what is in flight at the end is counted as unfinished; leave it out": (
        "--wait-ongoing-requests-after-deadline"
    ),
    "the view is drawn as often as there is something new; leave it out": "--fps",
    "each time has the unit that suits it; leave it out": "--time-unit",
    "answers that were not as expected have rows of their own; leave it out": "--stats-success-breakdown",
    "the quantiles are always shown; leave it out": "--latency --u_latency --summary-trend-stats",
    "the quantiles are always shown, and redirects not followed; leave it out": "-L",
    "write --csv FILE": "-e -g --log-file",
    "answers are always shown by status; leave it out": "--renderStatusCodes",
    "failed requests are never among the response times; leave it out": "--excludeErrorStats",
    "write --name NAME": "--title",
    "write crumple --version": "-V --version -version",
    # The load
    "write --rate PER_S, of all connections together": (
        "--rps --qps --query-per-second --overallRate --connectionRate"
    ),
    "write --rate PER_S": "-R -rate",
    "write --rate PER_S, or --steps RATES": "--burst-rate --burst-delay",
    "write --steps RATES, or --ramp FROM-TO": "--stage",
    "write -z DURATION": "-duration",
    "write -c N": "-workers -max-workers -connections -max-connections --vus --clients",
    "write -n N": "--iterations --amount --maxOverallRequests --maxConnectionRequests",
    "write --warm-up DURATION": "--warmup --warm-up-time",
    "a load has an end; write -z DURATION": "--forever",
    "a response time always begins when the request was due; leave it out": "--ignoreCoordinatedOmission",
    "failures end no load early; leave it out": "--bailout",
    "connections are set by -c; HTTP/2, where -p is a number, is not spoken; for a body write -D FILE": "-p",
    "write -t DURATION": "-timeout --max-time --connection-active-timeout",
    "write --threads N for the engine's threads, --cores LIST to bind them": "-cpus --cpus --workers",
    "for a script write --request-file FILE; for a timeout write -t, for silence --quiet": "-s",
    "for users write -c N, for a time unit nothing, for a body -m PUT -D FILE, for a password -a": "-u",
    (
        "write -m HEAD for HEAD, -n N for a number of requests, --debug to see the answer's head; "
        "for URLs of a file, crumple import makes what --request-file FILE takes"
    ): "-i",
    # The request
    "for a method write -m METHOD; for a proxy write -x URL": "-X",
    "write -m METHOD": "--request",
    "write -m HEAD": "-I --head",
    "write -d TEXT": "--data --data-raw --data-ascii",
    "write -D FILE": "-body --data-binary --input",
    "write {seq} into the body": "--idReplacement",
    "write --expect-body TEXT": "--expectBody",
    "write --form NAME='\"VALUE\"'": "--form-string",
    "write -H 'NAME: VALUE'": "-header --headers",
    "write -H 'Cookie: …'": "-C --cookie",
    "for a cookie write -H 'Cookie: …', for a body -d TEXT": "-b",
    "write -H 'Referer: …'": "--referer",
    "write -H 'Accept-Encoding: gzip'": "--compressed",
    "write -a USER:PASSWORD": "--user",
    "write -H 'Authorization: Bearer …'": "--oauth2-bearer",
    "requests are not signed; write the signature's headers with -H": (
        "--aws-sigv4 --aws-session -aws-sigv4 -aws-session"
    ),
    "write --request-file FILE": "--script --timing-script-file",
    "write --request-file FILE; crumple import makes that file": (
        "--urls-from-file -targets -format -lazy --input-file --har"
    ),
    "write {random:1-1000} into the URL": "--rand-regex-url --max-repeat --dump-urls",
    "write crumple load --curl 'curl …' to take a command of curl as it is": "--url",
    "bodies are sent whole; leave it out": "-chunked",
    "the length of answers may differ unless --expect-body says otherwise; leave it out": "-l",
    "bodies are read whole and not kept; leave it out": "-max-body --discard-response-bodies",
    # The connection
    "crumple speaks HTTP/1.1 only": (
        "-h2 --http2 -http2 -h2c --http3 --proxy-http2 --proxy-http-version "
        "--h1 --alpn-list --npn-list --no-tls-proto --max-concurrent-streams"
    ),
    "requests of a connection follow each other; leave it out": "--pipelining",
    "redirects are not followed; load where it leads": "--location --location-trusted",
    "redirects are not followed; leave it out": "--max-redirects -redirects",
    (
        "connections are kept alive unless --disable-keepalive says otherwise; "
        "for a certificate that is not to be verified write --insecure"
    ): "-k",
    "write --disable-keepalive": (
        "--no-connection-reuse --no-vu-connection-reuse --no-keepalive --reconnectRate"
    ),
    "write --disable-keepalive for -keepalive=false; otherwise leave it out": "-keepalive",
    "write --insecure": "-insecure --insecure-skip-tls-verify",
    "write --cacert FILE": "-root-certs",
    "write --cert FILE": "-E -cert",
    "write --key FILE": "-key",
    "TLS 1.2 or 1.3 is agreed on with the server; leave it out": "-f --ciphers --tls-max --tlsv1.3",
    "sessions are resumed where the server gives tickets; leave it out": "-session-tickets",
    "write --unix-socket PATH": "-unix-socket --socketPath",
    "a VSOCK socket cannot be loaded; let the server listen on TCP, or on a Unix socket": "--vsock-addr",
    "write --proxy-header 'NAME: VALUE'": "-proxy-header",
    "write -x http://USER:PASSWORD@HOST:PORT": "-P --proxy-user --proxy-basic",
    "write --ipv4": "-4",
    "write --ipv6": "-6",
    "write --connect-to HOST:PORT:HOST2:PORT2": "-connect-to --resolve --servername",
    "write --source-address ADDRESS": "-laddr --interface --local-ips",
    "for an address write --source-address ADDRESS, for a base URI its URL, or --unix-socket PATH": (
        "-B --base-uri"
    ),
    "names are looked up once, before the load; leave it out": "--no-pre-lookup -dns-ttl --dns",
    "write --name NAME for the stored result, or leave it out": "-name",
    "a running server is loaded; crumple diagnose and crumple versus start a command": "--on-port",
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
    redirects = (flags.redirect or "0").strip()
    if not redirects.isdecimal():
        mistakes.add(
            f"-r {redirects}: that is no number of redirects",
            "write -r 0, or leave it out; errors stop no load, as with ab's -r",
        )
    elif int(redirects):
        mistakes.add(
            f"-r {redirects}: redirects are not followed", "load the URL where it leads; --debug shows that"
        )
    if flags.http_version is not None and flags.http_version.strip() != "1.1":
        mistakes.add(f"--http-version {flags.http_version}: only HTTP/1.1 is spoken", "leave it out")
    mistakes.none()


def instead(command: str, option: str) -> str | None:
    """What to write instead of an option that `command` does not have; None: no other tool has it."""
    return INSTEAD.get(option) if command.split()[-1] in COMMANDS else None
