"""Flags of curl that people type out of habit, for errors only: `--curl` takes a whole command of curl."""

from crumple.habits.tool import Flag, lacking, needless, other

FLAGS: tuple[Flag, ...] = (
    other("-X --request", "-m", "", instead="write -m METHOD"),
    other("-I --head", "-m", instead="write -m HEAD"),
    other("--data --data-raw --data-ascii", "-d"),
    other("--data-binary", "-D"),
    other("--form-string", "--form", instead="write --form NAME='\"VALUE\"'"),
    other("-b --cookie", "-H", instead="write -H 'Cookie: …'"),
    other("-e --referer", "-H", instead="write -H 'Referer: …'"),
    other("--compressed", "-H", instead="write -H 'Accept-Encoding: gzip'"),
    other("-u --user", "-a", instead="write -a USER:PASSWORD"),
    other("--oauth2-bearer", "-H", instead="write -H 'Authorization: Bearer …'"),
    other("--url", "--curl", instead="write crumple load --curl 'curl …' to take a command of curl as it is"),
    lacking(
        "-L --location --location-trusted",
        "redirects are not followed",
        instead="redirects are not followed; load where it leads",
    ),
    other("-k", "--insecure", value=False),
    other("--no-keepalive", "--disable-keepalive", value=False),
    other("-E", "--cert"),
    lacking("--tls-max --tlsv1.3", "TLS 1.2 or 1.3 is agreed on with the server"),
    other("--proxy-user --proxy-basic", "-x", instead="write -x http://USER:PASSWORD@HOST:PORT"),
    other("-4", "--ipv4", value=False),
    other("-6", "--ipv6", value=False),
    other("--resolve", "--connect-to"),
    other("--interface", "--source-address"),
    other("--max-time", "-t"),
    other("-v --verbose", "--debug", instead="write --debug to see one request and its answer"),
    needless("-s -S --silent", "`--quiet` shows no progress", instead="write --quiet"),
    other("-o --output", "--csv", instead="write --json > FILE, or --csv FILE, --html FILE, --hdr FILE"),
    other("-i", "--debug", instead="write --debug to see the answer's head"),
)
