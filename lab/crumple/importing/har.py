"""HAR, as browsers save it, read entry by entry, so that memory does not grow with the file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

import ijson
from ijson.common import JSONError

from crumple.drawing import numerals
from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.har_strings import BLOCK_BYTES, CUT, DEPTH_MAX, Shortened, TooDeep
from crumple.importing.json_values import listed, table, text, whole
from crumple.importing.recorded import LeftOut, Recorded

_BODY_NOT_KEPT = "whose body was not recorded"


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
    if "_fromCache" in entry:
        left_out.add("that the browser answered from its cache", url)
        return None
    headers = _pairs(asked.get("headers"))
    if asked.get("cookies") and not any(name.lower() == "cookie" for name, _ in headers):
        left_out.header("Cookie")
    sent = table(asked.get("postData"))
    kind = text(sent.get("mimeType"))
    if kind and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", kind))
    body = _body(sent, kind)
    is_form = kind.startswith("multipart/")
    if body is None and not is_form and (sent or whole(asked.get("bodySize")) > 0):
        left_out.add(_BODY_NOT_KEPT, f"{method} {url}")
        return None
    if CUT in (body or "") or CUT in url:
        left_out.add(f"with a body of more than {BLOCK_BYTES >> 10} KiB", f"{method} {url[:80]}")
        return None
    status = whole(answer.get("status")) or None
    return repeatable.repeated(method, url, headers, body, left_out, status=status)


def _body(sent: Mapping[str, Any], kind: str) -> str | None:
    """Return the body; None if there is none, or it was not recorded."""
    if sent.get("encoding") == "base64":
        # Its bytes are no text, or a browser would have written them as text.
        return "\0"
    if isinstance(said := sent.get("text"), str) and said:
        return said
    pairs = _pairs(sent.get("params"))
    if pairs and kind.startswith("application/x-www-form-urlencoded"):
        return urlencode(pairs)
    return "" if sent.get("text") == "" else None


def _pairs(found: Any) -> list[tuple[str, str]]:
    """Return names and values of headers or of fields of a form."""
    return [
        (text(each.get("name")), text(each.get("value"))) for each in listed(found) if isinstance(each, dict)
    ]
