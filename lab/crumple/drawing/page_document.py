"""The document of a result in its page: written compressed, and read again as data from anybody's page.

A page is read as text: nothing in it runs, and all that is taken from it is bounded.
"""

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from crumple.errors import NotStored

NAME = "crumple-document"
# The most bytes that a document takes in its page, compressed, in base64: a page is sent by mail, and kept
# for each job of CI.
WRITTEN_MAX = 2_000_000
# The most bytes of a document as JSON: ten times what is written at most, as figures shrink to a half or a
# quarter when they are compressed. What a stranger compressed further is refused before it fills the memory.
JSON_MAX = 10 * WRITTEN_MAX
# The most bytes of a page that is read: charts and tables of 5,000 trials take a tenth of that.
PAGE_MAX = 64 * 2**20
LEFT_OUT = (
    f"This page does not hold its document, which takes more than {WRITTEN_MAX / 1e6:g} MB, compressed: "
    "the command that wrote the page writes it with --json."
)
HELD = "This page holds its document: crumple show reads it from here."
REMEDY = "take the page as crumple wrote it, or the result's JSON"
# A browser neither runs nor shows a script of this type, whatever the policy of the page, and takes nothing
# in it for markup.
_SCRIPT = f'<script type="application/gzip;base64" id="{NAME}">\n{{}}</script>'
# A page that a browser has saved may have its attributes in another order. They are bounded, so that the
# search stays linear in a page that was made to be slow.
_ELEMENT = re.compile(rf"<(script|p)\b[^<>]{{0,200}}?\bid=[\"']?{NAME}\b[^<>]{{0,200}}>([^<]*)")


def element(document: Mapping[str, Any]) -> str:
    """Return, as HTML, what a page says of its document, and the document itself unless it is too large."""
    # In ASCII, as half of a surrogate pair, which a server may send, has no other encoding.
    text = json.dumps(document, separators=(",", ":"), default=str).encode()
    # The archive has no time in it, so that a page that is drawn again is the same. A document that is too
    # long is not compressed: that takes seconds for thousands of trials.
    written = base64.encodebytes(gzip.compress(text, mtime=0)).decode() if len(text) <= JSON_MAX else ""
    if not written or len(written) > WRITTEN_MAX:
        return f'<p class="note" id="{NAME}">{LEFT_OUT}</p>'
    return f'<p class="note">{HELD}</p>\n{_SCRIPT.format(written)}'


def is_page(beginning: bytes) -> bool:
    """Return whether a file that begins so is a page, and no JSON."""
    return beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read(page: str, where: str) -> Any:
    """Return the document in a page, as JSON has it. Raises NotStored if there is no whole one."""
    found = _ELEMENT.findall(page)
    if not found:
        raise NotStored(f"{where} is a page without a document of crumple", REMEDY)
    if len(found) > 1:
        raise NotStored(f"{where} holds {len(found)} documents of crumple, and a page has one", REMEDY)
    ((kind, written),) = found
    if kind == "p":
        raise NotStored(
            f"{where} holds no document, as it is larger than {WRITTEN_MAX / 1e6:g} MB",
            "name the result itself, or the JSON of it: crumple show RESULT --json",
        )
    try:
        return json.loads(_decompressed(written, where))
    except (ValueError, RecursionError) as error:
        raise NotStored(f"the document in {where} is not JSON: {error}", REMEDY) from None


def _decompressed(written: str, where: str) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)
    try:
        packed = base64.b64decode("".join(written.split()), validate=True)
        text = unpacking.decompress(packed, JSON_MAX + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise NotStored(f"the document in {where} is damaged: {error}", REMEDY) from None
    if len(text) > JSON_MAX:
        raise NotStored(f"the document in {where} unpacks to more than crumple writes", REMEDY)
    if not unpacking.eof or unpacking.unused_data:
        raise NotStored(f"the document in {where} is cut off, or damaged", REMEDY)
    return text
