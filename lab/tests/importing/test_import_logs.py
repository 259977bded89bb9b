"""Access logs of many programs: a line becomes the request it is about, with its host where the log has it."""

# ruff: noqa: E501 - lines of logs stay whole

import json
import time
from pathlib import Path

import pytest
from crumple.importing import conversion, log_formats
from crumple.importing.conversion import Converted

NGINX = '10.0.0.1 - - [21/Nov/2026:06:30:00 +0000] "GET /a?b=1 HTTP/1.1" 404 512'
COMBINED = f'{NGINX} "-" "curl/8.0"'
ISTIO = (
    '[2026-11-21T06:30:00.123Z] "GET /a?b=1 HTTP/1.1" 404 - via_upstream - "-" 0 135 4 3 "-" "curl/8.0" '
    '"84961386-6d84-929d-98bd-c5aee93b5c88" "shop.example.org" "10.0.0.2:80" outbound|80||shop 10.0.0.3:1 - -'
)
ALB = (
    "2026-11-21T06:30:00.123456Z app/my-lb/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 404 404 34 "
    '366 "GET http://shop.example.org:80/a?b=1 HTTP/1.1" "curl/8.0" - - arn:aws:x "Root=1-5" "-" "-" 0'
)
HAPROXY = (
    "10.0.1.2:33317 [21/Nov/2026:06:30:00.655] http-in static/srv1 10/0/30/69/109 404 2750 - - ---- 1/1/1/1/0 0/0 "
    '{1wt.eu} {} "GET /a?b=1 HTTP/1.1"'
)
S3 = (
    "79a5 amzn-bucket [21/Nov/2026:06:30:00 +0000] 192.0.2.3 79a5 3E57 REST.GET.OBJECT a "
    '"GET /a?b=1 HTTP/1.1" 404 - 113 - 7 - "-" "S3Console/0.4" -'
)
IIS = (
    "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Fields: date time s-ip cs-method "
    "cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status\n"
    "2026-11-21 06:30:00 10.0.0.1 GET /a b=1 80 - 10.0.0.2 curl/8.0 404"
)
CLOUDFRONT = "\n".join(
    [
        "#Version: 1.0",
        "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
        "cs-uri-query x-host-header cs-protocol",
        "2026-11-21\t06:30:00\tLAX1\t2390\t192.0.2.2\tGET\td111.cloudfront.net\t/a\t404\t-\tb=1\tshop.example.org\thttps",
    ]
)
SHOP = {"http": "http://shop.example.org", "https": "https://shop.example.org"}
LINES = {
    "common": (NGINX, ""),
    "combined": (COMBINED, ""),
    "vhost": (f"shop.example.org:80 {COMBINED}", SHOP["http"]),
    "vhost tls": (f"shop.example.org:443 {COMBINED}", SHOP["https"]),
    "vhost without a port": (f"shop.example.org {COMBINED}", SHOP["http"]),
    "ingress-nginx": (f'{COMBINED} 78 0.005 [default-pear-80] [] 10.1.0.29:80 12 0.005 404 b8fc', ""),
    "old ingress-nginx": (COMBINED.replace("10.0.0.1 -", "10.0.0.1 - [10.0.0.1, 192.0.2.7] -") + " 78 0.005", ""),
    "xff first": (f"203.0.113.9, 10.0.0.7 - - {COMBINED[COMBINED.index('['):]}", ""),
    "xff in quotes": (f'"203.0.113.9, 10.0.0.7" {COMBINED}', ""),
    "xff absent": (f"- {COMBINED}", ""),
    "compose": (f"web-1  | {COMBINED}", ""),
    "old compose in colors": (f"\x1b[36mweb_1    |\x1b[0m {COMBINED}", ""),
    "compose vhost": (f"web-1  | shop.example.org:80 {COMBINED}", SHOP["http"]),
    "kubectl": (f"[pod/web-5d8c7/nginx] {COMBINED}", ""),
    "journald": (f"Nov 21 06:30:00 host nginx[123]: {COMBINED}", ""),
    "syslog": (f"<190>Nov 21 06:30:00 host nginx: {COMBINED}", ""),
    "syslog 5424": (f"<134>1 2026-11-21T06:30:00Z host nginx 12 - - {COMBINED}", ""),
    "containerd": (f"2026-11-21T06:30:00.123456789Z stdout F {COMBINED}", ""),
    "awslogs": (f"2026-11-21T06:30:00.123000+00:00 web/web/123 {COMBINED}", ""),
    "docker": (f"2026-11-21T06:30:00.123456789Z {COMBINED}", ""),
    "docker json": (json.dumps({"log": f"{COMBINED}\n", "stream": "stdout", "time": "2026"}), ""),
    "ssl_request_log": ('[21/Nov/2026:06:30:00 +0000] 10.0.0.1 TLSv1.3 TLS_AES_256 "GET /a?b=1 HTTP/1.1" 146', ""),
    "gunicorn": (f"{COMBINED}", ""),
    "uvicorn": ('INFO:     10.0.0.1:54321 - "GET /a?b=1 HTTP/1.1" 404 Not Found', ""),
    "werkzeug": ('10.0.0.1 - - [21/Nov/2026 06:30:00] "\x1b[33mGET /a?b=1 HTTP/1.1\x1b[0m" 404 -', ""),
    "django": ('[21/Nov/2026 06:30:00] "GET /a?b=1 HTTP/1.1" 404 12', ""),
    "gin": ('[GIN] 2026/11/21 - 06:30:00 | 404 |      13.2µs |       10.0.0.1 | GET      "/a?b=1"', ""),
    "rails": ('I, [2026-11-21T06:30:00 #1]  INFO -- : Started GET "/a?b=1" for 10.0.0.1 at 2026-11-21', ""),
    "morgan dev": ("GET /a?b=1 404 5.123 ms - 12", ""),
    "morgan tiny": ("GET /a?b=1 404 12 - 5.123 ms", ""),
    "php -S": ("[Sat Nov 21 06:30:00 2026] 10.0.0.1:5000 [404]: GET /a?b=1", ""),
    "alb": (f"http {ALB}", SHOP["http"]),
    "alb h2": (f"h2 {ALB.replace('http://', 'https://').replace(':80/a', ':443/a')}", SHOP["https"]),
    "elb": (ALB[: ALB.index(" arn")], SHOP["http"]),
    "haproxy": (f"Nov 21 06:30:00 localhost haproxy[14389]: {HAPROXY}", ""),
    "haproxy without captures": (HAPROXY.replace("{1wt.eu} {} ", ""), ""),
    "haproxy h2": (HAPROXY.replace("GET /", "GET https://shop.example.org/"), SHOP["https"]),
    "envoy": (
        '[2026-11-21T06:30:00.310Z] "GET /a?b=1 HTTP/2" 404 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0" '
        '"shop.example.org" "tcp://10.0.2.1:80"',
        SHOP["http"],
    ),
    "istio": (ISTIO, SHOP["http"]),
    "s3": (S3, ""),
    "squid": ("1286536309.586    921 192.0.2.68 TCP_MISS/404 507 GET http://shop.example.org/a?b=1 - DIRECT/1 -",
              SHOP["http"]),
    "iis": (IIS, ""),
    "cloudfront": (CLOUDFRONT, SHOP["https"]),
    "caddy": (
        json.dumps({"logger": "http.log.access", "request": {"method": "GET", "host": "shop.example.org",
                    "uri": "/a?b=1", "tls": {"version": 772}}, "status": 404}),
        SHOP["https"],
    ),
    "caddy console": (
        '2026/11/21 06:30:00.000\tINFO\thttp.log.access\thandled request\t{"request": {"method": "GET", "host": '
        '"shop.example.org", "uri": "/a?b=1"}, "status": 404}',
        SHOP["http"],
    ),
    "nginx json": (
        json.dumps({"remote_addr": "10.0.0.1", "request_method": "GET", "request_uri": "/a?b=1", "uri": "/index.php",
                    "args": "b=1", "status": "404", "http_host": "shop.example.org"}),
        SHOP["http"],
    ),
    "nginx json with uri and args": (json.dumps({"request_method": "GET", "uri": "/a", "args": "b=1", "status": 404}), ""),
    "nginx json with a line": (json.dumps({"request": "GET /a?b=1 HTTP/1.1", "response": 404, "bytes": 0}), ""),
    "traefik json": (
        json.dumps({"RequestMethod": "GET", "RequestPath": "/a?b=1", "RequestHost": "shop.example.org",
                    "RequestScheme": "https", "DownstreamStatus": 404, "RequestPort": "-"}),
        SHOP["https"],
    ),
    "envoy json": (
        json.dumps({"method": "GET", "path": "/a?b=1", "authority": "shop.example.org", "response_code": 404,
                    "protocol": "HTTP/1.1"}),
        SHOP["http"],
    ),
    "google": (
        json.dumps({"httpRequest": {"requestMethod": "GET", "requestUrl": "https://shop.example.org/a?b=1", "status": 404}}),
        SHOP["https"],
    ),
    "cloudflare": (
        json.dumps({"ClientRequestMethod": "GET", "ClientRequestURI": "/a?b=1", "ClientRequestHost": "shop.example.org",
                    "ClientRequestScheme": "https", "EdgeResponseStatus": 404}),
        SHOP["https"],
    ),
    "ecs": (
        json.dumps({"http": {"request": {"method": "GET"}, "response": {"status_code": 404}}, "url": {"path": "/a",
                    "query": "b=1", "domain": "shop.example.org", "scheme": "https"}, "host": {"name": "machine"}}),
        SHOP["https"],
    ),
    "pino": (
        json.dumps({"req": {"method": "GET", "url": "/a?b=1", "headers": {"host": "shop.example.org"}},
                    "res": {"statusCode": 404}}),
        SHOP["http"],
    ),
    "json behind a prefix": (
        'caddy-1  | {"request": {"method": "GET", "host": "shop.example.org", "uri": "/a?b=1"}, "status": 404}',
        SHOP["http"],
    ),
    "heroku": (
        '2026-11-21T06:30:00.123456+00:00 heroku[router]: at=info method=GET path="/a?b=1" host=shop.example.org '
        'request_id=8601b555 fwd="192.0.2.1" dyno=web.1 status=404 bytes=1548 protocol=https',
        SHOP["https"],
    ),
}  # fmt: skip


