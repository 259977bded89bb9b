"""Masks the secrets in a command line that starts a load, before it is shown or stored."""

import shlex
from collections.abc import Callable, Iterable, Iterator

from crumple.errors import UsageError
from crumple.words import masked
from crumple.words.masked import MASK


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
            yield masked.url_as_typed(word)


def flag_value(flag: str, value: str) -> str:
    """Return the value of a flag, by its long name, without secrets."""
    return _TYPED.get(flag, masked.url)(value)


def _header_typed(line: str) -> str:
    name, colon, value = line.partition(":")
    written = value.strip()
    shown = masked.header(name.strip(), written)
    return line if shown == written else f"{name}{colon} {shown}"


def names_a_file(text: str) -> bool:
    """Return whether a body as typed names a file. Two of @ begin a text."""
    return text.startswith("@") and not text.startswith("@@")


def _body_typed(text: str) -> str:
    """Mask a body as typed; the name of a file is not masked."""
    return text if names_a_file(text) else masked.body(text)


def _field_typed(text: str) -> str:
    """Mask the value of a field of a form as typed; the name of a file is not masked."""
    name, equals, value = text.partition("=")
    return text if value[:1] in ("@", "<") else f"{name}{equals}{MASK}"


def _value_typed(text: str) -> str:
    """Mask the value of NAME=VALUE if it is secret."""
    name, equals, value = text.partition("=")
    return f"{name}{equals}{MASK if masked.is_secret(name, value) else masked.url(value)}"


def _user_typed(text: str) -> str:
    return text.partition(":")[0] + f":{MASK}"


def _proxy_typed(text: str) -> str:
    before, at, host = text.rpartition("@")
    return f"{before.partition('://')[0] + '://' if '://' in before else ''}{MASK}@{host}" if at else text


def _parameter_typed(text: str) -> str:
    return "".join(map(masked.parameter, text.partition("+") if text.startswith("+") else [text]))


def _curl_typed(text: str) -> str:
    """Mask a command of curl; the name of a file with one is not masked."""
    if text == "-" or text.startswith("@"):
        return text
    # Imported here because few loads come from curl.
    from crumple.typed import curl_command

    words = ["curl"]
    try:
        for name, value in curl_command.options(text, lambda _: MASK):
            hide = _OF_CURL.get(name, masked.url)
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
    "--from": masked.load_host,
    "-x": _proxy_typed,
    "--proxy": _proxy_typed,
}
