"""Text that a server sent is shown so that it does not act on the terminal or the page."""

import unicodedata

import pytest
from crumple.drawing.terminal import shown, shown_lines
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("plain, ünïcode and 漢字 stay", "plain, ünïcode and 漢字 stay"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\r\tc\x00", "a\\x0ab\\x0d\\x09c\\x00"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("lone \udc80", "lone \\udc80"),
    ],
)
def test_control_characters_are_escaped(sent: str, said: str) -> None:
    assert shown(sent) == said


@given(st.text())
def test_escaped_text_is_printable_and_does_not_change_again(text: str) -> None:
    said = shown(text)
    assert all(letter.isprintable() or unicodedata.category(letter) == "Zs" for letter in said)
    assert not {"\x1b", "\n", "\r", "\u202e", "\x9b"} & {*said}
    assert shown(said) == said


def test_line_ends_are_kept() -> None:
    assert shown_lines("HTTP/1.1 200 OK\r\nA: b\x07\r\n\r\n\tx") == [
        "HTTP/1.1 200 OK",
        "A: b\\x07",
        "",
        "    x",
    ]
