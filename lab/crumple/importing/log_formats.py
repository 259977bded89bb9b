"""How programs write a line for each request that they answered: data, and no code for any of them.

A pattern begins with something that no prefix has, as it is searched for behind whatever stands before it. It
has the groups `request` ("GET /a HTTP/1.1") or `method` and `url`, and, where the format has them, `status`,
`host` and `scheme`. Its parts are possessive (`*+`), so that a line takes time in proportion to its length,
whatever it holds.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class LogFormat:
    """One format.

    `holds`: what each of its lines holds, which is sooner seen than that the pattern does not fit.
    `has_host_before`: what stands before the pattern may begin with the host that was asked.
    """

    name: str
    pattern: re.Pattern[str]
    holds: str = ""
    has_host_before: bool = False


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
