"""Escapes characters that act on a terminal or mislead a reader, in text from elsewhere such as an answer.

Markup is not escaped here: rich's `Text` and the templates do that.
"""

import re
import unicodedata


def shown(text: str) -> str:
    """The text on one line, with an escape such as \\x1b for each character that acts or is invisible."""
    return "".join(each if _is_plain(each) else _escaped(each) for each in text)


def shown_lines(text: str) -> list[str]:
    """Each line as `shown`; tabs become spaces, and a carriage return at the end of a line is left out."""
    return [shown(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def _is_plain(letter: str) -> bool:
    # isprintable() is False for all spaces but the ordinary one; those of other widths do no harm.
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# Characters that move the cursor, set the title or change the direction of writing; and surrogates, which no
# encoding accepts. Line ends and tabs are not among them.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def acts(text: str) -> bool:
    """Whether `shown_text` would change it."""
    return _ACTS.search(text) is not None


def shown_text(text: str) -> str:
    """A text of several lines, with such characters escaped, for a terminal or a file. Idempotent."""
    return _ACTS.sub(lambda found: _escaped(found[0]), text)


def shown_json(document: str) -> str:
    """A JSON document with such characters as JSON escapes; they occur in strings only, so the data stay."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
