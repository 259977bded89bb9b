"""How programs write a line for each request that they answered: data, and the little code that reads it.

A pattern begins with something that no prefix has, as it is searched for behind whatever stands before it. It
has the groups `request` ("GET /a HTTP/1.1") or `method` and `url`, and, where the format has them, `status`,
`host` and `scheme`. Its parts are possessive (`*+`), so that a line takes time in proportion to its length,
whatever it holds.

Fields with names, as of JSON, W3C's format or logfmt, have the names that servers use by default, or that are
widely used in their configuration. Of several, the first that is there counts. A name with points is that of
a field within a table, or stands for itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crumple.importing.json_values import text


@dataclass(frozen=True)
class LogFormat:
    """How a program writes a line for each request."""

    name: str
    pattern: re.Pattern[str]
    holds: str = ""
    """A text in each of its lines. To look for it takes less time than to try the pattern."""
    has_host_before: bool = False
    """Whether the text before the pattern may begin with the host that was asked."""


_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_REQUEST = r'"(?P<request>(?:[^"\\]|\\.)*+)"'
_TIME = r"\[[^\[\]]{1,64}+\]"
_STATUS = r"(?P<status>\d{1,3}|-|-1)"

FORMATS = (
    LogFormat(
        "AWS ALB, classic ELB",
        re.compile(
            r"\d{4}-\d\d-\d\dT[\d:.]{8,20}+Z \S++ \S++ \S++ -?[\d.]++ -?[\d.]++ -?[\d.]++ "
            rf"{_STATUS} \S++ \d++ \d++ {_REQUEST}"
        ),
        "Z ",
    ),
    LogFormat(
        "HAProxy (option httplog)",
        re.compile(
            r"\[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:.]{8,16}+\] \S++ \S++ [-+\d/]++ "
            rf"{_STATUS} \+?\d++ \S++ \S++ \S{{2,8}}+ [\d/+]++ [\d/]++ (?:\{{[^{{}}]*+\}} ){{0,2}}{_REQUEST}"
        ),
    ),
    LogFormat(
        "Envoy, Istio",
        re.compile(
            rf"\[\d{{4}}-[^\[\]]{{1,40}}+\] {_REQUEST} {_STATUS} \S++ "
            rf"(?:(?:\S++ \S++ )?{_QUOTED} (?:{_QUOTED} )?)?\d++ \d++ \d++ \S++ "
            rf'{_QUOTED} {_QUOTED} {_QUOTED} "(?P<host>[^"\\]*+)" '
        ),
    ),
    LogFormat(
        "AWS S3",
        re.compile(rf"{_TIME} \S++ \S++ \S++ [A-Z][A-Z0-9_.]++ \S++ {_REQUEST} {_STATUS}(?= )"),
    ),
    LogFormat(
        "Apache's ssl_request_log",
        re.compile(rf"{_TIME} \S++ (?:TLS|SSL)v?[\d.]++ \S++ {_REQUEST} (?:\d++|-)(?= |$)"),
    ),
    LogFormat(
        "common or combined, of nginx, Apache, ingress-nginx, Traefik, gunicorn, Tomcat, …",
        re.compile(rf"{_TIME} {_REQUEST} {_STATUS} (?:\d++|-)(?= |$)"),
        has_host_before=True,
    ),
    LogFormat(
        "gin",
        re.compile(
            r"\[GIN\] \S++ - \S++ \|\s*+(?P<status>\d{3}) \|[^|]{1,40}+\|[^|]{1,80}+\|\s*+"
            r'(?P<method>[A-Z]++)\s++"(?P<url>[^"]*+)"'
        ),
    ),
    LogFormat(
        "php -S", re.compile(rf"{_TIME} \S++ \[(?P<status>\d{{3}})\]: (?P<method>[A-Z]++) (?P<url>\S++)")
    ),
    LogFormat(
        "Rails", re.compile(r'(?<!\S)Started (?P<method>[A-Z]{3,16}+) "(?P<url>[^"]*+)" for '), "Started "
    ),
    LogFormat(
        "morgan",
        re.compile(
            r"(?<!\S)(?P<method>[A-Z]{3,16}+) (?P<url>/\S*+) (?P<status>\d{3}) "
            r"(?:[\d.]++ ms|\S++ - [\d.]++ ms)"
        ),
        " ms",
    ),
    LogFormat(
        "Squid",
        re.compile(
            r"(?<!\S)\d{9,10}\.\d{3} ++-?\d++ \S++ [A-Z_]++/(?P<status>\d{3}) \d++ "
            r"(?P<method>[A-Z]++) (?P<url>\S++) "
        ),
        "/",
    ),
    # Last, as it fits much: of uvicorn, and of what a configuration puts together.
    LogFormat(
        'others in which "METHOD PATH HTTP/1.1" is followed by the status',
        re.compile(r'"(?P<request>[A-Z]{3,16}+ [^\s"]++ HTTP/[\d.]{1,3}+)" (?P<status>[1-5]\d\d)(?= |$)'),
    ),
)

# What programs that collect logs put before a line; several may stand one behind the other. A group is the
# name of the program that wrote the line.
_PREFIXES = (
    # docker compose
    r"([\w.-]{1,128}+) *+\| ?",
    # kubectl logs --prefix
    r"\[pod/[^\]/\s]{1,256}+/([^\]/\s]{1,256}+)\] ",
    # docker service logs
    r"([\w.-]{1,253}+)@[\w.-]{1,253}+ *+\| ",
    # journald, syslog and rsyslog
    (
        r"(?:<\d{1,3}>)?"
        r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]{8,18}+(?:Z|[-+][\d:]{4,6}+)) "
        r"[\w.:-]{1,253}+ ([\w./@-]{1,128}+)(?:\[\d{1,10}\])?: "
    ),
    # syslog of RFC 5424
    r"<\d{1,3}>1 \S++ \S++ \S++ \S++ \S++ (?:-|\[[^\]]{0,1000}+\]) ",
    # containerd
    r"\d{4}-\d\d-\d\dT[\d:.]{8,18}+(?:Z|[-+][\d:]{4,6}+) (?:stdout|stderr) [FP] ",
    # docker logs --timestamps, before anything but a load balancer's own line
    r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z ",
)
_PREFIX = re.compile("|".join(_PREFIXES))
COLORS = re.compile(r"\x1b\[[\d;]{0,16}m")


# A replica: web-1 of docker compose, web.1.abc of docker service.
_REPLICA = re.compile(r"[-_]\d+\Z|\.\d+\..*\Z")


def split_prefix(line: str) -> tuple[str, str]:
    """Return the name of the service that wrote a line, and the line without what stands before it.

    The name comes from what a program that collects logs put before the line; it is empty if there is none.
    """
    service = ""
    for _ in range(3):
        found = _PREFIX.match(line)
        if found is None:
            break
        named = found[found.lastindex] if found.lastindex else ""
        service = _REPLICA.sub("", named) if named[:1].isalpha() else service
        line = line[found.end() :]
    return service, line


METHOD = (
    "request.method", "req.method", "httpRequest.requestMethod", "http.request.method", "http.method",
    "http_method",
    "httpMethod", "request_method", "requestMethod", "RequestMethod", "ClientRequestMethod", "cs-method",
    "verb",
    "method", "Method",
)  # fmt: skip
# The whole first line of a request.
LINE = ("request", "request_line", "requestLine", "message.request")
# With the query, or a whole URL; then those without.
URL = (
    "request.uri", "req.originalUrl", "req.url", "httpRequest.requestUrl", "url.original", "url.full",
    "http.url",
    "request_uri", "requestUri", "requestURI", "RequestPath", "ClientRequestURI", "request.url",
    "request_url",
    "requestUrl", "uri", "url", "cs-uri", "cs-uri-stem", "request.path", "url.path", "http.path",
    "request_path",
    "requestPath", "ClientRequestPath", "path", "Path",
)  # fmt: skip
QUERY = ("cs-uri-query", "args", "query_string", "queryString", "url.query", "request.query", "query")
HOST = (
    "request.host", "req.headers.host", "x-host-header", "cs-host", "http_host", "RequestHost",
    "ClientRequestHost",
    "url.domain", "authority", ":authority", "cs(Host)", "vhost", "virtual_host", "host", "server_name",
    "domain",
)  # fmt: skip
SCHEME = (
    "request.scheme", "RequestScheme", "ClientRequestScheme", "url.scheme", "cs-protocol",
    "http_x_forwarded_proto",
    "x_forwarded_proto", "scheme", "protocol",
)  # fmt: skip
STATUS = (
    "status", "response.status", "res.statusCode", "httpRequest.status", "http.response.status_code",
    "http.status_code", "DownstreamStatus", "EdgeResponseStatus", "sc-status", "status_code", "statusCode",
    "response_status", "response_code", "responseCode", "response", "Status",
)  # fmt: skip
# Where a program that collects logs puts a line of another.
INNER = ("log", "message", "MESSAGE", "msg", "@message", "textPayload", "event.original")
_SCHEMES = frozenset({"http", "https", "ws", "wss"})
_METHOD = re.compile(r"[A-Za-z]{3,20}")
REQUEST_LINE = re.compile(r"([A-Za-z]{3,20}) (\S+)(?: (?:HTTP/)?[\d.]{1,4})?")
_PAIR = re.compile(r'([\w.@-]{1,64}+)=("(?:[^"\\]|\\.)*+"|[^\s"]*+)')
# Fields of a line that are read; a line that a server has written holds fewer.
_PAIRS_MAX = 200


@dataclass(frozen=True)
class LogEntry:
    """One request of a log.

    `url`: a path with its query, or a whole URL. `host`, `scheme`: empty if not there.
    """

    method: str
    url: str
    host: str = ""
    scheme: str = ""
    status: int | None = None


def entry_of(record: Mapping[str, Any]) -> LogEntry | None:
    """Return the request that a record is about; None: it is about something else."""
    line = REQUEST_LINE.fullmatch(_first(record, LINE))
    method, url = (line[1], line[2]) if line else (_first(record, METHOD), _first(record, URL))
    is_url = url.startswith("/") or "://" in url or url == "*" or method.upper() == "CONNECT"
    if not _METHOD.fullmatch(method) or not url or not is_url:
        return None
    query = _first(record, QUERY).removeprefix("?")
    if not line and "?" not in url and re.fullmatch(r"\S+", query):
        url = f"{url}?{query}"
    scheme = next((said for said in (each.lower() for each in _all(record, SCHEME)) if said in _SCHEMES), "")
    # Caddy and IIS.
    if not scheme and (isinstance(_at(record, "request.tls"), dict) or _first(record, ("s-port",)) == "443"):
        scheme = "https"
    return LogEntry(method.upper(), url, _host(record), scheme, status_of(_first(record, STATUS)))


def status_of(said: str) -> int | None:
    """Return a status as a log has it; None if there is none."""
    return int(said) if re.fullmatch(r"-?\d{1,3}", said, re.ASCII) else None


def pairs_of(line: str) -> dict[str, str]:
    """Return the fields of a line of logfmt: name=value, also in quotes."""
    found: dict[str, str] = {}
    for each in _PAIR.finditer(line):
        value = each[2]
        found[each[1]] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        if len(found) >= _PAIRS_MAX:
            break
    return found


def inner_of(record: Mapping[str, Any]) -> str:
    """Return the line of another program that a record holds; empty if there is none."""
    return _first(record, INNER).strip()


def _host(record: Mapping[str, Any]) -> str:
    # nginx's name of a server that answers for all.
    return next((said for said in _all(record, HOST) if said != "_"), "")


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next(_all(record, names), "")


def _all(record: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        said = text(_at(record, name))
        if said and said != "-":
            yield said


def _at(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    found: Any = record
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found
