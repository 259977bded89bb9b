"""Masks the secrets in a load's requests before it is shown or written, and in the command that repeats it.

Masked are values of headers and of the query that look like a token or whose name says that they are secret,
and the user in a URL. Bodies that were sent are masked whole, since any word may be a secret. Where a server
repeats one of these it is masked as well, and so are the server's cookies.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from crumple.contract import BodyPart, Example, Request, RequestRecord, Target, TrialRecord, TrialSpec
from crumple.drawing import numerals
from crumple.errors import UsageError

if TYPE_CHECKING:
    from crumple.load.report.load_figures import Load

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
# A shorter secret may occur in an answer by chance, so it is not searched for.
_SEARCHED_MIN = 6
# Values that were taken from the environment.
_FILLED: set[str] = set()


def hide(values: Iterable[str]) -> None:
    """Mask these values from now on, wherever a request holds them but in the name of its host."""
    _FILLED.update(filter(None, values))


def load(whole: "Load") -> "Load":
    """Return the load without secrets. Its command is masked where it is made."""
    return replace(whole, record=record(whole.record), url=url(whole.url))


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


def _texts(request: Request) -> list[str]:
    return [part.text for part in request.body_parts or () if part.text]


def _part(part: BodyPart) -> BodyPart:
    return part if part.text is None else BodyPart(text=body(part.text))


def _target(target: Target) -> Target:
    if target.proxy is None:
        return target
    headers = tuple((name, header(name, value)) for name, value in target.proxy.headers)
    return target.model_copy(update={"proxy": target.proxy.model_copy(update={"headers": headers})})


def request(whole: Request) -> Request:
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
    before, mark, query = _url_as_typed(text).partition("?")
    host = _HOST.match(before)
    begins = host.end() if host else 0
    return before[:begins] + without_filled(before[begins:]) + mark + query


def without_filled(text: str) -> str:
    """Return the text without values that were taken from the environment."""
    for value in sorted(_FILLED, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _url_as_typed(text: str) -> str:
    before, mark, query = _USER.sub(f"{MASK}@", text).partition("?")
    return before + mark + _PARAMETER.sub(lambda found: _parameter(found[0]), query)


def header(name: str, value: str) -> str:
    """Return the value of a header, sent or received, without secrets."""
    if name.lower() in _CHALLENGES:
        return _CHALLENGE_WORD.sub(lambda found: MASK if _looks_like_a_token(found[0]) else found[0], value)
    return MASK if is_secret(name, value) else url(value)


def body(text: str) -> str:
    """Return what is shown in place of a body: the mask and its length."""
    return f"{MASK} ({numerals.count(len(text.encode(errors='surrogatepass')), 'byte')})"


def arguments(typed: Iterable[str]) -> Iterator[str]:
    """Return the words of a command line that started a load, without secrets."""
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
            yield _url_as_typed(word)


def typed(flag: str, value: str) -> str:
    """Return the value of a flag, by its long name, without secrets."""
    return _TYPED.get(flag, url)(value)


def secrets_in(sent: str) -> Iterator[str]:
    """Return the names of the secrets in a body, empty for one without a name."""
    yield from (name for name, value in _IN_BODY.findall(sent) if is_secret(name, unquote_plus(value)))
    if _looks_like_a_token(sent) or _is_filled(sent):
        yield ""


def _header_typed(line: str) -> str:
    name, colon, value = line.partition(":")
    written = value.strip()
    shown = header(name.strip(), written)
    return line if shown == written else f"{name}{colon} {shown}"


def names_a_file(text: str) -> bool:
    """Return whether a body as typed names a file. Two of @ begin a text."""
    return text.startswith("@") and not text.startswith("@@")


def _body_typed(text: str) -> str:
    """Mask a body as typed; the name of a file is not masked."""
    return text if names_a_file(text) else body(text)


def _field_typed(text: str) -> str:
    """Mask the value of a field of a form as typed; the name of a file is not masked."""
    name, equals, value = text.partition("=")
    return text if value[:1] in ("@", "<") else f"{name}{equals}{MASK}"


def _value_typed(text: str) -> str:
    """Mask the value of NAME=VALUE if it is secret."""
    name, equals, value = text.partition("=")
    return f"{name}{equals}{MASK if is_secret(name, value) else url(value)}"


def _user_typed(text: str) -> str:
    return text.partition(":")[0] + f":{MASK}"


def _proxy_typed(text: str) -> str:
    before, at, host = text.rpartition("@")
    return f"{before.partition('://')[0] + '://' if '://' in before else ''}{MASK}@{host}" if at else text


def _parameter_typed(text: str) -> str:
    return "".join(map(_parameter, text.partition("+") if text.startswith("+") else [text]))


def _curl_typed(text: str) -> str:
    """Mask a command of curl; the name of a file with one is not masked."""
    if text == "-" or text.startswith("@"):
        return text
    # Imported here because few loads come from curl.
    from crumple.load import curl_command

    words = ["curl"]
    try:
        for name, value in curl_command.options(text, lambda _: MASK):
            hide = _OF_CURL.get(name, url)
            words += [name, hide(value)] if value else [name]
    except UsageError:
        # A file that it named is gone.
        return f"curl {MASK}"
    return shlex.join(words)


def _hidden(_: str) -> str:
    return MASK


_OF_CURL: dict[str, Callable[[str], str]] = {
    "--header": _header_typed,
    "--proxy-header": _header_typed,
    **dict.fromkeys(("--data", "--data-ascii", "--data-binary", "--json"), _body_typed),
    **dict.fromkeys(("--data-raw", "--data-urlencode", "--cookie", "--oauth2-bearer"), _hidden),
    "--form": _field_typed,
    "--form-string": _hidden,
    "--user": _user_typed,
    "--proxy-user": _user_typed,
    **dict.fromkeys(("--proxy", "--proxy1.0"), _proxy_typed),
    "--url-query": _parameter_typed,
}
_TYPED = {
    "--curl": _curl_typed,
    "-H": _header_typed,
    "--header": _header_typed,
    "--proxy-header": _header_typed,
    "-d": _body_typed,
    "--body": _body_typed,
    "-F": _field_typed,
    "--form": _field_typed,
    "-a": _user_typed,
    "--basic-auth": _user_typed,
    "--try": _value_typed,
    "-x": _proxy_typed,
    "--proxy": _proxy_typed,
}


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
        if _parameter(written) != written:
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


def _parameter(written: str) -> str:
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
