"""Which parts of a request may name a key (a session, a user, a row), and the request with one varied. Pure.

Only parts that the request has: a number in its path or query, a value of its Cookie, and a header whose
value looks like an id. What may be a credential is left as it is: a wrong one may lock a user out. So is a
request that may change something: with another key it would change what nobody named.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crumple.contract import RequestSpec

# The number of different keys. With 32 in flight, 28 of these are different at a time, on average. It is
# bounded since a server may keep something for each.
KEYS = 128
# Letters, digits and what ids are divided by; with a digit, as words have none.
_ID = re.compile(r"(?=.*\d)[\w-]{6,}", re.ASCII)
_NUMBER = re.compile(r"[1-9]\d{0,14}")
_SAFE = ("GET", "HEAD")
# A number that is all of a part of the path, or of a value of the query.
_IN_PATH = re.compile(r"(?<=/)[1-9]\d{0,14}(?=[/?]|$)")
_IN_QUERY = re.compile(r"(?<=[?&])([^=&]+)=([1-9]\d{0,14})(?=&|$)")
_IN_COOKIE = re.compile(r"(?<![^;\s])([^=;\s]+)=([^;\s]*)")
_CREDENTIAL = re.compile(r"auth|token|jwt|secret|passw|csrf|xsrf|api-?key|signature", re.IGNORECASE)
# Headers that name no key, though their values may look so.
_STANDARD = re.compile(
    r"accept.*|user-agent|content-.*|if-.*|range|host|connection|te|dnt|cache-control|pragma|priority|date|via|"
    r"expect|origin|referer|upgrade.*|sec-.*|forwarded|x-forwarded-.*|x-real-ip|traceparent|max-forwards",
    re.IGNORECASE,
)
# How many digits take the place of the end of an id, whose length and letters stay as they are; and the least
# number with that many digits.
_DIGITS, _LEAST = 3, 100


@dataclass(frozen=True)
class KeyPart:
    """A part of requests that may name a key, in words, and the requests with it varied."""

    name: str
    requests: tuple[RequestSpec, ...]


def parts(requests: Sequence[RequestSpec]) -> tuple[KeyPart, ...]:
    """Return the parts that may name a key. Requests without that part stay as they are.

    None of a request that varies already: what its user wants varied is.
    """
    varied = [dict(_varied(each)) for each in requests]
    names = dict.fromkeys(name for each in varied for name in each)
    return tuple(
        KeyPart(name, tuple(found.get(name, plain) for plain, found in zip(requests, varied, strict=True)))
        for name in names
    )


def _varied(request: RequestSpec) -> Iterator[tuple[str, RequestSpec]]:
    """Each part of a request, in words, and the request with it varied."""
    if request.varies or request.method not in _SAFE:
        return
    plain = _as_template(request)
    path, _, query = plain.path.partition("?")
    for place, found in enumerate(_IN_PATH.finditer(path), start=1):
        changed = _put(plain.path, found.span(), _near(found[0]))
        yield f"number {place} of the path", plain.model_copy(update={"path": changed})
    if query:
        for found in _IN_QUERY.finditer(plain.path):
            changed = _put(plain.path, found.span(2), _near(found[2]))
            yield f"{found[1]} of the query", plain.model_copy(update={"path": changed})
    for at, (name, value) in enumerate(plain.headers):
        for part, changed in _of_header(name, value):
            headers = (*plain.headers[:at], (name, changed), *plain.headers[at + 1 :])
            yield part, plain.model_copy(update={"headers": headers})


def _of_header(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Each part of a header, in words, and the header's value with it varied."""
    if name.lower() == "cookie":
        for found in _IN_COOKIE.finditer(value):
            if not _CREDENTIAL.search(found[1]) and (key := _other(found[2])):
                yield f"{found[1]} of Cookie", _put(value, found.span(2), key)
    elif not _STANDARD.fullmatch(name) and not _CREDENTIAL.search(name) and (key := _other(value)):
        yield f"header {name}", key


def _other(value: str) -> str:
    """Return a template of values like this one; empty: it looks like none of a key."""
    if _NUMBER.fullmatch(value):
        return _near(value)
    if _ID.fullmatch(value):
        return f"{value[:-_DIGITS]}{{random:{_LEAST}-{_LEAST + KEYS - 1}}}"
    return ""


def _near(number: str) -> str:
    """Return a template of numbers near this one: they may exist, too, and are about as large an amount."""
    highest = max(int(number), KEYS)
    return f"{{random:{highest - KEYS + 1}-{highest}}}"


def _as_template(request: RequestSpec) -> RequestSpec:
    """Return the request as a template that stands for itself: a brace that is text is doubled."""

    def doubled(text: str) -> str:
        return text.replace("{", "{{")

    body_parts = request.body_parts and tuple(
        each if each.text is None else each.model_copy(update={"text": doubled(each.text)})
        for each in request.body_parts
    )
    changed = {
        "path": doubled(request.path),
        "headers": tuple((name, doubled(value)) for name, value in request.headers),
        "body": None if request.body is None else doubled(request.body),
        "body_parts": body_parts,
        "varies": True,
    }
    return request.model_copy(update=changed)


def _put(text: str, span: tuple[int, int], instead: str) -> str:
    return text[: span[0]] + instead + text[span[1] :]
