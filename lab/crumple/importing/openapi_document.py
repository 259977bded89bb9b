"""An OpenAPI or Swagger document as JSON or YAML → tables, lists, texts and numbers as JSON has them.

Plain values of YAML are read by the core schema of YAML 1.2, so dates, 12:30, 1_000 and yes are texts. What
YAML has beside JSON is gone: dates are texts, and keys are texts as they are written. Parts that are
named twice by YAML's anchors stay one part, so that they take no more room than their text; such a part may
hold itself.
"""

import json
import math
import re
from pathlib import Path
from typing import IO, Any

import yaml

from crumple.errors import FileInvalid, Problem
from crumple.importing.json_values import as_written, text

BYTES_MAX = 32 << 20
# Deeper than any document is, and less deep than Python goes.
DEPTH_MAX = 200
# What `<<` brings into tables, in all.
MERGED_MAX = 50_000
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
