"""bombardier as data: its flags, and what it sends by default, with its client of fasthttp."""

from crumple.habits.tool import Default, Tool, even_rate, lacking, needless, other, same

CLIENT = "another client of bombardier, which sends other headers"

BOMBARDIER = Tool(
    name="bombardier",
    command="bombardier",
    seen="1.2.6 recorded",
    about="`bombardier -c 125 -d 10s URL` is `crumple load URL -c 125 -z 10s`.",
    grammar="getopt",
    default=Default(
        connections=125,
        duration_s=10,
        timeout_s=2,
        user_agent="fasthttp",
        waits_at_end=True,
        body_type="application/octet-stream",
    ),
    flags=(
        same("-c --connections"),
        same(
            "-t --timeout",
            "by default 20s, and a request is sent once; bombardier has 2s and sends a GET five times",
        ),
        needless("-l --latencies", "the quantiles are always shown"),
        same("-m --method"),
        other("-b --body", "-d", "the method is then POST; bombardier sends GET unless `-m` says otherwise"),
        other("-f --body-file", "-D", "as for `-b`"),
        lacking("-s --stream", "bodies are sent whole", value=False),
        same("--cert"),
        same("--key"),
        other("-k --insecure", "--insecure", value=False),
        needless(
            "-a --disableKeepAlives",
            "here `-a` is a user and a password; in bombardier it does nothing without `--http1` or "
            "`--http2`",
            instead="write --disable-keepalive",
        ),
        same("-H --header"),
        same("-n --requests"),
        other("-d --duration", "-z", "here `-d` is the body"),
        other("-r --rate", "--rate", "here `-r` is the number of redirects", gives=even_rate),
        needless("--fasthttp", "that is its default"),
        lacking("--http1", CLIENT, instead="leave it out", value=False),
        lacking("--http2", "crumple speaks HTTP/1.1 only", value=False),
        needless("-p --print", "`--quiet` shows no progress", instead="write --quiet", value=True),
        other("-q --no-print", "--quiet", "here `-q` is the rate", value=False),
        other("-o --format", "--json", "of `-o json`", gives=None),
    ),
    differs=("sends a GET that timed out four times more",),
    number_or_time="number",
)
