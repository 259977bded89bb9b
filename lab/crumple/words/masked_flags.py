"""Masks the secrets in the flags of a command before it is shown or stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from crumple.words import masked
from crumple.words.masked import MASK

Hide = Callable[[str], str]


def arguments(typed: Iterable[str], hidden_by: Mapping[str, Hide] | None = None) -> Iterator[str]:
    """Return the words of a command without secrets.

    `hidden_by`: what masks the value of a flag; by default a command of curl is masked whole.
    """
    hide, flags = None, MASKS if hidden_by is None else hidden_by
    for word in typed:
        flag, equals, value = word.partition("=")
        if hide is not None:
            yield hide(word)
            hide = None
        elif word in flags:
            yield word
            hide = flags[word]
        elif equals and flag in flags:
            yield f"{flag}={flags[flag](value)}"
        elif word[:2] in flags:
            yield word[:2] + flags[word[:2]](word[2:])
        else:
            yield masked.url_as_typed(word)


def header(line: str) -> str:
    """Mask the value of a header as typed."""
    name, colon, value = line.partition(":")
    written = value.strip()
    shown = masked.header(name.strip(), written)
    return line if shown == written else f"{name}{colon} {shown}"


def names_a_file(text: str) -> bool:
    """Return whether a body as typed names a file. Two of @ begin a text."""
    return text.startswith("@") and not text.startswith("@@")


def body(text: str) -> str:
    """Mask a body as typed; the name of a file is not masked."""
    return text if names_a_file(text) else masked.body(text)


def field(text: str) -> str:
    """Mask the value of a field of a form as typed; the name of a file is not masked."""
    name, equals, value = text.partition("=")
    return text if value[:1] in ("@", "<") else f"{name}{equals}{MASK}"


def setting(text: str) -> str:
    """Mask the value of NAME=VALUE if it is secret."""
    name, equals, value = text.partition("=")
    return f"{name}{equals}{MASK if masked.is_secret(name, value) else masked.url(value)}"


def user(text: str) -> str:
    """Mask the password of USER:PASSWORD."""
    return text.partition(":")[0] + f":{MASK}"


def proxy(text: str) -> str:
    """Mask the user in the address of a proxy."""
    before, at, host = text.rpartition("@")
    return f"{before.partition('://')[0] + '://' if '://' in before else ''}{MASK}@{host}" if at else text


def parameter(text: str) -> str:
    """Mask the value of a parameter of the query."""
    return "".join(map(masked.parameter, text.partition("+") if text.startswith("+") else [text]))


def hidden(_: str) -> str:
    """Mask all of it."""
    return MASK


MASKS: Mapping[str, Hide] = {
    "--curl": hidden,
    "-H": header,
    "--header": header,
    "--proxy-header": header,
    "-d": body,
    "--body": body,
    "-F": field,
    "--form": field,
    "-a": user,
    "--basic-auth": user,
    "--try": setting,
    "--from": masked.load_host,
    "-x": proxy,
    "--proxy": proxy,
}
