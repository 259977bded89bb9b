"""ab, of Apache, as data: its flags, and what it sends by default."""

from collections.abc import Mapping

from crumple.habits.tool import CommandToSettle, Default, Tool, header, lacking, needless, other, same

TABLE = "a page is `--html FILE`"


def _settled(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    if "-k" not in typed:
        asked.put("disable_keepalive")


AB = Tool(
    name="ab",
    command="ab",
    seen="2.3 (2.4.71) recorded",
    about=(
        "`ab -k -n 10000 -c 100 URL` is `crumple load URL -n 10000 -c 100`. Connections are kept "
        "alive; without `-k`, write\n"
        "`--disable-keepalive`. By default ab sends one request, and crumple loads for 10 seconds."
    ),
    grammar="getopt",
    default=Default(
        connections=1,
        requests=1,
        timeout_s=30,
        headers=(("Accept", "*/*"),),
        user_agent="ApacheBench/",
        version="HTTP/1.0",
        keeps_alive=False,
        verifies=False,
        body_method="POST",
        body_type="text/plain",
        failed="answers of another length than the first",
    ),
    flags=(
        same("-n", "if `-z` is given, too, what comes first ends the load"),
        same("-c"),
        needless("-k", "that is so by default; for the opposite write `--disable-keepalive`"),
        other(
            "-t",
            "-z",
            "here `-t` is the timeout; ab then sends 50,000 requests at most",
            gives=lambda typed: ("-z", typed, "-n", "50000"),
        ),
        other("-s", "-t", "ab ends when the first request takes longer"),
        other("-p", "-D", "the method is then POST"),
        other(
            "-u",
            "-D",
            "with `-m PUT`",
            instead="write -m PUT -D FILE",
            gives=lambda file: ("-D", file, "-m", "PUT"),
        ),
        same("-T"),
        same("-m"),
        same("-H"),
        other("-C", "-H", "write `-H 'Cookie: …'`", instead="write -H 'Cookie: …'", gives=header("Cookie")),
        other("-A", "-a", "here `-A` is the Accept header; a user and a password are refused there"),
        other(
            "-P",
            "-x",
            "write them into the proxy's URL: `http://USER:PASSWORD@HOST:PORT`",
            instead="write -x http://USER:PASSWORD@HOST:PORT",
            gives=None,
        ),
        other("-X", "-x", gives=lambda proxy: ("-x", f"http://{proxy}")),
        other(
            "-i",
            "-m",
            "write `-m HEAD`",
            instead="write -m HEAD",
            value=False,
            gives=lambda _: ("-m", "HEAD"),
        ),
        other("-B", "--source-address"),
        other("-E", "--cert"),
        lacking("-f -Z", "here `-Z` is a file of bodies; TLS 1.2 or 1.3 is agreed on with the server"),
        lacking("-I", "the name of the server is always sent", value=False),
        lacking("-b", "the kernel sizes the buffers"),
        needless("-l", "the length of answers may differ unless `--expect-body` says otherwise"),
        other("-g -e", "--csv", gives=None),
        other("-w", "--html", value=False, gives=None),
        lacking(
            "-x -y -z", f"here `-x` is a proxy and `-z` a duration; {TABLE}", instead="write --html FILE"
        ),
        other("-v", "--debug", gives=None),
        needless("-r", "here `-r` is the number of redirects, which can only be 0; errors end no load"),
        other("-q", "--quiet", "here `-q` is the rate", value=False),
        needless(
            "-d -S",
            "here `-d` is the body; the quantiles are always shown",
            instead="the quantiles are always shown; leave it out",
        ),
        lacking("-V", "that is `crumple --version`", instead="write crumple --version", value=False),
    ),
    differs=("speaks HTTP/1.0", "sends its first request alone"),
    settle=_settled,
)
