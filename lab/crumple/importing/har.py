"""HAR, as browsers save it, read entry by entry, so that memory does not grow with the file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import ijson
from ijson.common import JSONError

from crumple.drawing import numerals
from crumple.errors import FileInvalid, Problem
from crumple.importing import har_answer, har_body, repeatable
from crumple.importing.har_body import Unkept
from crumple.importing.har_strings import BLOCK_BYTES, CUT, DEPTH_MAX, Shortened, TooDeep
from crumple.importing.json_values import table, text
from crumple.importing.recorded import LeftOut, Recorded
from crumple.words import masked


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
    # Of a URL such as data: it says more that it is one than how it was answered.
    if url.lower().startswith("http") and (why := har_answer.unanswered(entry, answer)):
        left_out.add(why, shown)
        return None
    headers = har_body.pairs(asked.get("headers"))
    try:
        body, is_whole = har_body.body_of(asked, headers)
        url = har_body.with_query(url, asked)
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
    status = har_answer.status_of(answer)
    return repeatable.repeated(method, url, headers, body, left_out, status=status, is_whole=is_whole)
