"""A command of curl, as browsers copy it → the URL and the flags of `crumple load` that ask the same.

Nothing of the command is executed, and no file is read but those that it names for its body. What a load
cannot do is refused by the name of curl's option; what it does otherwise is noted.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, unquote

from crumple.errors import Mistakes, UsageError
from crumple.load import bash_words, curl_options, form, load_flags
from crumple.load.load_flags import CurledFlags

_FORM = "application/x-www-form-urlencoded"
_NOTES = {
    "--location": "redirects are not followed",
    "--location-trusted": "redirects are not followed",
    "--cookie-jar": "cookies of answers are not kept",
    "--retry": "a failure is counted, and not repeated",
}
_DATA = ("--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json")
# Brackets of an address of IPv6 are no pattern.
_PATTERN = re.compile(r"(?<!\\)[\[{]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# "host:port:address,address", where the address may be one of IPv6.
_RESOLVE = re.compile(r"\+?(\*|\[[^\]]*\]|[^:]*):(\d+):\[?([^,\]]+)\]?(?:,.*)?")


Flags = TypeVar("Flags", bound=CurledFlags)


@dataclass(frozen=True)
class Curl:
    """What a command asks. `flags`: fields of `LoadFlags`, of which not every command has all.

    `notes`: what a load does otherwise.
    """

    url: str
    flags: dict[str, Any]
    notes: tuple[str, ...] = ()


def text_of(typed: str) -> str:
    """Return the command that --curl names: the text itself, or the file behind an @. Raises UsageError."""
    if not typed.startswith("@"):
        return typed
    try:
        return Path(typed[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--curl {typed}: cannot read {typed[1:]}: {why}", "check the path") from None


def command(text: str) -> Curl:
    """Return what a command of curl asks. Raises UsageError."""
    reading = _Reading()
    for name, value in options(text):
        reading.take(name, value)
    return reading.curl()


def options(text: str) -> Iterable[tuple[str, str]]:
    """Return the options of a command of curl by their long names, with their values. Raises UsageError."""
    words = bash_words.words(text.removeprefix("$ "))
    if not words or Path(words[0]).name not in ("curl", "curl.exe"):
        begins = words[0] if words else "nothing"
        raise UsageError(
            f'--curl: a command of curl begins with curl, and this with "{begins}"',
            'copy the request as "cURL (bash)"',
        )
    return list(curl_options.read(words[1:]))


def beside(flags: Flags, curl: Curl, verb: str) -> Flags:
    """Return the flags as typed, with what the command asks beside them. Raises UsageError.

    A header that is typed replaces that of the command. `verb`: whose flags they are; not each has all.
    """
    mistakes = Mistakes()
    if flags.request_file is not None:
        mistakes.add("--curl and --request-file both say what to ask", "leave one of them out")
    known = {each.name: each for each in fields(flags)}
    changed: dict[str, Any] = {}
    for name, value in curl.flags.items():
        if name not in known:
            flag = f"--{name.replace('_', '-')}"
            mistakes.add(f"the command of --curl asks for {flag}, which {verb} does not have", "leave it out")
            continue
        typed = getattr(flags, name)
        if isinstance(value, list):
            own = {_name(text) for text in typed or () if name == "header"}
            changed[name] = [*(text for text in value if _name(text) not in own), *(typed or ())]
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

    urls: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    # Headers that the command asks to leave out, in small letters.
    without: set[str] = field(default_factory=set)
    data: list[tuple[str, str]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(self, name: str, value: str) -> None:
        if name == curl_options.URL:
            self.urls.append(value)
        elif name == "--header":
            self._header(value)
        elif name in _DATA:
            self.data.append((name, value))
        elif name == "--form":
            self.forms.append(value)
        elif name == "--form-string":
            part, _, said = value.partition("=")
            self.forms.append(form.literal(part, said))
        elif name in ("--cookie", "--proxy-header", "--connect-to", "--resolve"):
            self.lists.setdefault(name, []).append(value)
        elif name in _NOTES:
            self.notes.append(f"curl's {name}: {_NOTES[name]}")
        elif name in curl_options.HEEDED_WITH_VALUE or name in curl_options.HEEDED:
            self.given[name] = value

    def _header(self, text: str) -> None:
        name, colon, value = text.partition(":")
        if text.startswith("@"):
            raise UsageError(f"--curl: curl's -H {text} names a file of headers", "write each with -H")
        if not colon and text.endswith(";"):
            self.headers.append(f"{text[:-1]}:")
        elif colon and not value.strip():
            self.without.add(_name(text))
        # The engine writes the length of the body.
        elif name.strip().lower() != "content-length":
            self.headers.append(text)

    def curl(self) -> Curl:
        url, user = self._url()
        self._check_body_alone()
        flags: dict[str, Any] = {"no_vary": True, **self._body(), **self._connection(url)}
        if "--get" in self.given and self.data:
            url = _with_query(url, self._data())
        self._add_headers(user, flags)
        method = self.given.get("--request") or ("HEAD" if "--head" in self.given else None)
        flags |= {"header": self.headers} | ({"method": method} if method else {})
        if "--upload-file" in self.given:
            flags.setdefault("method", "PUT")
            url += Path(flags["body_file"]).name if url.endswith("/") else ""
        return Curl(url, flags, tuple(dict.fromkeys(self.notes)))

    def _url(self) -> tuple[str, str | None]:
        """Return the URL without its user, and the user with the password."""
        if len(self.urls) != 1:
            many = f"{len(self.urls)} URLs" if self.urls else "no URL"
            remedy = (
                "for several requests write --request-file FILE" if self.urls else "copy the whole command"
            )
            raise UsageError(f"--curl: the command has {many}", remedy)
        url = self.urls[0]
        if not _SCHEME.match(url):
            url = f"http://{url}"
        if "--globoff" not in self.given:
            scheme, _, rest = url.partition("://")
            authority, slash, path = rest.partition("/")
            if _PATTERN.search(slash + path) or "{" in authority:
                raise UsageError(
                    "--curl: the brackets in the URL stand for several URLs in curl",
                    "add -g to the command if they stand for themselves",
                )
            url = f"{scheme}://{authority}{slash}" + re.sub(r"\\([\[\]{}])", r"\1", path)
        found = re.match(r"([A-Za-z]+://)([^/?#@]*)@(.*)", url, re.DOTALL)
        if found is None:
            return url, None
        user = unquote(found[2])
        return found[1] + found[3], user if ":" in user else f"{user}:"

    def _check_body_alone(self) -> None:
        bodies = {"-d": self.data, "-F": self.forms, "-T": self.given.get("--upload-file")}
        given = [letter for letter, value in bodies.items() if value]
        if len(given) > 1:
            raise UsageError(f"--curl: curl's {' and '.join(given)} each give a body", "keep one of them")

    def _body(self) -> dict[str, Any]:
        if self.forms:
            return {"form": self.forms}
        if file := self.given.get("--upload-file"):
            return {"body_file": _named_file("-T", file)}
        if not self.data or "--get" in self.given:
            return {}
        if "--json" in [name for name, _ in self.data]:
            self._add("Content-Type", "application/json")
            self._add("Accept", "application/json")
        self._add("Content-Type", _FORM)
        if (
            len(self.data) == 1
            and self.data[0][0] in ("--data-binary", "--json")
            and self.data[0][1][:1] == "@"
        ):
            return {"body_file": _named_file(self.data[0][0], self.data[0][1][1:])}
        body = self._data()
        if body.startswith("@"):
            raise UsageError(
                "--curl: the body begins with @, which a load takes for a file",
                "put it into a file, and write --data-binary @FILE",
            )
        return {"body": body}

    def _data(self) -> str:
        between = "" if all(name == "--json" for name, _ in self.data) else "&"
        return between.join(_datum(name, value) for name, value in self.data)

    def _connection(self, url: str) -> dict[str, Any]:
        given, flags = self.given, dict[str, Any]()
        for name, own in (
            ("--unix-socket", "unix_socket"), ("--proxy", "proxy"), ("--max-time", "timeout"),
            ("--connect-timeout", "connect_timeout"), ("--cacert", "cacert"), ("--cert", "cert"),
            ("--key", "key"),
        ):  # fmt: skip
            if name in given:
                flags[own] = given[name]
        flags |= {own: True for name, own in (("--ipv4", "ipv4"), ("--ipv6", "ipv6")) if name in given}
        if "--insecure" in given:
            flags["insecure"] = True
            flags.pop("cacert", None)
        if not url.startswith("https://"):
            for name in ("insecure", "cacert", "cert", "key"):
                flags.pop(name, None)
        # In curl 0 is no limit of the user's own.
        for limit in ("timeout", "connect_timeout"):
            if flags.get(limit) == "0":
                del flags[limit]
        if user := given.get("--proxy-user"):
            flags["proxy"] = _with_user(flags.get("proxy"), user)
        if interface := given.get("--interface"):
            flags["source_address"] = [_address(interface)]
        if headers := self.lists.get("--proxy-header"):
            flags["proxy_header"] = headers
        if to := [*self.lists.get("--connect-to", ()), *map(_resolved, self.lists.get("--resolve", ()))]:
            flags["connect_to"] = to
        connection = {
            text.partition(":")[2].strip().lower() for text in self.headers if _name(text) == "connection"
        }
        if "--no-keepalive" in given or "close" in connection:
            flags["disable_keepalive"] = True
        return flags

    def _add_headers(self, user: str | None, flags: dict[str, Any]) -> None:
        """Add the headers that options of their own give, and those that curl sends without being asked."""
        given = self.given
        if cookies := self.lists.get("--cookie"):
            self._add("Cookie", ";".join(map(_cookie, cookies)))
        if token := given.get("--oauth2-bearer"):
            self._add("Authorization", f"Bearer {token}")
        if (name := given.get("--user") or user) and not self._has("Authorization"):
            flags["basic_auth"] = name
        for option, header in (("--user-agent", "User-Agent"), ("--referer", "Referer")):
            if value := given.get(option, "").removesuffix(";auto"):
                self._add(header, value)
        if "--range" in given:
            self._add("Range", f"bytes={given['--range']}")
        if "--compressed" in given:
            self._add("Accept-Encoding", "deflate, gzip, br, zstd")
        self._add("Accept", "*/*")

    def _has(self, name: str) -> bool:
        return any(_name(text) == name.lower() for text in self.headers)

    def _add(self, name: str, value: str) -> None:
        """Add a header, unless the command gives it itself or asks to leave it out."""
        if not self._has(name) and name.lower() not in self.without:
            self.headers.append(f"{name}: {value}")


def _datum(name: str, value: str) -> str:
    """Return what one option adds to the body."""
    if name == "--data-urlencode":
        return _urlencoded(value)
    if name == "--data-raw" or not value.startswith("@"):
        return value
    text = _read(name, value[1:])
    return text if name in ("--data-binary", "--json") else re.sub("[\r\n\0]", "", text)


def _urlencoded(value: str) -> str:
    found = re.match(r"([^=@]*)([=@])", value)
    if found is None:
        return quote_plus(value)
    name, mark = found[1], found[2]
    content = value[found.end() :]
    said = quote_plus(content if mark == "=" else _read("--data-urlencode", content))
    return f"{name}={said}" if name else said


def _named_file(option: str, file: str) -> str:
    if file in ("", "-", "."):
        raise UsageError(f"--curl: curl's {option} reads stdin, which has no body here", "name a file")
    return file


def _read(option: str, file: str) -> str:
    try:
        return Path(_named_file(option, file)).read_bytes().decode()
    except UnicodeDecodeError:
        raise UsageError(
            f"--curl: curl's {option} @{file} holds no text", "send it alone, with --data-binary @FILE"
        ) from None
    except OSError as error:
        raise UsageError(f"--curl: cannot read {file}: {error.strerror}", "check the path") from None


def _with_query(url: str, query: str) -> str:
    before, mark, fragment = url.partition("#")
    return before + ("&" if "?" in before else "?") + query + mark + fragment


def _with_user(proxy: str | None, user: str) -> str | None:
    if proxy is None:
        return None
    scheme, mark, host = proxy.rpartition("://")
    name, _, password = user.partition(":")
    return f"{scheme or 'http'}{mark or '://'}{quote(name, safe='')}:{quote(password, safe='')}@{host}"


def _cookie(text: str) -> str:
    if "=" not in text:
        raise UsageError(
            f"--curl: curl's -b {text} names a file of cookies", "write the cookies: -b 'a=b; c=d'"
        )
    return text


def _resolved(text: str) -> str:
    found = _RESOLVE.fullmatch(text)
    if found is None:
        raise UsageError(f"--curl: curl's --resolve {text} names no address", "write HOST:PORT:ADDRESS")
    host = "" if found[1] == "*" else found[1]
    address = f"[{found[3]}]" if ":" in found[3] else found[3]
    return f"{host}:{found[2]}:{address}:{found[2]}"


def _address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        raise UsageError(
            f"--curl: curl's --interface {name} is no address", "write an address of this machine"
        ) from None
