"""The options of curl: which take a value, which a load heeds, which change nothing, which it cannot do.

`curl_command` gives those that a load heeds their meaning.
"""

from collections.abc import Iterator, Sequence
from typing import NoReturn

from crumple.errors import UsageError

# What a load heeds, by the long name: whether it takes a value, and its letter.
_HEEDED_WITH_VALUE = {
    "--request": "X", "--header": "H", "--data": "d", "--data-ascii": "", "--data-raw": "",
    "--data-binary": "", "--data-urlencode": "", "--json": "", "--form": "F", "--form-string": "",
    "--upload-file": "T", "--cookie": "b", "--user": "u", "--oauth2-bearer": "", "--user-agent": "A",
    "--referer": "e", "--range": "r", "--cacert": "", "--cert": "E", "--key": "", "--proxy": "x",
    "--proxy-user": "U", "--proxy-header": "", "--connect-to": "", "--resolve": "", "--unix-socket": "",
    "--interface": "", "--max-time": "m", "--connect-timeout": "", "--url": "",
}  # fmt: skip
_HEEDED = {
    "--get": "G", "--head": "I", "--compressed": "", "--insecure": "k", "--ipv4": "4", "--ipv6": "6",
    "--globoff": "g", "--location": "L", "--location-trusted": "", "--no-keepalive": "",
}  # fmt: skip
# What only says what curl shows and writes, or what is so anyway.
_WITHOUT_EFFECT = {
    "--silent": "s", "--show-error": "S", "--verbose": "v", "--include": "i", "--show-headers": "",
    "--fail": "f", "--fail-with-body": "", "--fail-early": "", "--no-progress-meter": "",
    "--progress-bar": "#", "--no-buffer": "N", "--remote-name": "O", "--remote-header-name": "J",
    "--remote-time": "R", "--disable": "q", "--path-as-is": "", "--http1.1": "", "--basic": "",
    "--tlsv1": "1", "--tlsv1.0": "", "--tlsv1.1": "", "--tlsv1.2": "", "--tcp-nodelay": "",
    "--ssl-no-revoke": "", "--styled-output": "", "--create-dirs": "", "--junk-session-cookies": "j",
    "--proxy-basic": "", "--retry-all-errors": "", "--retry-connrefused": "",
}  # fmt: skip
_WITHOUT_EFFECT_WITH_VALUE = {
    "--output": "o", "--output-dir": "", "--write-out": "w", "--dump-header": "D", "--stderr": "",
    "--trace": "", "--trace-ascii": "", "--cookie-jar": "c", "--retry": "", "--retry-delay": "",
    "--retry-max-time": "", "--keepalive-time": "",
}  # fmt: skip
# What a load cannot do, with what can be done instead.
_ONLY_1_1 = "a load speaks HTTP/1.1 only; leave it out"
_ONE = "one load has one URL; for several requests write --request-file FILE"
_AUTH = "a load knows Basic and Bearer; write what the server expects as -H 'Authorization: …'"
_TLS = "TLS 1.2 or 1.3 is agreed on with the server; leave it out"
_HTTP_PROXY = "only an HTTP proxy is gone through: -x"
_KEY = "a key is taken from a file in PEM form, not encrypted"
_REFUSED = {
    "--http1.0": ("0", _ONLY_1_1), "--http2": ("", _ONLY_1_1), "--http2-prior-knowledge": ("", _ONLY_1_1),
    "--http3": ("", _ONLY_1_1), "--http3-only": ("", _ONLY_1_1), "--http0.9": ("", _ONLY_1_1),
    "--next": (":", _ONE), "--parallel": ("Z", _ONE), "--remote-name-all": ("", _ONE),
    "--digest": ("", _AUTH), "--ntlm": ("", _AUTH), "--negotiate": ("", _AUTH), "--anyauth": ("", _AUTH),
    "--netrc": ("n", _AUTH), "--netrc-file": ("", _AUTH), "--netrc-optional": ("", _AUTH),
    "--aws-sigv4": ("", "requests are not signed; write the signature's headers with -H"),
    "--config": ("K", "options are not read from a file; write them into the command"),
    "--tlsv1.3": ("", _TLS), "--tls-max": ("", _TLS), "--ciphers": ("", _TLS), "--tls13-ciphers": ("", _TLS),
    "--pass": ("", _KEY), "--cert-type": ("", _KEY), "--key-type": ("", _KEY),
    "--proxytunnel": ("p", "to http a proxy is asked without a tunnel; leave it out"),
    "--socks4": ("", _HTTP_PROXY), "--socks5": ("", _HTTP_PROXY), "--socks5-hostname": ("", _HTTP_PROXY),
    "--proxy-insecure": ("", "a proxy is spoken to in plain HTTP; leave it out"),
    "--noproxy": ("", "leave out -x for a URL that needs no proxy"),
    "--limit-rate": ("", "bytes are not slowed down; the rate of requests is --rate, beside --curl"),
    "--continue-at": ("C", "write -H 'Range: bytes=N-'"),
    "--time-cond": ("z", "write -H 'If-Modified-Since: …'"),
}  # fmt: skip

HEEDED_WITH_VALUE, HEEDED = frozenset(_HEEDED_WITH_VALUE), frozenset(_HEEDED)
_VALUED = {*_HEEDED_WITH_VALUE, *_WITHOUT_EFFECT_WITH_VALUE}
_KNOWN = _HEEDED_WITH_VALUE | _HEEDED | _WITHOUT_EFFECT | _WITHOUT_EFFECT_WITH_VALUE
_BY_LETTER = {letter: name for name, letter in _KNOWN.items() if letter} | {
    letter: name for name, (letter, _) in _REFUSED.items() if letter
}
# What the URL of a command stands under.
URL = "--url"


def read(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options behind `curl` by their long names, each with its value or "". Raises UsageError."""
    left = iter(words)
    for word in left:
        if word.startswith("--") and len(word) > 2:
            yield _long(word), _value(word, left) if word in _VALUED else ""
        elif word.startswith("-") and len(word) > 1 and word != "--":
            yield from _short(word[1:], left)
        elif word != "--":
            yield URL, word


def _short(letters: str, left: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a word such as "-sXPOST"."""
    for at, letter in enumerate(letters):
        name = _BY_LETTER.get(letter)
        if name is None or name in _REFUSED:
            _refuse(f"-{letter}", name)
        if name in _VALUED:
            behind = letters[at + 1 :]
            yield name, behind or _value(f"-{letter}", left)
            return
        yield name, ""


def _long(name: str) -> str:
    if name in _REFUSED or name not in _KNOWN:
        _refuse(name, name if name in _REFUSED else None)
    return name


def _refuse(typed: str, name: str | None) -> NoReturn:
    if name is None:
        raise UsageError(
            f"--curl: curl's {typed} is not known here", "leave it out if the request does not need it"
        )
    raise UsageError(f"--curl: curl's {typed} cannot be done", _REFUSED[name][1])


def _value(typed: str, left: Iterator[str]) -> str:
    value = next(left, None)
    if value is None:
        raise UsageError(f"--curl: curl's {typed} lacks its value", "copy the whole command")
    return value
