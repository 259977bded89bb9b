"""Which format a file has: as it is named, or by how it begins and by the keys at the top of a document."""

from collections.abc import Iterator
from pathlib import Path

from crumple.errors import FileInvalid, NotFound, Problem
from crumple.importing import other_files, shape
from crumple.importing.access_log import ACCESS_LOG
from crumple.importing.har import HAR
from crumple.importing.import_format import Format, Sample
from crumple.importing.openapi import OPENAPI
from crumple.importing.postman import POSTMAN
from crumple.importing.shape import Shape
from crumple.importing.source import LINE_BYTES, Opened
from crumple.importing.url_list import URLS
from crumple.importing.vegeta_targets import VEGETA, VEGETA_JSON
from crumple.parsing import did_you_mean

FORMATS = {each.name: each for each in (HAR, OPENAPI, POSTMAN, URLS, VEGETA, VEGETA_JSON, ACCESS_LOG)}
# An entry of a log is known by more than a target, and a target by more than a URL.
_SNIFFED = (ACCESS_LOG, VEGETA_JSON, VEGETA, URLS, OPENAPI)


def format_of(opened: Opened, named: str | None, file: Path) -> Format:
    """Return the format: as `named`, or as the file looks. Raises NotFound, FileInvalid."""
    if named is not None:
        if named not in FORMATS:
            raise NotFound(f'--from {named}: no format is called "{named}"', did_you_mean(named, [*FORMATS]))
        return FORMATS[named]
    sample = Sample(opened.head)
    if surely := next((each for each in _SNIFFED if each.sniff(sample)), None):
        return surely
    # JSON is known by its keys, which may come late. Other text is known by its lines, and YAML comes last.
    keys = _keys(sample, opened) if sample.is_json else None
    found = None if keys is None else _of_keys(keys, file)
    if found is None and keys is None and (other := other_files.of_text(sample.text)):
        raise other_files.refusal(file, other)
    found = found or next((each for each in _SNIFFED if each.may_be(sample)), None)
    if found is None and keys is None:
        found = _of_keys(_keys(sample, opened), file)
    if found is None:
        raise _unknown(file, keys or frozenset())
    return found


def _keys(sample: Sample, opened: Opened) -> Shape:
    """Return the keys at the top of a document, read until they decide which format it has."""
    if not sample.is_json:
        return shape.of_yaml(_decoded(opened), _document)
    return (
        shape.of_json(opened.ahead(), _document) if sample.record is None else shape.of_table(sample.record)
    )


def _decoded(opened: Opened) -> Iterator[str]:
    ahead = opened.ahead()
    return (line.decode(errors="replace") for line in iter(lambda: ahead.readline(LINE_BYTES), b""))


def _of_keys(found: Shape, file: Path) -> Format | None:
    """Return the format of a document with these keys. Raises FileInvalid for one that is not read."""
    kind = _document(found)
    if kind is None and (other := other_files.of_shape(found)):
        raise other_files.refusal(file, other)
    return kind


def _document(found: Shape) -> Format | None:
    """Return the format that has these keys; None: there is none, or not yet."""
    return next((each for each in FORMATS.values() if any(keys <= found for keys in each.keys)), None)


def _unknown(file: Path, keys: Shape) -> FileInvalid:
    shown = " ".join(", ".join(f'"{way[0]}"' for way in sorted(keys) if len(way) == 1).split())[:200]
    what = f" (JSON with {shown})" if shown else ""
    *first, last = FORMATS
    remedy = f"say what it is: --from {', '.join(first)} or {last}"
    return FileInvalid([Problem(file, "", f"has no format that is recognised{what}", remedy)])
