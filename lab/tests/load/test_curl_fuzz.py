"""Any text is a command of curl that is read, or a sentence that says why not."""

from pathlib import Path

import pytest
from crumple.errors import UsageError
from crumple.typed import curl_command, curl_options
from crumple.typed.curl_here import CurlHere
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = CurlHere("curl/9.9.9")
BITS = r"""
curl -d -F -T -H -b -G -sSX -u -x http://a/ {a,b} [1-2] ;type=a/b ;filename= %zz é A=b ~/ ../.. ?# ::
' " \ $ $( ) ` ${A } { [ ] <<E <<-'E' <<< < > 2>&1 | && ; # @- @ = ^ -
* ? >f @f cd cat echo A= ${A:-b} ${A:+"b"} $(cat 127.1 0x7f.1
"""
ENDS = ("\n", "\r\n", "\0", "\x7f", "$ ", "E\n")
PARTS = st.one_of(
    st.sampled_from(sorted(curl_options._KNOWN)),
    st.sampled_from([*BITS.split(), *ENDS]),
    st.text(max_size=4),
)
LINES = st.lists(st.tuples(PARTS, st.sampled_from(["", " "])), max_size=25)


@pytest.mark.long
@settings(max_examples=2_000, deadline=None)
@given(LINES, st.booleans())
def test_any_text_is_read_or_refused_in_a_line(parts: list[tuple[str, str]], has_environment: bool) -> None:
    text = "curl " + "".join(part + blank for part, blank in parts)
    try:
        found = curl_command.command(text, HERE, {"A": "b c"}.get if has_environment else None)
    except UsageError as mistake:
        assert str(mistake).startswith("--curl") or str(mistake).startswith("-")
        return
    assert found.url.startswith(("http://", "https://"))


def test_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    curl_command.command("curl http://a/ -o b -D c -c d --trace e > f 2>g", HERE)
    assert not list(tmp_path.iterdir())
