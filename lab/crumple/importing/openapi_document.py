"""An OpenAPI or Swagger document as JSON or YAML → tables, lists, texts and numbers as JSON has them.

Plain values of YAML are read by the core schema of YAML 1.2, so dates, 12:30, 1_000 and yes are texts. What
YAML has beside JSON is gone: dates are texts, and keys are texts as they are written. Parts that are
named twice by YAML's anchors stay one part, so that they take no more room than their text; such a part may
hold itself.

By YAML's anchors a few bytes may name a large part once more, so the steps that a whole document takes are
bounded: to find parts, where a $ref leads, to make examples, to check them and to write them.
"""

import json
import math
import re
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import yaml

from crumple.errors import FileInvalid, Problem
from crumple.importing.json_values import as_written, text

# Bytes of a document that is read, 32 MiB; a longer one is to be split.
BYTES_MAX = 32 << 20
# Levels of a document: more than any has, and fewer than Python can go down.
DEPTH_MAX = 200
# Entries that `<<` may bring into all tables together: each may bring what another has brought.
MERGED_MAX = 50_000
# Bits of a whole number; a longer one takes long to write.
_WHOLE_BITS_MAX = 1024
# A lone surrogate: JSON can escape it, and UTF-8 cannot encode it.
_HALF = re.compile("[\ud800-\udfff]")
# The one in C is ten times as fast.
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_MERGE, _WHOLE = f"{_TAG}merge", f"{_TAG}int"
_FRACTION = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
# A plain value has the first tag whose pattern it fits: the core schema of YAML 1.2, and `<<` of 1.1. With
# the letters that it may begin with.
_PATTERNS = {
    _WHOLE: ("-+0123456789", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    f"{_TAG}float": ("-+.0123456789", rf"{_FRACTION}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    f"{_TAG}bool": ("tTfF", "true|True|TRUE|false|False|FALSE"),
    f"{_TAG}null": (("~", "n", "N", ""), "~|null|Null|NULL|"),
    _MERGE: ("<", "<<"),
}
_BASES = {"0o": 8, "0x": 16}
# What PyYAML raises where a value does not fit its tag, as in `!!bool 5`.
_UNFIT = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError)


def read(stream: IO[bytes], file: Path) -> dict[str, Any]:
    """Return the document. Raises FileInvalid."""
    whole = stream.read(BYTES_MAX + 1)
    if len(whole) > BYTES_MAX:
        raise _invalid(file, f"is longer than {BYTES_MAX >> 20} MiB", "split it by paths")
    try:
        is_json = whole.lstrip().startswith(b"{")
        found = _plain(_of_json(whole) if is_json else yaml.load(whole, _Loader), {}, 0)
    except (_TooDeepError, RecursionError):
        raise _invalid(
            file, f"is nested more than {DEPTH_MAX} deep", "move inner parts out by $ref"
        ) from None
    except _UNFIT:
        raise _invalid(file, "is no YAML: a value does not fit its tag", "leave out tags (!!)") from None
    except (ValueError, yaml.YAMLError) as error:
        raise _invalid(file, f"is neither JSON nor YAML: {_where(error)}", "mend it") from None
    if not isinstance(found, dict) or not {"openapi", "swagger"} & set(found):
        remedy = "say what it is instead: --from har, urls, vegeta, vegeta-json or access-log"
        raise _invalid(file, "is no OpenAPI document: it has no openapi (or swagger) at its top", remedy)
    return found


def _of_json(whole: bytes) -> Any:
    return json.loads(whole, parse_float=lambda written: as_written(float(written), written))


def _invalid(file: Path, what: str, remedy: str) -> FileInvalid:
    return FileInvalid([Problem(file, "", what, remedy)])


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    said = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else str(error)
    return said.strip().partition("\n")[0]


class _TooDeepError(Exception):
    """A part lies deeper than DEPTH_MAX."""


class _Loader(_BASE):  # type: ignore[misc]  # its type is known only when it runs
    """Reads YAML by the core schema of YAML 1.2.

    Its depth is bounded, and what `<<` brings, too: each may bring what another brought.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._depth = self._merged = 0

    def descend_resolver(self, *_: Any) -> None:
        """Begin a part. Raises _TooDeepError: PyYAML's own code in C would crash."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _TooDeepError

    def ascend_resolver(self) -> None:
        """End a part."""
        self._depth -= 1

    def flatten_mapping(self, node: Any) -> None:
        """Put into a table what `<<` names. Raises YAMLError, RecursionError."""
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(each, yaml.MappingNode):
                    self.flatten_mapping(each)
                    self._merged += 1 + len(each.value)
                if self._merged > MERGED_MAX:
                    most = f"<< brings more than {MERGED_MAX:,} entries"
                    raise yaml.constructor.ConstructorError(None, None, most, key.start_mark)
        super().flatten_mapping(node)

    def construct_number(self, node: Any) -> int | float:
        """Return what is a number, if only by its tag, with its text. Raises ValueError, YAMLError."""
        written = str(self.construct_scalar(node))
        if not re.fullmatch(_PATTERNS[node.tag][1], written):
            raise yaml.constructor.ConstructorError(None, None, "no number", node.start_mark)
        if node.tag == _WHOLE:
            return as_written(int(written, _BASES.get(written[:2], 10)), written)
        # Python has no point before inf and nan.
        return as_written(float(re.sub(r"\.(?=[a-zA-Z]{3})", "", written)), written)


_Loader.yaml_implicit_resolvers = {}
for _tag, (_first, _pattern) in _PATTERNS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list(_first))
for _name in ("int", "float"):
    _Loader.add_constructor(f"{_TAG}{_name}", _Loader.construct_number)


