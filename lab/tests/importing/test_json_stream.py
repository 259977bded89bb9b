"""The middle of long texts is cut out of JSON, and all else stays as it is."""

import io
import json

import pytest
from crumple.importing import json_stream
from crumple.importing.json_stream import CUT, DEPTH_MAX, Shortened, TooDeep
from hypothesis import given
from hypothesis import strategies as st

PIECES = st.sampled_from(["abcdefghij", '"', "\\", "é", "日本", "\n", "😀", "u00e9", "    "])
TEXTS = st.lists(PIECES, max_size=60).map("".join)


def read(document: bytes) -> bytes:
    stream = Shortened(io.BytesIO(document))
    return b"".join(iter(lambda: stream.read(4096), b""))


def units(text: str) -> bytes:
    """The code units of a text: a pair of escapes may have lost its second half."""
    return text.encode("utf-16-be", "surrogatepass")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 64)


@pytest.mark.long
@given(st.lists(TEXTS), st.booleans())
def test_what_is_read_is_json_and_only_long_texts_are_cut(texts: list[str], as_ascii: bool) -> None:
    written = json.dumps(texts, ensure_ascii=as_ascii).encode(errors="surrogatepass")
    found = json.loads(read(written).decode(errors="surrogatepass"))
    assert len(found) == len(texts)
    for text, left in zip(texts, found, strict=True):
        if CUT in left:
            assert len(json.dumps(text)) > 64
            assert units(text).startswith(units(left.partition(CUT)[0]))
        else:
            assert left == text


def test_a_long_text_becomes_short() -> None:
    written = json.dumps(["begins " + "a" * 100_000 + " ends", "b"]).encode()
    found = json.loads(read(written))
    assert found[0].startswith("begins ") and found[0].endswith(" ends") and found[1] == "b"
    assert found[0].count("a") < 40_000


@pytest.mark.parametrize("of", ["[]", '{"[": 1}', '"[[[["', '"\\\\[\\"["'])
def test_levels_are_counted_across_blocks_and_not_in_texts(of: str) -> None:
    inner = ",".join([of] * 50)
    opened = DEPTH_MAX - 2
    for levels, is_read in ((opened, True), (opened + 5, False)):
        written = ("[" * levels + inner + "]" * levels).encode()
        document = b"[" + written + b"," + written + b"]"
        if is_read:
            assert read(document) == document
        else:
            with pytest.raises(TooDeep):
                read(document)
