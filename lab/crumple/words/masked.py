"""Masks the secrets in a load's requests before it is shown or written.

Masked are values of headers and of the query that look like a token or whose name says that they are secret,
and the user in a URL. Bodies that were sent are masked whole, since any word may be a secret. Where a server
repeats one of these it is masked as well, and so are the server's cookies.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_plus

from crumple.contract import BodyPartSpec, Example, RequestRecord, RequestSpec, Target, TrialRecord, TrialSpec
from crumple.drawing import numerals

MASK = "…"

# Parts that make a name secret wherever they occur in it. _SECRET_WORDS do so only as whole words: "author"
# is not secret.
_SECRET = re.compile(
    "token|secret|passw|passphrase|credential|apikey|jwt|cookie|csrf|xsrf|authoriz|authentic"
)
# A server's challenge is not secret; only words in it that look like a token (nonces) are masked.
_CHALLENGES = frozenset({"www-authenticate", "proxy-authenticate"})
_SECRET_WORDS = frozenset({"auth", "key", "pass", "pwd", "session", "sessionid", "sid", "sig", "signature"})
# These headers hold long words that are not tokens.
_PLAIN_HEADERS = frozenset({"accept", "content-type", "host", "user-agent"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# A value that the engine fills in for each request, in braces.
_TEMPLATE = re.compile(r"\{[^{}]*\}")
_PARAMETER = re.compile(r"[^&;#\s]+")
_RUN = re.compile(r"[\w+/=~-]{24,}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.")
# A name and its value in a form or in JSON.
_IN_BODY = re.compile(r"([\w.-]+)\"?\s*[=:]\s*\"?([^\"&\s,}]+)")
_CHALLENGE_WORD = re.compile(r"[^\s\",=]+=*")
_HOST = re.compile(r"(?:[A-Z]+ )?[a-z]+://[^/?#]*")
_USER = re.compile(r"(?<=://)[^/?#@\s]*@")
# The fewest characters of a secret that is searched for: a shorter one may occur in an answer by chance.
_SEARCHED_MIN = 6
# Values that were taken from the environment.
_FILLED: set[str] = set()


def hide(values: Iterable[str]) -> None:
    """Mask these values from now on, wherever a request holds them but in the name of its host."""
    _FILLED.update(filter(None, values))


def record(whole: TrialRecord) -> TrialRecord:
    """Return the record without secrets."""
    secrets = {
        secret
        for each in whole.spec.requests
        for text in (each.body or "", *_texts(each))
        for secret in _secrets_of(each.path, each.headers, text)
    }
    kinds = tuple(_kind(each, secrets) for each in whole.requests)
    return whole.model_copy(update={"spec": spec(whole.spec), "requests": kinds})


def spec(whole: TrialSpec) -> TrialSpec:
    """Return the spec without secrets."""
    requests = tuple(map(request, whole.requests))
    masked = {"label": url(whole.label), "requests": requests, "target": _target(whole.target)}
    return whole.model_copy(update=masked)


def _texts(request: RequestSpec) -> list[str]:
    return [part.text for part in request.body_parts or () if part.text]


def _part(part: BodyPartSpec) -> BodyPartSpec:
    return part if part.text is None else BodyPartSpec(text=body(part.text))


def _target(target: Target) -> Target:
    if target.proxy is None:
        return target
    headers = tuple((name, header(name, value)) for name, value in target.proxy.headers)
    return target.model_copy(update={"proxy": target.proxy.model_copy(update={"headers": headers})})


def request(whole: RequestSpec) -> RequestSpec:
    """Return the request without secrets."""
    return whole.model_copy(
        update={
            "name": url(whole.name),
            "path": url(whole.path),
            "headers": tuple((name, header(name, value)) for name, value in whole.headers),
            "body": None if whole.body is None else body(whole.body),
            "body_parts": whole.body_parts and tuple(_part(part) for part in whole.body_parts),
        }
    )


def url(text: str) -> str:
    """Return a URL, a path, or a line with one, without the user and the secrets of path and query."""
    before, mark, query = url_as_typed(text).partition("?")
    host = _HOST.match(before)
    begins = host.end() if host else 0
    return before[:begins] + without_filled(before[begins:]) + mark + query


def without_filled(text: str) -> str:
    """Return the text without values that were taken from the environment."""
    for value in sorted(_FILLED, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def url_as_typed(text: str) -> str:
    """Return what `url` does, but for values from the environment, which were not typed."""
    before, mark, query = _USER.sub(f"{MASK}@", text).partition("?")
    return before + mark + _PARAMETER.sub(lambda found: parameter(found[0]), query)


def header(name: str, value: str) -> str:
    """Return the value of a header, sent or received, without secrets."""
    if name.lower() in _CHALLENGES:
        return _CHALLENGE_WORD.sub(lambda found: MASK if _looks_like_a_token(found[0]) else found[0], value)
    return MASK if is_secret(name, value) else url(value)


def load_host(text: str) -> str:
    """Return what --from names without secrets, which may be among the words of a command."""
    if " " not in text.strip():
        return text
    try:
        words = shlex.split(text)
    except ValueError:
        return MASK
    masks, before = [], ""
    for word in words:
        name, equals, value = word.partition("=")
        follows = before.startswith("-") and not word.startswith("-") and is_secret(before, word)
        masks.append(MASK if follows else f"{name}={MASK}" if equals and is_secret(name, value) else word)
        before = word
    return text if masks == words else shlex.join(masks).replace(shlex.quote(MASK), MASK)


def body(text: str) -> str:
    """Return what is shown in place of a body: the mask and its length."""
    return f"{MASK} ({numerals.count(len(text.encode(errors='surrogatepass')), 'byte')})"


def secrets_in(sent: str) -> Iterator[str]:
    """Return the names of the secrets in a body, empty for one without a name."""
    yield from (name for name, value in _IN_BODY.findall(sent) if is_secret(name, unquote_plus(value)))
    if _looks_like_a_token(sent) or _is_filled(sent):
        yield ""


def _kind(kind: RequestRecord, secrets: set[str]) -> RequestRecord:
    examples = tuple(_example(each, secrets) for each in kind.examples)
    return kind.model_copy(update={"name": url(kind.name), "examples": examples})


def _example(example: Example, of_all: set[str]) -> Example:
    sent, blank, sent_body = example.request.partition("\r\n\r\n")
    # Also search for the secrets as they were filled in for this example.
    first, *lines = sent.split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    secrets = of_all | set(_secrets_of(first, headers, sent_body))
    sides = {
        "request": f"{_head(sent)}{blank}{MASK if sent_body else ''}",
        "head": _head(example.head),
        "body": example.body,
    }
    # Replace the longest first, since one secret may contain another.
    for secret in sorted(secrets, key=len, reverse=True):
        sides = {name: text.replace(secret, MASK) for name, text in sides.items()}
    return example.model_copy(update=sides)


def _head(text: str) -> str:
    """Mask a head as it went over the wire: its first line and its headers."""
    first, *lines = text.split("\r\n")
    return "\r\n".join([url(first), *map(_header_sent, lines)])


def _header_sent(line: str) -> str:
    name, colon, value = line.partition(":")
    return f"{name}: {header(name.strip(), value.strip())}" if colon else line


def _secrets_of(path: str, headers: Iterable[tuple[str, str]], body: str) -> Iterator[str]:
    """The secrets of a request that a server may repeat."""
    for value in _masked_values(path, headers, body):
        # The server may repeat the second word of "Bearer …" alone.
        yield from (
            each for each in (value, unquote_plus(value), *value.split()) if len(each) >= _SEARCHED_MIN
        )


def _masked_values(path: str, headers: Iterable[tuple[str, str]], body: str) -> Iterator[str]:
    for written in _PARAMETER.findall(path.partition("?")[2]):
        if parameter(written) != written:
            yield written.partition("=")[2] or written
    yield from (value for value in _FILLED if value in path)
    for name, value in headers:
        if is_secret(name, value):
            yield value
    if body:
        yield body
    for name, value in _IN_BODY.findall(body):
        if is_secret(name, unquote_plus(value)):
            yield value


def parameter(written: str) -> str:
    """Mask one parameter of a query: "name=value", or a value alone."""
    name, equals, value = written.partition("=")
    if not equals:
        return MASK if _looks_like_a_token(unquote_plus(written)) else written
    return f"{name}={MASK}" if is_secret(unquote_plus(name), unquote_plus(value)) else written


def is_secret(name: str, value: str) -> bool:
    """Return whether a value is secret, by its name or its look."""
    if _is_filled(value):
        return True
    if not _TEMPLATE.sub("", value).strip() or name.lower() in _PLAIN_HEADERS:
        return False
    words = {word.lower() for word in _WORDS.findall(name)}
    named = _SECRET.search(name.lower()) or words & _SECRET_WORDS
    return bool(named) or _looks_like_a_token(value)


def _is_filled(text: str) -> bool:
    return any(value in text for value in _FILLED)


def _looks_like_a_token(value: str) -> bool:
    """Whether the value holds a JWT, or a long run of letters and digits as in base64 or hexadecimal."""
    kinds = ("[a-z]", "[A-Z]", "[0-9]")
    typed = _TEMPLATE.sub(" ", value)
    runs = _RUN.findall(typed)
    return bool(_JWT.search(typed)) or any(
        _HEX.search(run) or all(re.search(kind, run) for kind in kinds) for run in runs
    )
