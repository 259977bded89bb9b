"""The URL of a command of curl → the URL that is asked: patterns, dot segments, a query that options add.

curl's own rules (curl(1), "URL", "GLOBBING"; libcurl, curl_url_set(3)), as a recording server shows them.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from crumple.errors import UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/{1,3}(?=[^/])")
_GUESSED = re.compile(r"(ftp|dict|ldap|imap|smtp|pop3)\.", re.IGNORECASE)
_RANGE = re.compile(r"\[(?:(\d+)-(\d+)|([A-Za-z])-([A-Za-z]))(?::(\d+))?\]")
_SET = re.compile(r"\{((?:[^{}\[\]\\]|\\.)*)\}")
_ESCAPED = re.compile(r"\\([\[\]{}])")
# A part of an address of IPv4 as curl takes it: hexadecimal, octal or decimal.
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|0[0-7]*|[1-9][0-9]*")
_UPPER_HEX = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True)
class Url:
    """The URL that curl asks."""

    text: str
    user: str | None
    """User and password, if the URL names them."""
    note: str = ""
    """What a load sends otherwise; empty: nothing."""

    @property
    def is_tls(self) -> bool:
        """Whether the scheme is https."""
        return self.text.startswith("https:")

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Return the host in small letters, without brackets, and the port."""
        host, port = self._authority
        return host.strip("[]").lower(), port

    @property
    def host_header(self) -> str:
        """Return what curl sends as Host: the host as typed, and the port where it is not the usual one."""
        host, port = self._authority
        return host if port == self._usual_port else f"{host}:{port}"

    @property
    def _usual_port(self) -> int:
        return 443 if self.is_tls else 80

    @property
    def _authority(self) -> tuple[str, int]:
        authority = re.sub(r"^https?://|[/?].*", "", self.text, flags=re.DOTALL)
        host, _, port = authority.rpartition(":") if re.search(r":\d*$", authority) else (authority, "", "")
        return host, int(port or self._usual_port)


@dataclass(frozen=True)
class UrlOptions:
    """What options say of the URL."""

    globs: bool = True
    as_is: bool = False
    scheme: str = ""
    data: str | None = None
    """What -G adds to the query."""
    queries: Sequence[str] = ()
    """What --url-query adds to the query."""
    target: str | None = None
    """The value of --request-target."""
    file: str = ""
    """What -T sends, whose name ends a URL that ends with a slash."""


def read(typed: str, asked: UrlOptions) -> Url:
    """Return the URL that curl asks. Raises UsageError."""
    written = _expanded(typed) if asked.globs else typed
    scheme, rest = _scheme(written, asked.scheme)
    found = re.match(r"(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?", rest, re.DOTALL)
    assert found
    user, host, path, query = found.groups()
    host = _with_address(host)
    added = asked.data if asked.data is not None else "&".join(asked.queries)
    if added:
        query = _joined(query, added)
    path = path or "/"
    if asked.file and path.endswith("/"):
        path += quote(Path(asked.file).name, safe="")
    if not asked.as_is or added:
        path = without_dot_segments(path)
    path = "".join(letter if letter.isascii() else _lower_hex(letter) for letter in path)
    if asked.target is not None:
        path, _, query = asked.target.partition("?")
        query = query if "?" in asked.target else None
        _check_target(path)
    whole = path if query is None else f"{path}?{query}"
    _check_letters(typed, whole)
    note = "" if whole.isascii() else "the URL holds letters beyond ASCII, which are percent-encoded here"
    if user is not None:
        user = unquote(user, errors="surrogateescape")
        user = user if ":" in user else f"{user}:"
    return Url(f"{scheme}://{host}{whole}", user, note)