def _plain(part: Any, known: dict[int, Any], depth: int) -> Any:
    """Return a part as JSON has it. `known`: what became of tables and lists, by their identity."""
    if depth > DEPTH_MAX:
        raise _TooDeepError
    if isinstance(part, str):
        return _HALF.sub("\ufffd", part)
    if part is None or isinstance(part, bool):
        return part
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, int):
        return part if part.bit_length() <= _WHOLE_BITS_MAX else None
    if id(part) in known:
        return known[id(part)]
    if isinstance(part, dict):
        table: dict[str, Any] = {}
        known[id(part)] = table
        for name, each in part.items():
            table[_key(name)] = _plain(each, known, depth + 1)
        return table
    if isinstance(part, list | tuple | set):
        made: list[Any] = []
        known[id(part)] = made
        inner = sorted(part, key=str) if isinstance(part, set) else part
        made += [_plain(each, known, depth + 1) for each in inner]
        return made
    # A date that is tagged as one, or bytes.
    return str(part)


def _key(name: Any) -> str:
    return "null" if name is None else _HALF.sub("\ufffd", text(name)) or str(name)


# Letters of a text that are shown in a sentence.
SHOWN_MAX = 80
# How many times a $ref may lead to another one; and letters of one.
REFERENCES_MAX, REFERENCE_LETTERS_MAX = 100, 2_000
# Steps that a document may take. The largest of an API take some millions; a step takes a microsecond or two.
STEPS_MAX = 20_000_000
# To write 16 letters takes as long as a step.
LETTERS_A_STEP = 16
_INDEX = re.compile(r"[0-9]{1,9}")


class NoExample(Exception):  # noqa: N818 - says what happened
    """Why a request cannot be made, as the end of a sentence about it. `detail`: what is wrong in it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail


class TooManySteps(Exception):  # noqa: N818 - says what happened
    """The document takes more than STEPS_MAX steps."""


def short(text: str) -> str:
    """Return a text, or its beginning, as it stands in a sentence."""
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


class Parts:
    """Finds the parts of one document and counts steps. Every method raises TooManySteps."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._steps = 0

    def take(self, steps: int = 1, *, letters: int = 0) -> None:
        """Count steps, and letters that are written."""
        self._steps += steps + letters // LETTERS_A_STEP
        if self._steps > STEPS_MAX:
            raise TooManySteps

    def pointed(self, part: Any) -> Any:
        """Return what a $ref leads to, over others if need be, or the part itself. Raises NoExample."""
        seen: set[str] = set()
        while isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
            if reference in seen:
                raise NoExample(f"with a $ref that leads back to itself ({short(reference)})")
            if len(seen) == REFERENCES_MAX:
                raise NoExample(f"with more than {REFERENCES_MAX} $ref that lead to each other")
            seen.add(reference)
            part = self.at(reference)
        return part

    def at(self, reference: str) -> Any:
        """Return the part that a $ref names. Raises NoExample."""
        if not reference.startswith("#"):
            raise NoExample(f"with a $ref to another document ({short(reference.partition('#')[0])})")
        if len(reference) > REFERENCE_LETTERS_MAX:
            raise NoExample(f"with a $ref of more than {REFERENCE_LETTERS_MAX:,} letters")
        part = self.document
        for step in filter(None, reference[1:].split("/")):
            self.take()
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and _INDEX.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            elif isinstance(part, dict) and name in part:
                part = part[name]
            else:
                raise NoExample(f"with a $ref to what is not there ({short(reference)})")
        return part
