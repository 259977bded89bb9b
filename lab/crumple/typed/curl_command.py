"""A command of curl, as browsers copy it → the URL and the flags of `crumple load` that ask the same.

Nothing of the command is executed, and no file is read but those that it names for its request. What a load
cannot do is refused by the name of curl's option; what it does otherwise is noted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from crumple.errors import Mistakes, UsageError
from crumple.load import form, header_lines, load_flags
from crumple.load.load_flags import CurledFlags
from crumple.typed import bash_words, curl_body, curl_connection, curl_options, curl_url, pasted
from crumple.typed.bash_words import Environment
from crumple.typed.curl_body import Datum
from crumple.typed.curl_here import CurlHere
from crumple.typed.curl_url import Url, UrlOptions
from crumple.typed.pasted import CommandLine

_DATA = ("--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json")
# Options that may be given several times, each of which counts.
_LISTED = ("--cookie", "--proxy-header", "--connect-to", "--resolve", "--url-query")
# Flags that each give a header, which replaces that of the command.
_HEADER_FLAGS = {
    "user_agent": "user-agent", "accept": "accept", "content_type": "content-type", "host": "host",
    "basic_auth": "authorization",
}  # fmt: skip
# Letters that are shown of what is left out of a command line.
_SHOWN_MOST = 160
# Options whose files are read by others than the readers of bodies.
_OF_FILES = ("--cacert", "--cert", "--key")

Flags = TypeVar("Flags", bound=CurledFlags)


@dataclass(frozen=True)
class Curl:
    """What a command asks."""

    url: str
    flags: dict[str, Any]
    """Fields of `LoadFlags`, of which not every command has all."""
    notes: tuple[str, ...] = ()
    """What a load does otherwise, and what is left out."""
    secrets: frozenset[str] = frozenset()
    """Values taken from the environment."""


def text_of(typed: str) -> str:
    """Return the command that --curl names: the text itself, or the file behind an @. Raises UsageError."""
    if not typed.startswith("@"):
        return typed
    try:
        return Path(typed[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--curl {typed}: cannot read {typed[1:]}: {why}", "check the path") from None


def command(text: str, here: CurlHere, environment: Environment | None = None) -> Curl:
    """Return what a command of curl asks. Raises UsageError.

    `environment`: what variables in it are filled in from; None: they are refused.
    """
    variables = bash_words.Variables(environment)
    try:
        line = pasted.read(text, variables)
        reading = _Reading(line, here)
        for name, value in curl_options.read(line.words):
            reading.take(name, value)
        found = reading.curl()
    except UsageError as mistake:
        raise UsageError(variables.hidden(mistake.message), variables.hidden(mistake.remedy)) from None
    notes = tuple(map(variables.hidden, found.notes))
    return replace(found, notes=notes, secrets=frozenset(variables.filled))


def options(text: str, environment: Environment) -> Iterable[tuple[str, str]]:
    """Return the options of a command of curl by their long names, with their values. Raises UsageError."""
    line = pasted.read(text, bash_words.Variables(environment))
    return list(curl_options.read(line.words))


def beside(flags: Flags, curl: Curl, verb: str) -> Flags:
    """Return the flags as typed, with what the command asks beside them. Raises UsageError.

    A header that is typed replaces that of the command. `verb`: whose flags they are; not each has all.
    """
    mistakes = Mistakes()
    if flags.request_file is not None:
        mistakes.add("--curl and --request-file both say what to ask", "leave one of them out")
    known = {each.name: each for each in fields(flags)}
    own = {_name(text) for text in flags.header or ()}
    own |= {header for name, header in _HEADER_FLAGS.items() if getattr(flags, name) is not None}
    changed: dict[str, Any] = {}
    for name, value in curl.flags.items():
        if name not in known:
            flag = f"--{name.replace('_', '-')}"
            mistakes.add(f"the command of --curl asks for {flag}, which {verb} does not have", "leave it out")
            continue
        typed = getattr(flags, name)
        if _HEADER_FLAGS.get(name) in own:
            continue
        if isinstance(value, list):
            kept = [text for text in value if name != "header" or _name(text) not in own]
            changed[name] = [*kept, *(typed or ())]
        elif typed == known[name].default or isinstance(value, bool):
            changed[name] = value
        else:
            flag = load_flags.names(known[name])[0]
            mistakes.add(f"{flag} is given, and the command of --curl says it, too", "leave one of them out")
    mistakes.none()
    return replace(flags, **changed)


def _name(header: str) -> str:
    return header.partition(":")[0].strip().lower()


@dataclass
class _Reading:
    """What has been read of a command."""

    line: CommandLine
    here: CurlHere
    urls: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    # Headers that the command asks to leave out, in small letters.
    without: set[str] = field(default_factory=set)
    data: list[Datum] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # The length of the body as typed; the engine writes that which it has.
    length: str = ""

    def take(self, name: str, value: str) -> None:
        if name == curl_options.URL:
            self.urls.append(value)
        elif name == "--header":
            self._headers(value)
        elif name in _DATA:
            self.data.append(Datum(name, value))
        elif name == "--form":
            self.forms.append(curl_body.field(value, self.line.stdin.files, self.notes.append))
        elif name == "--form-string":
            part, _, said = value.partition("=")
            self.forms.append(form.literal(part, said))
        elif name in _LISTED:
            self.lists.setdefault(name, []).append(value)
        elif name == "--no-keepalive" or name in curl_options.HEEDED:
            if name in _OF_FILES:
                self.line.stdin.files.check(value)
            self.given[name] = value
        elif name.startswith("--no-"):
            self.given.pop(f"--{name[5:]}", None)
        elif note := curl_options.note_of(name):
            self.notes.append(f"curl's {name}: {note}")

    def _headers(self, value: str) -> None:
        lines = curl_body.header_lines(value[1:], self.line.stdin) if value.startswith("@") else [value]
        for text in lines:
            self._header(text.rstrip("\r\n"))

    def _header(self, text: str) -> None:
        name, colon, value = text.partition(":")
        if not colon and text.endswith(";"):
            self.headers.append(f"{text[:-1]}:")
        elif not colon or not name:
            shown = next(iter(name.split()), "")
            self.notes.append(f'curl\'s -H "{shown}": a header has a name and a colon')
        elif not value.strip():
            self.without.add(_name(text))
        elif _name(text) == "content-length":
            self.length = value.strip()
        elif _name(text) != "host":
            self.headers.append(text)
        elif not self._has("host"):
            # However the name is typed, curl writes it so.
            self.headers.append(f"Host:{value}")

    def curl(self) -> Curl:
        url = self._url()
        flags: dict[str, Any] = {"no_vary": True, **self._body(), **self._connection(url)}
        self._add_headers(url)
        flags["header"] = self.headers
        if not self._has("user-agent") and (self.here.user_agent or self._is_without("user-agent")):
            flags["user_agent"] = ""
        if method := self._method():
            flags["method"] = method
        self._note(url)
        self._check_length(flags)
        return Curl(url.text, flags, tuple(dict.fromkeys(self.notes)))

    def _method(self) -> str | None:
        if self.given.get("--request") == "":
            raise UsageError("--curl: curl's -X names no method", "write -X POST, for instance")
        by_default = "HEAD" if "--head" in self.given else "PUT" if self.given.get("--upload-file") else None
        return self.given.get("--request", by_default)

    def _url(self) -> Url:
        if len(self.urls) != 1:
            many = f"{len(self.urls)} URLs" if self.urls else "no URL"
            remedy = (
                "for several requests write --request-file FILE" if self.urls else "copy the whole command"
            )
            raise UsageError(f"--curl: the command has {many}", remedy)
        asked = UrlOptions(
            globs="--globoff" not in self.given,
            as_is="--path-as-is" in self.given,
            scheme=self.given.get("--proto-default", ""),
            data=curl_body.data(self.data, self.line.stdin) if "--get" in self.given and self.data else None,
            queries=[curl_body.query(each, self.line.stdin) for each in self.lists.get("--url-query", ())],
            target=self.given.get("--request-target"),
            file=self.given.get("--upload-file", ""),
        )
        return curl_url.read(self.urls[0], asked)

    def _body(self) -> dict[str, Any]:
        self._check_body_alone()
        for name in ("content-length", "host"):
            if self._is_without(name):
                shown = name.title()
                raise UsageError(f"--curl: a request is sent with {shown}", f"leave out -H '{shown}:'")
        if "--use-ascii" in self.given and (self.forms or self.given.get("--upload-file")):
            raise UsageError("--curl: curl's -B changes the ends of lines", "leave it out")
        if self.forms:
            if self._is_without("content-type"):
                raise UsageError("--curl: a form is sent with its type", "leave out -H 'Content-Type:'")
            return {"form": self.forms}
        if file := self.given.get("--upload-file"):
            return curl_body.upload(file, self.line.stdin.files)
        kind = curl_body.type_of(self.data)
        is_in_url = not self.data or "--get" in self.given
        flags = {} if is_in_url else curl_body.of_data(self.data, self.line.stdin)
        # --json says the type also where -G moves its text to the URL.
        if kind == curl_body.JSON or not is_in_url:
            self._add("Content-Type", kind)
        if kind == curl_body.JSON:
            self._add("Accept", kind)
        return flags

    def _check_body_alone(self) -> None:
        of_data = self.data and "--get" not in self.given
        bodies = {
            "-d": of_data,
            "-F": self.forms,
            "-T": self.given.get("--upload-file"),
            "-I": "--head" in self.given,
        }
        given = [letter for letter, value in bodies.items() if value]
        if len(given) > 1:
            curl_body.refuse_several(given)

    def _check_length(self, flags: dict[str, Any]) -> None:
        text = flags.get("body", "")
        is_known = "form" not in flags and "body_file" not in flags
        bytes_ = len(text.removeprefix("@").encode("utf-8", "surrogateescape"))
        if self.length and is_known and self.length != str(bytes_):
            raise UsageError(
                f"--curl: the body has {bytes_} bytes, and -H says Content-Length: {self.length}",
                "leave out that -H",
            )

    def _connection(self, url: Url) -> dict[str, Any]:
        flags = curl_connection.flags(url, self.given, self.lists)
        if "proxy" in flags:
            headers = flags.setdefault("proxy_header", [])
            if not any(_name(text) == "proxy-connection" for text in [*headers, *self.headers]):
                headers.append("Proxy-Connection: Keep-Alive")
        closes = any(text.lower().replace(" ", "") == "connection:close" for text in self.headers)
        if "--no-keepalive" in self.given or closes:
            flags["disable_keepalive"] = True
        return flags

    def _add_headers(self, url: Url) -> None:
        """Add the headers that options of their own give, and those that curl sends without being asked.

        They stand in curl's order before those of -H.
        """
        given, first = self.given, self.headers
        self.headers = []
        if url.host_header.lower() != url.host_header:
            # A load writes the host in small letters, and curl as it is typed.
            self._add("Host", url.host_header, first)
        if "--basic" in given and "--oauth2-bearer" in given:
            raise UsageError(
                "--curl: curl's --basic and --oauth2-bearer exclude each other", "keep one of them"
            )
        if token := given.get("--oauth2-bearer"):
            self._add("Authorization", f"Bearer {token}", first)
        elif user := given.get("--user") or url.user:
            if ":" not in user:
                raise UsageError(
                    f"--curl: curl's -u {user} asks for the password", f"write -u {user}:PASSWORD"
                )
            self._add("Authorization", header_lines.basic("-u", user), first)
        if part := self._range():
            self._add("Range", f"bytes={part}", first)
        agent = given.get("--user-agent", self.here.user_agent)
        if agent:
            self._add("User-Agent", agent, first)
        elif "--user-agent" in given:
            self.without.add("user-agent")
        self._add("Accept", "*/*", first)
        if "--compressed" in given:
            self._add("Accept-Encoding", self.here.encodings, first)
        if referer := given.get("--referer", "").removesuffix(";auto"):
            self._add("Referer", referer, first)
        if cookies := self._cookies():
            self._add("Cookie", cookies, first)
        self.headers += first
        self.headers.sort(key=lambda text: _name(text) != "host")
        if file := given.get("--etag-compare"):
            lines = curl_body.header_lines(file, self.line.stdin)
            self.headers.append(f"If-None-Match: {lines[0].strip() if lines else chr(34) * 2}")

    def _range(self) -> str:
        offset = self.given.get("--continue-at", "")
        if offset.isdecimal() and int(offset):
            return f"{offset}-"
        text = self.given.get("--range", "")
        return f"{text}-" if text.isdecimal() else text

    def _cookies(self) -> str:
        found = []
        for text in filter(None, self.lists.get("--cookie", ())):
            if "=" in text:
                found.append(text)
                continue
            self.line.stdin.files.check(text)
            if text == "-" or Path(text).exists():
                raise UsageError(
                    f"--curl: curl's -b {text} names a file of cookies", "write the cookies: -b 'a=b; c=d'"
                )
            self.notes.append(f"curl's -b {text}: there is no such file of cookies")
        return ";".join(found)

    def _note(self, url: Url) -> None:
        if url.note:
            self.notes.append(url.note)
        if "--http2" in self.given:
            if not url.is_tls:
                # curl asks a server without TLS by headers to change the version.
                raise UsageError("--curl: curl's --http2 cannot be done", curl_options.ONLY_HTTP_1_1)
            self.notes.append("curl's --http2: HTTP/1.1 is spoken")
        if not self.here.user_agent and not self._has("user-agent") and not self._is_without("user-agent"):
            self.notes.append("there is no curl here whose name could be sent: User-Agent is crumple's")
        if self.line.left_out:
            shown = ", ".join(self.line.left_out).replace("\n", " ")
            self.notes.insert(0, f"left out of the command line: {shown[:_SHOWN_MOST]}")

    def _is_without(self, name: str) -> bool:
        return name in self.without and not self._has(name)

    def _has(self, name: str) -> bool:
        return any(_name(text) == name for text in self.headers)

    def _add(self, name: str, value: str, beside_these: Iterable[str] = ()) -> None:
        """Add a header, unless the command gives it itself or asks to leave it out."""
        known = {_name(text) for text in (*self.headers, *beside_these)} | self.without
        if name.lower() not in known:
            self.headers.append(f"{name}: {value}")
