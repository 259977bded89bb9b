"""HAR, as browsers save it, read entry by entry, so that memory does not grow with the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

import ijson
from ijson.common import JSONError

from crumple.drawing import numerals
from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.har_strings import BLOCK_BYTES, CUT, Shortened
from crumple.importing.recorded import LeftOut, Recorded

_BODY_NOT_KEPT = "whose body was not recorded"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests. Raises FileInvalid."""
    read = 0
    try:
        for entry in ijson.items(Shortened(stream), "log.entries.item", use_float=True):
            read += 1
            found = _one(entry, left_out) if isinstance(entry, dict) else None
            if found is not None:
                yield found
    except (JSONError, UnicodeDecodeError) as error:
        where = f"behind {numerals.count(read, 'request')}"
        why = str(error).strip().partition("\n")[0].removeprefix("b'").removesuffix("'")
        raise FileInvalid(
            [Problem(file, "", f"is cut off or no JSON {where}: {why}", "save it again")]
        ) from None


def _one(entry: dict[str, Any], left_out: LeftOut) -> Recorded | None:
    asked, answer = _table(entry.get("request")), _table(entry.get("response"))
    method, url = str(asked.get("method") or ""), str(asked.get("url") or "")
    if not method or not url:
        left_out.add("without a method or a URL")
        return None
    if "_fromCache" in entry:
        left_out.add("that the browser answered from its cache", url)
        return None
    headers = [
        (str(each.get("name", "")), str(each.get("value", "")))
        for each in asked.get("headers") or ()
        if isinstance(each, dict)
    ]
    if asked.get("cookies") and not any(name.lower() == "cookie" for name, _ in headers):
        left_out.header("Cookie")
    sent = _table(asked.get("postData"))
    kind = str(sent.get("mimeType") or "")
    if kind and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", kind))
    body = _body(sent, kind)
    is_form = kind.startswith("multipart/")
    if body is None and not is_form and (sent or _number(asked.get("bodySize")) > 0):
        left_out.add(_BODY_NOT_KEPT, f"{method} {url}")
        return None
    if CUT in (body or "") or CUT in url:
        left_out.add(f"with a body of more than {BLOCK_BYTES >> 10} KiB", f"{method} {url[:80]}")
        return None
    status = _number(answer.get("status")) or None
    return repeatable.repeated(method, url, headers, body, left_out, status=status)


def _body(sent: dict[str, Any], kind: str) -> str | None:
    """Return the body; None if there is none, or it was not recorded."""
    if sent.get("encoding") == "base64":
        # Its bytes are no text, or a browser would have written them as text.
        return "\0"
    if isinstance(text := sent.get("text"), str) and text:
        return text
    pairs = [
        (str(each.get("name", "")), str(each.get("value", "")))
        for each in sent.get("params") or ()
        if isinstance(each, dict)
    ]
    if pairs and kind.startswith("application/x-www-form-urlencoded"):
        return urlencode(pairs)
    return "" if sent.get("text") == "" else None


def _table(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _number(found: Any) -> int:
    return int(found) if isinstance(found, int | float) else 0
