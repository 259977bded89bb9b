"""HAR, as browsers save it, read entry by entry, so that memory does not grow with the file.

Taken are the requests that the network answered. HAR has no field for that, so each program that saves one
marks it in its own way, and a new version in another. Programs keep a body as text, as text in base64 or as
fields of a form, which may be percent-encoded already.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode

import ijson
from ijson.common import JSONError

from crumple.drawing import numerals
from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable, shape
from crumple.importing.import_format import Format
from crumple.importing.json_stream import BLOCK_BYTES, CUT, DEPTH_MAX, Shortened, TooDeep
from crumple.importing.json_values import listed, table, text, whole
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.repeatable import BINARY, UNANSWERED
from crumple.words import masked

CACHE = "that the browser answered from its cache"
WORKER = "that a service worker answered"
BLOCKED = "that was blocked before it was sent"
ABORTED = "that was aborted before an answer"
REDIRECTED = "that the browser redirected by itself"
PUSHED = "that a server pushed, and nobody asked for"
REPLACED = "whose answer the browser's tools replaced"

# Safari's _fetchType.
_FETCHED = {
    "memory cache": CACHE, "disk cache": CACHE, "service worker": WORKER, "inspector override": REPLACED,
}  # fmt: skip
# Names of marks without "_" and capitals: of Chrome, chrome-har, Puppeteer, WebPageTest and Charles.
_CACHED = frozenset({
    "fromcache", "isfromcache", "servedfromcache", "frommemorycache", "fromdiskcache", "fromprefetchcache",
    "cached",
})  # fmt: skip
_WORKED = frozenset({"fetchedviaserviceworker", "fromserviceworker"})
_PUSHED = frozenset({"waspushed", "ispushed", "pushed"})
_UNSET = ("", "0", "false", "none", "null", "no")
# In the text of a status, as of Internet Explorer and of old Chrome.
_CACHE_SAID = re.compile(r"from (?:\w{1,9} )?cache|\(cache\)", re.IGNORECASE)
_BLOCKED_SAID = re.compile(r"block|csp|content.?security|mixed|cors|not.?allowed", re.IGNORECASE)
_ABORTED_SAID = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
# Charles and Fiddler answer themselves where they reach no server.
_CHARLES = {"FAILED": UNANSWERED, "EXCEPTION": UNANSWERED, "BLOCKED": BLOCKED}
_FIDDLER = "fiddler - "
# The status of an answer without a body, which the server has sent nevertheless.
NOT_MODIFIED = 304


def status_of(answer: Mapping[str, Any]) -> int | None:
    """Return the status of an answer, which may be written as a text; None if there is none."""
    found = answer.get("status")
    if isinstance(found, str):
        return int(found) if re.fullmatch(r"-?[0-9]{1,3}", found.strip(), re.ASCII) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return whole(found) if is_number else None


def why_unanswered(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return why no network answered, as the end of a sentence about the request; empty if one did."""
    status = status_of(answer)
    return (
        _marked(entry, answer)
        or _by_itself(answer, status)
        or _from_cache(entry, answer, status)
        or (_failed(entry, answer) if _is_none(entry, answer, status) else "")
    )


