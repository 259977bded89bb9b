"""Text from elsewhere, such as what a server answered, made fit to be shown: nothing in it acts on a reader.

Markup is the format's own to escape: rich's `Text` and the templates do.
"""

import re
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


# What moves the cursor, sets the title, turns the direction of writing; and halves of characters, which no
# encoding takes. Ends of lines and tabs are a text's own.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def acts(text: str) -> bool:
    """Whether `shown_text` would change it."""
    return _ACTS.search(text) is not None


def shown_text(text: str) -> str:
    """A whole text, of many lines, fit to leave for a terminal or a file. Twice is as good as once."""
    return _ACTS.sub(lambda found: _escaped(found[0]), text)


def shown_json(document: str) -> str:
    """The same for JSON, where such characters stand in strings only: the data stay what they are."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
