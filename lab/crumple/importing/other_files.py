"""Files of other programs that `import` does not read: how each is known, and what to do instead. Data.

docs/coming-from.md has a table of them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from crumple.errors import FileInvalid, Problem
from crumple.importing.shape import Shape, Way, keys

_HAR = "save a HAR of the same requests (in a browser: Network, Export HAR) and import that"
_TARGETS = 'write "METHOD URL" on a line for each request, with headers behind it'
_SCRIPT = f"crumple runs no scripts: {_HAR}, or {_TARGETS}"


@dataclass(frozen=True)
class OtherFile:
    """A kind of file that is known and not read."""

    name: str
    remedy: str
    pattern: re.Pattern[str] | None = None
    """A pattern that its first lines match."""
    keys: tuple[frozenset[Way], ...] = ()
    """One of these sets of keys is at its top."""


def _lines(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that fits if a line begins with one of these."""
    return re.compile(rf"^[ \t]*(?:{'|'.join(patterns)})", re.MULTILINE)


OTHER_FILES = (
    OtherFile(
        "a script of k6",
        f"{_SCRIPT}; crumple load --like k6 takes a command of k6",
        re.compile(r"""(?:from|require\()\s*['"]k6(?:/[\w/-]{1,40})?['"]"""),
    ),
    OtherFile(
        "a script of Locust",
        _SCRIPT,
        _lines(r"from locust\b", r"import locust\b", r"class \w{1,80}\((?:Fast)?HttpUser\)"),
    ),
    OtherFile(
        "a simulation of Gatling",
        f"{_SCRIPT}; Gatling's recorder reads the same HAR",
        re.compile(r"io\.gatling\b"),
    ),
    OtherFile("a test plan of JMeter", _HAR, re.compile(r"<jmeterTestPlan\b")),
    OtherFile("a session of Tsung", _HAR, re.compile(r"<tsung\b")),
    OtherFile("a project of SoapUI", _HAR, re.compile(r"<(?:con:)?soapui-project\b")),
    OtherFile(
        "a script of wrk",
        f"{_SCRIPT}; crumple load --like wrk takes a command of wrk",
        _lines(r"wrk\.\w{2,10}\s*=", r"request\s*=\s*function"),
    ),
    OtherFile(
        "a hurl file",
        "hurl --curl FILE writes a command of curl for each request: give one to crumple load --curl",
        _lines(
            r"HTTP(?:/[\d.*]{1,3})? (?:\d{3}|\*)[ \t]*$",
            r"\[(?:Asserts|Captures|Query|QueryStringParams|Form|FormParams|Multipart|MultipartFormData|Options|"
            r"Cookies|BasicAuth)\]",
        ),
    ),
    OtherFile(
        "an .http file",
        "copy each request as a command of curl, as editors offer, and give one to crumple load --curl; or "
        f"{_TARGETS}",
        _lines(
            r"[A-Z]{3,10} \S{1,2000} HTTP/[\d.]{1,3}[ \t]*$",
            r"[A-Z]{3,10} [^\s{]{0,200}\{\{",
            r"@[\w.-]{1,80}[ \t]*=",
            r"#{3,}[^\n]{0,200}\n(?:(?:#|//)[^\n]{0,200}\n|\s){0,20}[A-Z]{3,10} ",
        ),
    ),
    OtherFile(
        "a list of siege with methods, bodies or variables",
        f"{_TARGETS}; a list of URLs alone is read",
        _lines(
            r"https?://\S{1,2000} (?:POST|PUT|PATCH|DELETE)\b",
            r"\w{1,40}[ \t]*=[ \t]*https?://",
            r"\S{0,500}\$[({]\w{1,40}[)}]/",
        ),
    ),
    OtherFile(
        "commands of curl",
        "give one to crumple load --curl 'curl …', or --curl @FILE",
        _lines(r"(?:\$ )?curl(?: |\.exe )"),
    ),
    OtherFile(
        "a session of mitmproxy",
        "open it in mitmproxy and write :save.har @all FILE.har",
        re.compile(r"\A\d{1,9}:\d{1,3}:[a-z_]{1,40};"),
    ),
    OtherFile(
        "a script of Artillery",
        f"{_SCRIPT}; its phases are the flags --rate, --steps and --ramp",
        keys=keys("config scenarios", "config/target config/phases"),
    ),
    OtherFile(
        "a configuration of Taurus",
        _HAR,
        keys=keys("execution scenarios", "execution settings", "execution reporting"),
    ),
    OtherFile("a plan of drill", _TARGETS, keys=keys("plan base", "plan concurrency", "plan iterations")),
    OtherFile(
        "a collection of Postman, version 1",
        "export it again, as Collection v2.1",
        keys=keys("order requests", "requests folders id"),
    ),
    OtherFile(
        "an environment of Postman",
        "import the collection; write the values of variables into it (Edit collection, Variables)",
        keys=keys("_postman_variable_scope", "values name _postman_exported_at"),
    ),
    OtherFile(
        "an export of Insomnia",
        "export it as HAR",
        _lines(r"type: collection\.insomnia", r"_type: export\b"),
        keys("__export_format", "_type resources"),
    ),
    OtherFile(
        "an export of Hoppscotch",
        "export it as OpenAPI, or save a HAR",
        keys=keys("v folders requests", "folders requests name"),
    ),
    OtherFile(
        "a collection of Thunder Client",
        "export it as Postman or OpenAPI",
        keys=keys("clientName collectionName", "client collectionName", "clientName requests"),
    ),
    OtherFile("a Bruno file", "export the collection as Postman v2.1", _lines(r"meta \{[ \t]*$")),
    OtherFile(
        "a session of Charles",
        "export it as HAR",
        keys=keys("method protocolVersion scheme", "status method scheme durations"),
    ),
    OtherFile("a trace of Chrome", "save a HAR: Network, Export HAR", keys=keys("traceEvents")),
    OtherFile("a NetLog of Chrome", "save a HAR: Network, Export HAR", keys=keys("constants events")),
    OtherFile("a document of Swagger 1", "convert it to OpenAPI 3", keys=keys("swaggerVersion")),
    OtherFile(
        "a document of AsyncAPI", "it describes messages and no requests of HTTP", keys=keys("asyncapi")
    ),
    OtherFile("a document of RAML", "convert it to OpenAPI 3", re.compile(r"\A#%RAML")),
    OtherFile("an API Blueprint", "convert it to OpenAPI 3", re.compile(r"\AFORMAT: ?1A\b")),
    OtherFile(
        "a WSDL or WADL",
        "convert it to OpenAPI 3",
        re.compile(r"<(?:\w{1,10}:)?(?:definitions|application)\b[^>]{0,500}(?:wsdl|wadl)"),
    ),
    OtherFile(
        "a manifest of Kubernetes",
        "import the OpenAPI document or the log of the service",
        keys=keys("apiVersion kind metadata"),
    ),
    OtherFile(
        "a file of docker compose",
        "import the log: docker compose logs",
        keys=keys("services version", "services networks", "services volumes"),
    ),
    OtherFile("a summary of k6", _HAR, keys=keys("root_group metrics", "metrics state")),
    OtherFile(
        "an HTML page",
        "import a HAR of what the browser asked for it",
        re.compile(r"\A\s{0,100}(?:<!DOCTYPE html|<html)\b", re.IGNORECASE),
    ),
    OtherFile("XML", _HAR, re.compile(r"\A\s{0,100}<\?xml\b")),
)


def of_text(head: str) -> OtherFile | None:
    """Return the kind of a file by its first lines; None: none of these."""
    return next((each for each in OTHER_FILES if each.pattern and each.pattern.search(head)), None)


def of_shape(shape: Shape) -> OtherFile | None:
    """Return the kind of a document by its keys; None: none of these."""
    return next((each for each in OTHER_FILES if any(named <= shape for named in each.keys)), None)


def refusal(file: Path, kind: OtherFile) -> FileInvalid:
    """Return the error that says what to do with a file of this kind."""
    return FileInvalid([Problem(file, "", f"is {kind.name}, which import does not read", kind.remedy)])