def of(text: str, folder: Path, named: str | None = None) -> Converted:
    file = folder / "a.log"
    file.write_text(text)
    return conversion.convert(file, named, None, 100)


@pytest.mark.parametrize(("line", "origin"), LINES.values(), ids=LINES)
def test_a_line_of_each_program_is_known_and_read(line: str, origin: str, tmp_path: Path) -> None:
    found = of(f"{line}\n", tmp_path)
    assert [(each.request.method, each.request.path) for each in found.chosen.kinds] == [("GET", "/a?b=1")]
    assert found.chosen.origin == origin
    assert found.said[0] == "a.log (access-log): 1 of 1 request"
    # Rails logs the status on another line, and ssl_request_log none.
    has_status = not any(word in line for word in ("Started", "TLSv1.3"))
    assert found.chosen.kinds[0].expect_status == (404 if has_status else None)


def test_each_format_of_the_table_has_a_line_here() -> None:
    fit = {
        next((each.name for each in log_formats.FORMATS if each.pattern.search(line)), "")
        for line, _ in LINES.values()
    }
    assert {each.name for each in log_formats.FORMATS} <= fit


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (COMBINED.replace("404", "101"), "whose answer changed the protocol (101)"),
        (COMBINED.replace("404", "000"), "that no server answered"),
        (COMBINED.replace("GET", "POST"), "whose body a log does not hold"),
        (COMBINED.replace("GET /a?b=1 HTTP/1.1", "PRI * HTTP/2.0"), "other than HTTP"),
        (COMBINED.replace("GET /a?b=1 HTTP/1.1", "-"), "other than HTTP"),
        (COMBINED.replace("GET /a?b=1", "CONNECT a.example.org:443"), "to open a tunnel (CONNECT)"),
        ('{"method": "CONNECT", "url": "a.example.org:443"}', "to open a tunnel (CONNECT)"),
        (COMBINED.replace("/a?b=1", "/sp ace"), "with a space in its URL, which HTTP does not allow"),
        (HAPROXY.replace(" 404 ", " -1 "), "that no server answered"),
        (HAPROXY.replace("GET /a?b=1 HTTP/1.1", "<BADREQ>"), "other than HTTP"),
        (ISTIO.replace(" 404 ", " 0 "), "that no server answered"),
        (ALB.replace("http://", "ws://"), "to open a WebSocket"),
        (CLOUDFRONT.replace("\thttps", "\twss").replace("404", "200"), "to open a WebSocket"),
        (CLOUDFRONT.replace("404", "000"), "that no server answered"),
        ('{"level": "info", "msg": "using config from file"}', "in lines without an entry of a log"),
        ("Attaching to web-1", "in lines without an entry of a log"),
    ],
)
def test_what_a_log_cannot_say_is_left_out_by_kind(changed: str, why: str, tmp_path: Path) -> None:
    found = of(f"{NGINX.replace('/a?b=1', '/')}\n{changed}\n", tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/"]
    assert found.said[1].startswith(f"left out: 1 request {why}")


@pytest.mark.parametrize("text", [f"{COMBINED.replace('/a?b=1', '/a?b=1#c')}\n", "/a?b=1#c\n"])
def test_a_fragment_of_a_path_is_not_sent_and_said(text: str, tmp_path: Path) -> None:
    found = of(text, tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/a?b=1"]
    assert found.said[1].startswith(
        "changed: 1 request without the fragment of its URL (#…), which no client"
    )


SERVICES = {
    "compose": ("proxy-1  | ", "app-1    | ", "app-2    | "),
    "kubectl": ("[pod/web-7d4f/proxy] ", "[pod/web-7d4f/app] ", "[pod/web-9a1b/app] "),
    "docker service": ("proxy.1.x1y2@node1    | ", "app.1.a1b2@node1    | ", "app.2.c1d2@node2    | "),
    "syslog": (
        "Nov 21 06:30:00 host proxy[7]: ",
        "Nov 21 06:30:00 host app[8]: ",
        "Nov 21 06:30:00 host app[9]: ",
    ),
}


@pytest.mark.parametrize("prefixes", SERVICES.values(), ids=SERVICES)
def test_a_log_of_several_services_says_that_it_may_count_twice(
    prefixes: tuple[str, ...], tmp_path: Path
) -> None:
    found = of("".join(f"{each}{COMBINED}\n" for each in prefixes), tmp_path)
    assert found.chosen.used == 3
    assert found.said[1] == (
        "the lines are of 2 services, app (2), proxy (1); a request that one of them passes on to another is "
        "counted in both: import the log of one alone"
    )
    for one in (prefixes[1:], ("192.0.2.1 | ", "192.0.2.2 | "), ("", "")):
        assert "services" not in "".join(of("".join(f"{each}{COMBINED}\n" for each in one), tmp_path).said)


def test_lines_that_are_no_entries_may_come_first(tmp_path: Path) -> None:
    starts = (
        "Attaching to web-1\nweb-1  | /docker-entrypoint.sh: Configuration complete; ready for start up\n"
    )
    found = of(f"{starts}web-1  | {COMBINED}\n", tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/a?b=1"]
    assert found.said[1] == "left out: 2 requests in lines without an entry of a log, first line 1"


def test_cloudfront_encodes_what_it_writes_once_more(tmp_path: Path) -> None:
    found = of(CLOUDFRONT.replace("\t/a\t", "\t/a%2520b/%257e/%7Ec\t"), tmp_path)
    assert found.chosen.kinds[0].request.path == "/a%20b/%7e/~c?b=1"


def test_an_entry_without_a_scheme_has_that_of_its_host(tmp_path: Path) -> None:
    lines = [
        {"request": {"method": "GET", "host": "a", "uri": "/1", "tls": {}}, "status": 200},
        {"request": {"method": "GET", "host": "a", "uri": "/2?"}, "status": 200},
        {"request": {"method": "GET", "host": "b", "uri": "/3"}, "status": 200},
    ]
    found = of("\n".join(map(json.dumps, lines)), tmp_path)
    assert found.chosen.origin == "https://a"
    assert [each.request.path for each in found.chosen.kinds] == ["/1", "/2?"]


def test_an_array_of_records_is_a_log(tmp_path: Path) -> None:
    records = [{"method": "GET", "path": f"/{number}", "status": 200} for number in range(3)]
    found = of(json.dumps(records, indent=1), tmp_path)
    assert [each.request.path for each in found.chosen.kinds] == ["/0", "/1", "/2"]


HOSTILE = [
    "[a] " * 50_000, '[a] "' * 40_000, '[a] "' + "\\" * 200_000, '[a] "GET / HTTP/1.1" ' * 9_000,
    "2026-11-21T06:30:00.123456Z " * 7_000, "[21/Nov/2026:06:30:00.655] a b/c 1/1 " * 5_000, "{" * 200_000,
    '"GET ' + "a" * 200_000, "GET /" + "a" * 200_000, 'method="' * 20_000, "a=" * 100_000, "a.b-" * 50_000,
    "[GIN] a - b |" * 15_000, "[2026-1] \"a\" 200 - " * 9_000, "<1>1 a b c d e [" + "x" * 200_000, '{"a":' * 40_000 + "}",
    "x" * 200_000 + " | ", "1286536309.586 " * 13_000, "\x1b[" * 100_000, "[a] b c d E f " * 14_000,
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("line", HOSTILE)
def test_the_time_for_a_line_grows_with_its_length_alone(line: str, tmp_path: Path) -> None:
    def took_s(text: str) -> float:
        began_s = time.process_time()
        of(f"{NGINX}\n{text}\n", tmp_path, "access-log")
        return time.process_time() - began_s

    # With the square of the length it would be a hundredfold, and minutes: here, tenfold and far below a second.
    short, long = min(took_s(line[: len(line) // 10]) for _ in range(3)), min(took_s(line) for _ in range(3))
    assert long < 40 * max(short, 0.001)
