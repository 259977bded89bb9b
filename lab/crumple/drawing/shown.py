"""Text from elsewhere, such as what a server answered, made fit to be shown: nothing in it acts on a reader.

Markup is the format's own to escape: rich's `Text` and the templates do.
"""

import unicodedata


def shown(text: str) -> str:
    """The text on one line, with an escape such as \\x1b for each character that would act or hide."""
    return "".join(each if _is_plain(each) else _escaped(each) for each in text)


def shown_lines(text: str) -> list[str]:
    """The same line by line; tabs become spaces, and the carriage return before a line's end is left out."""
    return [shown(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def _is_plain(letter: str) -> bool:
    # No space but the ordinary one counts as printable; those of other widths do no harm.
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
