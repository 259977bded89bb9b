"""k6 as data: the flags of `k6 run`, and what a script that sends one request sends by default."""

from crumple.habits.tool import Default, Tool, even_rate, lacking, needless, other, same

K6 = Tool(
    name="k6",
    command="k6 run",
    seen="1.8.1 recorded, 2.2.0 read",
    about=(
        "`k6 run --vus 100 --duration 30s script.js` is `crumple load URL -c 100 -z 30s` where the "
        "script sends one request without a pause.\n"
        "A `sleep(2)` in the script is `--pause 2s`. No script is run; several requests are a "
        "`--request-file`. Thresholds are `--fail-if`."
    ),
    grammar="getopt",
    default=Default(
        connections=1,
        requests=1,
        timeout_s=60,
        user_agent="Grafana k6/",
        http2_over_tls=True,
        redirects=10,
        waits_at_end=True,
        failed="statuses other than 200 to 399",
    ),
    flags=(
        other("-u --vus", "-c"),
        same("--duration"),
        other("-d", "-z", "here `-d` is the body"),
        other("-i --iterations", "-n", "here of requests, not of the script"),
        other(
            "-s --stage",
            "--steps",
            "or `--ramp`",
            instead="write --steps RATES, or --ramp FROM-TO",
            gives=None,
        ),
        other("--rps", "--rate", "k6 waits for answers, so a slow server is asked less", gives=even_rate),
        same("--user-agent"),
        other("--insecure-skip-tls-verify", "--insecure", value=False),
        other("--http-debug", "--debug", value=False, gives=None),
        other("--no-connection-reuse --no-vu-connection-reuse", "--disable-keepalive", value=False),
        lacking("--max-redirects", "redirects are not followed"),
        other("--local-ips", "--source-address"),
        needless("--discard-response-bodies", "bodies are read whole and not kept"),
        needless("--summary-trend-stats --summary-mode", "the quantiles are always shown", value=True),
        needless("--summary-time-unit", "each time has the unit that suits it", value=True),
        other("--summary-export", "--json", instead="write --json > FILE", gives=None),
        other("-o --out", "--csv", instead="write --json > FILE, or --csv FILE", gives=None),
        same("--tag", "tags the stored result"),
        other("-q --quiet", "--quiet", "here `-q` is the rate", value=False),
        same("--no-color", value=False),
        lacking(
            "-e --env",
            "here `--env` fills in a command of curl; no script is run",
            instead="no script is run; write the values into the URL, -H or --request-file FILE",
        ),
        needless(
            "--no-usage-report --no-thresholds --no-setup --no-teardown",
            "of the script, and of k6 itself",
        ),
        needless(
            "-w --throw -l --linger -v --verbose --profiling-enabled", "of the script, and of k6 itself"
        ),
        needless(
            "--new-machine-readable-summary --include-system-env-vars", "of the script, and of k6 itself"
        ),
        needless(
            "--console-output --compatibility-mode --type", "of the script, and of k6 itself", value=True
        ),
        needless("--batch --batch-per-host", "of the script, and of k6 itself", value=True),
        needless("--system-tags --traces-output", "of the script, and of k6 itself", value=True),
        needless(
            "--features --log-format --log-output --address --secret-source", "of k6 itself", value=True
        ),
        lacking("-a", "here `-a` is a user and a password; the address of an API", instead="leave it out"),
        lacking(
            "-c --config",
            "here `-c` is the number of connections; `--save` keeps a command",
            instead="write --save FILE",
        ),
        lacking("-t", "here `-t` is the timeout; no script is run", instead="leave it out"),
        lacking("--execution-segment --execution-segment-sequence", "one machine loads"),
        lacking("-p --paused", "a load begins at once", value=False),
        lacking("--min-iteration-duration", "write `--pause DURATION`", instead="write --pause DURATION"),
        lacking("--blacklist-ip --block-hostnames", "one load goes to one host"),
        lacking("--dns", "names are looked up once, before the load"),
    ),
)