def _marked(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return what a field says that a program adds for this purpose."""
    if why := _FETCHED.get(text(entry.get("_fetchType")).strip().lower()):
        return why
    if why := _CHARLES.get(text(answer.get("_charlesStatus")).strip().upper()):
        return why
    marks = {
        name.replace("_", "").lower()
        for part in (entry, answer)
        for name, value in part.items()
        if text(value).strip().lower() not in _UNSET
    }
    if marks & _CACHED:
        return CACHE
    if marks & _WORKED and text(answer.get("_serviceWorkerResponseSource")) != "network":
        return WORKER
    return PUSHED if marks & _PUSHED else ""


def _by_itself(answer: Mapping[str, Any], status: int | None) -> str:
    """Return whether the client made the answer, as Chrome does to change http to https."""
    said = text(answer.get("statusText")).strip().lower()
    names = {text(table(each).get("name")).lower() for each in listed(answer.get("headers"))}
    if status == 307 and (said == "internal redirect" or "non-authoritative-reason" in names):
        return REDIRECTED
    return UNANSWERED if said.startswith(_FIDDLER) else ""


def _from_cache(entry: Mapping[str, Any], answer: Mapping[str, Any], status: int | None) -> str:
    if _CACHE_SAID.search(text(answer.get("statusText"))[:200]):
        return CACHE
    if status == NOT_MODIFIED:
        return ""
    # Firebug and older Firefox fill in this one alone, and only then.
    cache = table(entry.get("cache"))
    if "afterRequest" in cache and "beforeRequest" not in cache:
        return CACHE
    # Chrome: an answer of which no byte came over the network, not even its head.
    sent = answer.get("_transferSize")
    is_none = isinstance(sent, int | float) and not isinstance(sent, bool) and sent == 0
    has_content = whole(table(answer.get("content")).get("size")) > 0
    return CACHE if is_none and has_content and whole(answer.get("bodySize")) <= 0 else ""


def _is_none(entry: Mapping[str, Any], answer: Mapping[str, Any], status: int | None) -> bool:
    """Whether there is no answer. One that says nothing of its status describes a request, and no failure."""
    return status <= 0 if status is not None else bool(_error(entry, answer))


def _failed(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    said = f"{_error(entry, answer)} {text(answer.get('statusText'))} {text(answer.get('comment'))}"[:500]
    if _BLOCKED_SAID.search(said) or text(entry.get("_blockedReason") or answer.get("_blockedReason")):
        return BLOCKED
    return ABORTED if _ABORTED_SAID.search(said) else UNANSWERED


def _error(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return next(
        (
            said
            for part in (answer, entry)
            for name in ("_error", "_failureText", "error")
            if (said := text(part.get(name)))
        ),
        "",
    )


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
    """Return the fields as they were sent. Raises Unkept: no way to write them has that length."""
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


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests. Raises FileInvalid."""
    read = 0
    try:
        for entry in ijson.items(Shortened(stream), "log.entries.item", use_float=True):
            read += 1
            if found := _one(table(entry), left_out):
                yield found
    except TooDeep:
        why = f"is nested more than {DEPTH_MAX:,} deep, as no HAR is"
        raise FileInvalid([Problem(file, "", why, "save it again")]) from None
    except (JSONError, ValueError) as error:
        where = f"behind {numerals.count(read, 'request')}"
        why = str(error).strip().partition("\n")[0].removeprefix("b'").removesuffix("'")
        raise FileInvalid(
            [Problem(file, "", f"is cut off or no JSON {where}: {why}", "save it again")]
        ) from None


def _one(entry: Mapping[str, Any], left_out: LeftOut) -> Recorded | None:
    asked, answer = table(entry.get("request")), table(entry.get("response"))
    method, url = text(asked.get("method")), text(asked.get("url"))
    if not method or not url:
        left_out.add("without a method or a URL")
        return None
    shown = f"{method} {masked.url(url[: repeatable.SHOWN_LETTERS])}"
    # That a URL is one such as data: says more than how it was answered.
    if url.lower().startswith("http") and (why := why_unanswered(entry, answer)):
        left_out.add(why, shown)
        return None
    headers = pairs(asked.get("headers"))
    try:
        body, is_whole = body_of(asked, headers)
        url = with_query(url, asked)
    except Unkept as unkept:
        left_out.add(str(unkept), shown)
        return None
    if CUT in (body or "") or CUT in url:
        left_out.add(f"with a body of more than {BLOCK_BYTES >> 10} KiB", shown)
        return None
    if asked.get("cookies") and not any(name.lower() == "cookie" for name, _ in headers):
        left_out.header("Cookie")
    kind = text(table(asked.get("postData")).get("mimeType"))
    if (
        kind
        and (body or kind.startswith("multipart/"))
        and not any(n.lower() == "content-type" for n, _ in headers)
    ):
        headers.append(("Content-Type", kind))
    status = status_of(answer)
    return repeatable.repeat(method, url, headers, body, left_out, status=status, is_whole=is_whole)


HAR = Format("har", requests, keys=shape.keys("log/entries"))
