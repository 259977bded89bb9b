"""A record of a log whose fields have names, as of JSON, W3C's format or logfmt → the request it is about.

The names are those that servers use by default, or that are widely used in their configuration. Of several,
the first that is there counts. A name with points is that of a field within a table, or stands for itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crumple.importing.json_values import text

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
_LINE = re.compile(r"([A-Za-z]{3,20}) (\S+)(?: (?:HTTP/)?[\d.]{1,4})?")
_PAIR = re.compile(r'([\w.@-]{1,64}+)=("(?:[^"\\]|\\.)*+"|[^\s"]*+)')
# A record is a line, so this bounds nothing that a server writes.
_PAIRS_MAX = 200


@dataclass(frozen=True)
class Entry:
    """One request of a log.

    `url`: a path with its query, or a whole URL. `host`, `scheme`: empty if not there.
    """

    method: str
    url: str
    host: str = ""
    scheme: str = ""
    status: int | None = None


def entry_of(record: Mapping[str, Any]) -> Entry | None:
    """Return the request that a record is about; None: it is about something else."""
    line = _LINE.fullmatch(_first(record, LINE))
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
    return Entry(method.upper(), url, _host(record), scheme, status_of(_first(record, STATUS)))


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
