"""A load without the secrets of its requests, as it is shown, written and handed on; and how to repeat it.

Masked are values that look like a token, or whose name says that they are secret: of headers, of the query,
of a user in a URL. Bodies that were sent are masked whole, since any word may be one. What a server sent is
searched for all of these, and its cookies are masked.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from crumple.contract import Example, RequestRecord, TrialRecord, TrialSpec
from crumple.drawing import numerals

if TYPE_CHECKING:
    from crumple.load.report.load_figures import Load

MASK = "…"

# Whatever else is in the name; and words that mean it only by themselves: an author is none.
_SECRET = re.compile(
    "token|secret|passw|passphrase|credential|apikey|jwt|cookie|csrf|xsrf|authoriz|authentic"
)
# What a server asks for, which is no secret; only words in it may look like one (nonces).
_CHALLENGES = frozenset({"www-authenticate", "proxy-authenticate"})
_SECRET_WORDS = frozenset({"auth", "key", "pass", "pwd", "session", "sessionid", "sid", "sig", "signature"})
# They hold long words that are no tokens.
_PLAIN_HEADERS = frozenset({"accept", "content-type", "host", "user-agent"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# What is filled in for each request stands in braces.
_TEMPLATE = re.compile(r"\{[^{}]*\}")
_PARAMETER = re.compile(r"[^&;#\s]+")
_RUN = re.compile(r"[\w+/=~-]{24,}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.")
# In a form or in JSON.
_IN_BODY = re.compile(r"([\w.-]+)\"?\s*[=:]\s*\"?([^\"&\s,}]+)")
_CHALLENGE_WORD = re.compile(r"[^\s\",=]+=*")
_USER = re.compile(r"(?<=://)[^/?#@\s]*@")
# A shorter one may stand in an answer by chance.
_SEARCHED_MIN = 6


def load(whole: "Load") -> "Load":
    """The same without them. Its command is masked where it is made."""
    return replace(whole, record=record(whole.record), url=url(whole.url))


def record(whole: TrialRecord) -> TrialRecord:
    """The same without them."""
    secrets = {
        secret
        for each in whole.spec.requests
        for secret in _secrets_of(each.path, each.headers, each.body or "")
    }
    kinds = tuple(_kind(each, secrets) for each in whole.requests)
    return whole.model_copy(update={"spec": spec(whole.spec), "requests": kinds})


def spec(whole: TrialSpec) -> TrialSpec:
    """The same without them."""
    requests = tuple(
        each.model_copy(
            update={
                "name": url(each.name),
                "path": url(each.path),
                "headers": tuple((name, header(name, value)) for name, value in each.headers),
                "body": None if each.body is None else body(each.body),
            }
        )
        for each in whole.requests
    )
    return whole.model_copy(update={"label": url(whole.label), "requests": requests})


def url(text: str) -> str:
    """A URL, a path, or a line that holds one, without its user and the secrets of its query."""
    before, mark, query = _USER.sub(f"{MASK}@", text).partition("?")
    return before + mark + _PARAMETER.sub(lambda found: _parameter(found[0]), query)


def header(name: str, value: str) -> str:
    """The value of a header, sent or come."""
    if name.lower() in _CHALLENGES:
        return _CHALLENGE_WORD.sub(lambda found: MASK if _looks_like_a_token(found[0]) else found[0], value)
    return MASK if _is_secret(name, value) else url(value)


def body(text: str) -> str:
    """What stands for a body."""
    return f"{MASK} ({numerals.count(len(text.encode(errors='surrogatepass')), 'byte')})"


def arguments(typed: Iterable[str]) -> Iterator[str]:
    """The words of a command line that put a load on."""
    hide: Callable[[str], str] | None = None
    for word in typed:
        flag, equals, value = word.partition("=")
        if hide is not None:
            yield hide(word)
            hide = None
        elif word in _TYPED:
            yield word
            hide = _TYPED[word]
        elif equals and flag in _TYPED:
            yield f"{flag}={_TYPED[flag](value)}"
        elif word[:2] in _TYPED:
            yield word[:2] + _TYPED[word[:2]](word[2:])
        else:
            yield url(word)


def _header_typed(line: str) -> str:
    name, colon, value = line.partition(":")
    written = value.strip()
    shown = header(name.strip(), written)
    return line if shown == written else f"{name}{colon} {shown}"


def _body_typed(text: str) -> str:
    """The name of a file is none of what it holds."""
    return text if text.startswith("@") else body(text)


_TYPED = {"-H": _header_typed, "--header": _header_typed, "-d": _body_typed, "--body": _body_typed}


def _kind(kind: RequestRecord, secrets: set[str]) -> RequestRecord:
    examples = tuple(_example(each, secrets) for each in kind.examples)
    return kind.model_copy(update={"name": url(kind.name), "examples": examples})


def _example(example: Example, of_all: set[str]) -> Example:
    sent, blank, sent_body = example.request.partition("\r\n\r\n")
    # Also as it was filled in for this one.
    first, *lines = sent.split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    secrets = of_all | set(_secrets_of(first, headers, sent_body))
    sides = {
        "request": f"{_head(sent)}{blank}{MASK if sent_body else ''}",
        "head": _head(example.head),
        "body": example.body,
    }
    # The longest first: one may hold another.
    for secret in sorted(secrets, key=len, reverse=True):
        sides = {name: text.replace(secret, MASK) for name, text in sides.items()}
    return example.model_copy(update=sides)


def _head(text: str) -> str:
    """A head as it went over the wire: its first line and its headers."""
    first, *lines = text.split("\r\n")
    return "\r\n".join([url(first), *map(_header_sent, lines)])


def _header_sent(line: str) -> str:
    name, colon, value = line.partition(":")
    return f"{name}: {header(name.strip(), value.strip())}" if colon else line


def _secrets_of(path: str, headers: Iterable[tuple[str, str]], body: str) -> Iterator[str]:
    """What a server may repeat of a request."""
    for value in _masked_values(path, headers, body):
        # Of "Bearer …" the second word alone as well.
        yield from (
            each for each in (value, unquote_plus(value), *value.split()) if len(each) >= _SEARCHED_MIN
        )


def _masked_values(path: str, headers: Iterable[tuple[str, str]], body: str) -> Iterator[str]:
    for written in _PARAMETER.findall(path.partition("?")[2]):
        if _parameter(written) != written:
            yield written.partition("=")[2] or written
    for name, value in headers:
        if _is_secret(name, value):
            yield value
    if body:
        yield body
    for name, value in _IN_BODY.findall(body):
        if _is_secret(name, unquote_plus(value)):
            yield value


def _parameter(written: str) -> str:
    """One of a query: "name=value", or a value alone."""
    name, equals, value = written.partition("=")
    if not equals:
        return MASK if _looks_like_a_token(unquote_plus(written)) else written
    return f"{name}={MASK}" if _is_secret(unquote_plus(name), unquote_plus(value)) else written


def _is_secret(name: str, value: str) -> bool:
    if not _TEMPLATE.sub("", value).strip() or name.lower() in _PLAIN_HEADERS:
        return False
    words = {word.lower() for word in _WORDS.findall(name)}
    named = _SECRET.search(name.lower()) or words & _SECRET_WORDS
    return bool(named) or _looks_like_a_token(value)


def _looks_like_a_token(value: str) -> bool:
    """Long, of letters and digits as nobody writes them: base64, hexadecimal."""
    kinds = ("[a-z]", "[A-Z]", "[0-9]")
    typed = _TEMPLATE.sub(" ", value)
    runs = _RUN.findall(typed)
    return bool(_JWT.search(typed)) or any(
        _HEX.search(run) or all(re.search(kind, run) for kind in kinds) for run in runs
    )