def without_dot_segments(path: str) -> str:
    """Return the path with its "." and ".." taken out (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
            continue
        if is_last:
            kept.append("")
    return "/" + "/".join(kept)


def _scheme(written: str, default: str) -> tuple[str, str]:
    found = _SCHEME.match(written)
    scheme = found[1].lower() if found else default.lower()
    guessed = None if found or default else _GUESSED.match(written)
    if guessed is not None:
        raise UsageError(
            f"--curl: curl takes a host that begins with {guessed[0]} for {guessed[1].upper()}",
            "write http:// before it",
        )
    if scheme not in ("", "http", "https"):
        raise UsageError(f"--curl: {scheme} is not HTTP", "only http:// and https:// are loaded")
    return scheme or "http", written[found.end() :] if found else written


def _with_address(host: str) -> str:
    """Return a host and port with an address such as 127.1 in its usual form, as curl asks it."""
    name, colon, port = host.partition(":")
    parts = name.split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return host
    *first, last = [_number(part) for part in parts]
    if any(each > 255 for each in first) or last >= 256 ** (4 - len(first)):
        return host
    whole = sum(each << 8 * (3 - at) for at, each in enumerate(first)) + last
    return f"{ipaddress.IPv4Address(whole)}{colon}{port}"


def _number(text: str) -> int:
    return int(text, 16 if text[:2] in ("0x", "0X") else 8 if text.startswith("0") else 10)


def _joined(query: str | None, added: str) -> str:
    """Return the query with what is added to it; curl writes the hexadecimal digits of that small."""
    added = _UPPER_HEX.sub(lambda each: each[0].lower(), added.partition("#")[0])
    between = "&" if query and not query.endswith("&") else ""
    return (query or "") + between + added


def _lower_hex(letter: str) -> str:
    return "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def _check_letters(typed: str, whole: str) -> None:
    if re.search(r"[\0-\x20\x7f]", typed + whole):
        raise UsageError(
            "--curl: the URL holds a blank or a control character, with which curl asks nothing",
            "percent-encode it: a blank is %20",
        )


def _check_target(path: str) -> None:
    if not path.startswith("/") or "#" in path:
        raise UsageError(
            f"--curl: curl's --request-target {path} is no path",
            "a load asks for a path, which begins with /",
        )


def _expanded(typed: str) -> str:
    """Return the URL that a pattern of curl's stands for. Raises UsageError if it stands for several."""
    made, at = "", 0
    while at < len(typed):
        letter = typed[at]
        if found := _ESCAPED.match(typed, at):
            made, at = made + found[1], found.end()
        elif letter == "[" and (skip := _literal_bracket(typed, at)):
            made, at = made + typed[at : at + skip], at + skip
        elif letter in "[{":
            found = (_RANGE if letter == "[" else _SET).match(typed, at)
            if found is None:
                raise _no_pattern(letter)
            made, at = made + _only(found), found.end()
        elif letter in "]}":
            raise _no_pattern(letter)
        else:
            made, at = made + letter, at + 1
    return made


def _literal_bracket(typed: str, at: int) -> int:
    """Return how many letters are no pattern: empty brackets, or an address of IPv6; 0: it is one."""
    ends = typed.find("]", at)
    if ends == at + 1:
        return 2
    try:
        ipaddress.IPv6Address(typed[at + 1 : max(ends, at + 1)].replace("%25", "%"))
    except ValueError:
        return 0
    return ends + 1 - at


def _only(found: re.Match[str]) -> str:
    """Return the one text that a set or a range stands for. Raises UsageError."""
    if found[0].startswith("{"):
        texts = re.split(r"(?<!\\),", found[1])
        if texts == [""]:
            raise _no_pattern("{")
        only = re.sub(r"\\(.)", r"\1", texts[0]) if len(texts) == 1 else None
    else:
        first, last = found[1] or found[3], found[2] or found[4]
        only = first if first == last else None
    if only is None:
        raise UsageError(
            f"--curl: {found[0]} in the URL stands for several URLs in curl, and one load has one",
            "write the one to load; if the brackets stand for themselves, add -g to the command",
        )
    return only


def _no_pattern(letter: str) -> UsageError:
    return UsageError(
        f"--curl: curl takes {letter} in a URL for a part of a pattern, and this is none",
        "add -g to the command if it stands for itself",
    )
