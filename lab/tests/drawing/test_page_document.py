"""The document in a page: it comes back as it was, and a page that somebody made to do harm is refused."""

import base64
import gzip
import json
import random
import re
import zlib
from typing import Any

import pytest
from crumple.drawing import page_document
from crumple.errors import NotStored

DOCUMENT: dict[str, Any] = {
    "kind": "load",
    "name": "</script><b>&amp;",
    "of": [1, 0.1, None, "ü\u2028{{x}}"],
}


def held(
    packed: bytes, *, opening: str = '<script type="application/gzip;base64" id="crumple-document">'
) -> str:
    """A page with a document that is packed so."""
    return f"<!doctype html><p>a</p>{opening}{base64.b64encode(packed).decode()}</script>"


def packed(document: Any) -> bytes:
    return gzip.compress(json.dumps(document).encode())


def refusal(page: str) -> str:
    with pytest.raises(NotStored) as caught:
        page_document.read(page, "a.html")
    assert "\n" not in str(caught.value) and caught.value.remedy
    return caught.value.message


def test_a_document_comes_back_as_it_was() -> None:
    page = f"<!doctype html><p>a</p>{page_document.element(DOCUMENT)}</main>"
    assert page_document.read(page, "a.html") == DOCUMENT
    assert page_document.element(DOCUMENT) == page_document.element(DOCUMENT)


def test_a_copy_may_have_other_attributes_and_line_ends() -> None:
    page = page_document.element(DOCUMENT).replace("\n", "\r\n  ")
    assert page_document.read(page, "") == DOCUMENT
    for opening in (
        "<script id=crumple-document type=x>",
        "<script id='crumple-document' data-a='1'>",
        '<script nonce="" class="a" id="crumple-document">',
    ):
        assert page_document.read(held(packed(DOCUMENT), opening=opening), "") == DOCUMENT


def test_a_document_that_is_too_large_is_left_out_and_the_page_says_so() -> None:
    noise = random.Random(1).randbytes(page_document.WRITTEN_MAX).hex()
    page = page_document.element({"a": noise})
    assert len(page) < 1_000 and "more than 2 MB" in page and "--json" in page
    said = refusal(page)
    assert said == "a.html holds no document, as it is larger than 2 MB"
    # Just within the limit it rides along.
    written = len(page_document.element({"a": noise[: len(noise) // 4]}))
    assert written < page_document.WRITTEN_MAX + 500


def test_a_document_with_much_repeated_text_is_left_out_too() -> None:
    """Otherwise the page would be refused when it is read."""
    assert "more than" in page_document.element({"a": "b" * (page_document.JSON_MAX + 1)})


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<!doctype html><p>a</p>", "a.html is a page without a document of crumple"),
        ("<p id='crumple-documents'>x</p>", "a.html is a page without a document of crumple"),
        (page_document.element(DOCUMENT) * 2, "a.html holds 2 documents of crumple, and a page has one"),
        (held(b"no gzip"), "the document in a.html is damaged: "),
        (held(packed(DOCUMENT) + b"more"), "the document in a.html is cut off, or damaged"),
        (held(packed(DOCUMENT) * 2), "the document in a.html is cut off, or damaged"),
        (held(b""), "the document in a.html is cut off, or damaged"),
        (held(gzip.compress(b"{")), "the document in a.html is not JSON: "),
        (held(gzip.compress(b"\xff\xfe\x00")), "the document in a.html is not JSON: "),
        (held(gzip.compress(b"[" * 100_000)), "the document in a.html is not JSON: "),
        (held(gzip.compress(b"9" * 10_000)), "the document in a.html is not JSON: "),
        ('<script id="crumple-document">@@@@</script>', "the document in a.html is damaged: "),
        ('<script id="crumple-document">\u00e9</script>', "the document in a.html is damaged: "),
        (held(zlib.compress(b"{}")), "the document in a.html is damaged: "),
    ],
)
def test_what_is_damaged_or_no_document_is_one_line(page: str, said: str) -> None:
    assert refusal(page).startswith(said)


def test_a_page_that_is_cut_off_anywhere_is_refused() -> None:
    page = page_document.element(DOCUMENT)
    whole = page.index("</script>")
    # base64 of the last bytes may lack its padding only.
    for end in range(0, whole - 3, 7):
        refusal(page[:end])


def test_no_changed_letter_gives_another_document() -> None:
    page = page_document.element(DOCUMENT)
    begin = page.index(">", page.index("<script")) + 1
    for at in range(begin, page.index("</script>")):
        changed = f"{page[:at]}{'A' if page[at] != 'A' else 'B'}{page[at + 1 :]}"
        try:
            assert page_document.read(changed, "") == DOCUMENT
        except NotStored:
            continue


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = zlib.decompressobj

    class Watched:
        def __init__(self, wbits: int) -> None:
            self._real = real(wbits)

        def decompress(self, given: bytes, most: int) -> bytes:
            found = self._real.decompress(given, most)
            asked.append(len(found))
            return found

    monkeypatch.setattr(page_document.zlib, "decompressobj", Watched)
    bomb = gzip.compress(b" " * (20 * page_document.JSON_MAX), compresslevel=1)
    assert refusal(held(bomb)) == "the document in a.html unpacks to more than crumple writes"
    assert asked == [page_document.JSON_MAX + 1]


def test_the_search_is_linear_in_a_page_that_was_made_to_be_slow() -> None:
    """Each of these would take minutes if the search tried all pairs of beginning and end."""
    for made in ("<script ", "<script id=", '<script id="crumple-document" ', "<p id="):
        assert refusal(made * 300_000).startswith("a.html is a page without a document")


@pytest.mark.parametrize(
    ("beginning", "is_page"),
    [(b"<!doctype html>", True), (b"\xef\xbb\xbf\r\n <html>", True), (b'{"a": "<p>"}', False), (b"", False)],
)
def test_a_page_is_told_from_json_by_its_beginning(beginning: bytes, is_page: bool) -> None:
    assert page_document.is_page(beginning) == is_page


def test_nothing_in_it_is_markup() -> None:
    (inside,) = re.findall(r"<script[^>]*>([^<]*)</script>$", page_document.element(DOCUMENT))
    assert re.fullmatch(r"[0-9A-Za-z+/=\n]+", inside)
