"""The body that an entry of a HAR sent, its query, and whether they were recorded as they were sent. Pure.

Programs keep a body as text, as text in base64 or as fields of a form, which may be percent-encoded already.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from crumple.importing.har_strings import CUT
from crumple.importing.json_values import listed, table, text, whole
from crumple.importing.repeatable import BINARY

FORM = "application/x-www-form-urlencoded"
Pairs = Sequence[tuple[str, str]]
_NOT_KEPT = "whose body was not recorded"
_OTHER_LENGTH = "whose body was recorded with another length than was sent"
_COMMENT = re.compile(
    r"\bnot? (?:\w+ )?(?:record|stor|includ|availab|captur|sav|kept|log)|truncat|discard|omit"
    r"|too (?:large|big|long)"
    r"|unavailable|redact|cut off|exceed",
    re.IGNORECASE,
)
# Old Firefox puts headers before the body.
_HEAD = re.compile(r"(?:[A-Za-z-]{1,64}: [^\r\n]{0,1000}\r?\n){1,8}\r?\n")
_LENGTH_IN_HEAD = re.compile(r"^content-length: (\d{1,12})\r?$", re.IGNORECASE | re.MULTILINE)
# What a field of a form or a query consists of where it is encoded.
_ENCODED = re.compile(r"(?:[\w.~*!'()+-]|%[0-9A-Fa-f]{2})*+", re.ASCII)
_VISIBLE = re.compile(r"[!-~]*+")
_USUALLY_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
# What `repeatable` takes for a binary body.
_NO_TEXT = "\0"


class Unkept(Exception):  # noqa: N818 - says what happened
    """Why the body is not known, as the end of a sentence about its request."""


def pairs(found: Any) -> list[tuple[str, str]]:
    """Return names and values of headers, or of fields of a form."""
    return [
        (text(each.get("name")), text(each.get("value"))) for each in listed(found) if isinstance(each, dict)
    ]


def body_of(asked: Mapping[str, Any], headers: Pairs) -> tuple[str | None, bool]:
    """Return the body, None if there was none, and whether its length is the one that was sent.

    Raises Unkept. `headers`: those of the request.
    """
    sent = table(asked.get("postData"))
    small = {name.lower(): value.strip() for name, value in headers}
    kind = (text(sent.get("mimeType")) or small.get("content-type", "")).strip().lower()
    is_multipart = kind.startswith("multipart/")
    length, is_sure = _length(asked, small)
    if _COMMENT.search(f"{text(sent.get('comment'))} {text(sent.get('_comment'))}"[:500]):
        raise Unkept(_NOT_KEPT)
    fields, is_form = pairs(sent.get("params")), kind.startswith(FORM)
    if written := _text(sent):
        try:
            return _fitting(written, length, is_sure, is_multipart)
        except Unkept:
            # Some programs decode the text of a form.
            if not (fields and is_form):
                raise
    if fields and is_form:
        return _form(fields, length), length is not None
    if is_multipart and (sent or length):
        # `repeatable` says why.
        return None, False
    if fields or _had_body(text(asked.get("method")).upper(), asked, sent, small, kind, length):
        raise Unkept(_NOT_KEPT)
    return None, True


def with_query(url: str, asked: Mapping[str, Any]) -> str:
    """Return the URL with its query, which some programs keep beside it only."""
    fields = pairs(asked.get("queryString"))
    before, mark, fragment = url.partition("#")
    if "?" in before or not fields:
        return url
    return f"{before}?{_form(fields, None)}{mark}{fragment}"


def _length(asked: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int | None, bool]:
    """Return how long the body was, None if that is not known, and whether a header says so."""
    if headers.get("content-encoding", "identity").lower() != "identity":
        return None, False
    said = headers.get("content-length", "")
    if re.fullmatch(r"\d{1,12}", said, re.ASCII):
        return int(said), True
    size = whole(asked.get("bodySize"))
    return (size, False) if size > 0 else (None, False)


def _had_body(
    method: str,
    asked: Mapping[str, Any],
    sent: Mapping[str, Any],
    headers: Mapping[str, str],
    kind: str,
    length: int | None,
) -> bool:
    """Whether a body was sent of which nothing is there."""
    if length is not None:
        return length > 0
    if "chunked" in headers.get("transfer-encoding", "").lower() or whole(asked.get("bodySize")) > 0:
        return True
    is_known = asked.get("bodySize") == 0 or sent.get("text") == ""
    return method in _USUALLY_WITH_BODY and bool(kind) and not is_known


def _text(sent: Mapping[str, Any]) -> str:
    written = sent.get("text")
    if not isinstance(written, str) or not written:
        return ""
    if text(sent.get("encoding") or sent.get("_encoding")).lower() != "base64" or CUT in written:
        return _behind_head(written)
    try:
        return base64.b64decode(written, validate=True).decode()
    except (binascii.Error, ValueError):
        return _NO_TEXT


def _behind_head(written: str) -> str:
    """Return the body without the headers that stand before it, if their length fits what follows."""
    head = _HEAD.match(written)
    length = _LENGTH_IN_HEAD.search(head[0]) if head else None
    if (
        head is None
        or length is None
        or len(written[head.end() :].encode(errors="replace")) != int(length[1])
    ):
        return written
    return written[head.end() :]


def _fitting(written: str, length: int | None, is_sure: bool, is_multipart: bool) -> tuple[str, bool]:
    """Return the body with the line ends that were sent. Raises Unkept."""
    if length is None or CUT in written or BINARY.search(written):
        return written, False
    for tried in (written, written if "\r" in written else written.replace("\n", "\r\n")):
        if len(tried.encode(errors="replace")) == length:
            return tried, True
    # A size without a header counts what stands before the body, too, in some programs.
    if is_multipart or (not is_sure and len(written.encode(errors="replace")) > length):
        return written, False
    raise Unkept(_OTHER_LENGTH)


def _form(fields: Pairs, length: int | None) -> str:
    """Return the fields as they were sent. Raises Unkept: none of the ways to write them is so long."""
    raw = "&".join(f"{name}={value}" for name, value in fields)
    ways = [urlencode(fields, errors="replace"), urlencode(fields, quote_via=quote, errors="replace")]
    if length is None:
        parts = [part for pair in fields for part in pair]
        is_encoded = "%" in raw and all(map(_ENCODED.fullmatch, parts))
        return raw if is_encoded else ways[0]
    if _VISIBLE.fullmatch(raw):
        # A body that is no form is one field without a value, as Charles has it.
        ways = [raw, "&".join(f"{name}={value}" if value else name for name, value in fields), *ways]
    found = next((way for way in ways if len(way) == length), None)
    if found is None:
        raise Unkept(_OTHER_LENGTH)
    return found
