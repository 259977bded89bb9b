"""Values that vary from request to request: {seq}, {random:1-1000}, {line:FILE}. Found and checked here.

The engine fills them in. All other braces are sent as they are.
"""

import re
from pathlib import Path
from urllib.parse import quote

from crumple.errors import UsageError

# The engine draws numbers of 64 bits, which end here.
RANDOM_MAX = 2**64 - 1
# A value that varies.
PLACE = re.compile(r"\{(seq|random|line)(?::([^{}]*))?\}")
_GRAPHIC = re.compile(rb"[!-~]+")
_RANDOM = re.compile(r"(\d{1,20})-(\d{1,20})")
_AS_IT_IS = "or add --no-vary to send it as it is"


def is_varying(text: str, *, in_path: bool = False) -> bool:
    """Whether the text holds a value that varies. Raises UsageError for an invalid one.

    `in_path`: lines of files must not contain spaces and control characters.
    """
    places = list(PLACE.finditer(text))
    for place in places:
        _check(place, in_path)
    return bool(places)


def files_of(text: str) -> list[str]:
    """Return the names of the files whose lines stand in a text, or in a template made of it."""
    return [place[2] for place in PLACE.finditer(text) if place[1] == "line" and place[2]]


def template(text: str) -> str:
    """Return the text as a template for the engine, in which a literal opening brace is doubled."""
    parts = []
    end = 0
    for place in PLACE.finditer(text):
        parts += [text[end : place.start()].replace("{", "{{"), place[0]]
        end = place.end()
    return "".join([*parts, text[end:].replace("{", "{{")])


def escape(text: str) -> str:
    """Return the text as a template for the engine that stands for itself."""
    return text.replace("{", "{{")


def in_folder(text: str, folder: Path) -> str:
    """Return the text with the files of its {line:FILE} taken from `folder`, if they are relative."""

    def replaced(found: re.Match[str]) -> str:
        return f"{{line:{folder / found[2]}}}" if found[1] == "line" and found[2] else found[0]

    return PLACE.sub(replaced, text)


def _check(found: re.Match[str], in_path: bool) -> None:
    place, kind, argument = found[0], found[1], found[2]
    if kind == "seq" and argument is not None:
        raise UsageError(f"{place}: the sequence takes no argument", f"write {{seq}}, {_AS_IT_IS}")
    if kind == "random":
        ends = _RANDOM.fullmatch(argument or "")
        if ends is None or not int(ends[1]) <= int(ends[2]) <= RANDOM_MAX:
            raise UsageError(
                f"{place}: a random number needs its ends", f"write {{random:1-1000}}, {_AS_IT_IS}"
            )
    if kind == "line":
        _check_lines(place, argument, in_path)


def _check_lines(place: str, file: str | None, in_path: bool) -> None:
    if not file:
        raise UsageError(f"{place}: lines are taken from a file", f"write {{line:FILE}}, {_AS_IT_IS}")
    try:
        lines = [line for line in Path(file).read_bytes().splitlines() if line]
    except OSError as error:
        raise UsageError(f"{place}: cannot read {file}: {error.strerror}", f"check it, {_AS_IT_IS}") from None
    if not lines:
        raise UsageError(f"{place}: {file} has no lines", f"put some into it, {_AS_IT_IS}")
    odd = next((line for line in lines if in_path and not _GRAPHIC.fullmatch(line)), None)
    if odd is not None:
        shown = odd.decode(errors="backslashreplace")
        raise UsageError(f'{place}: "{shown}" cannot stand in a path', f"percent-encode it: {quote(odd)}")
