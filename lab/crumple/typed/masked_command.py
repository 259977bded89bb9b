"""Masks the secrets in a command line that starts a load, with those in a command of curl."""

import shlex
from collections.abc import Callable, Iterable, Iterator

from crumple.errors import UsageError
from crumple.words import masked, masked_flags
from crumple.words.masked import MASK


def arguments(typed: Iterable[str]) -> Iterator[str]:
    """Return the words of a command line that started a load, without secrets."""
    return masked_flags.arguments(typed, _TYPED)


def flag_value(flag: str, value: str) -> str:
    """Return the value of a flag, by its long name, without secrets."""
    return _TYPED.get(flag, masked.url)(value)


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


_OF_CURL: dict[str, Callable[[str], str]] = {
    "--header": masked_flags.header,
    "--proxy-header": masked_flags.header,
    **dict.fromkeys(("--data", "--data-ascii", "--data-binary", "--json"), masked_flags.body),
    **dict.fromkeys(("--data-raw", "--data-urlencode", "--cookie", "--oauth2-bearer"), masked_flags.hidden),
    "--form": masked_flags.field,
    "--form-string": masked_flags.hidden,
    "--user": masked_flags.user,
    "--proxy-user": masked_flags.user,
    **dict.fromkeys(("--proxy", "--proxy1.0"), masked_flags.proxy),
    "--url-query": masked_flags.parameter,
}
_TYPED = {**masked_flags.MASKS, "--curl": _curl_typed}
