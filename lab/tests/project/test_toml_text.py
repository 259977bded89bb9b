"""What is written as TOML is read as the same, and holds nothing that a terminal acts on."""

import tomllib
from typing import Any

import pytest
from crumple import toml_text
from crumple.drawing import terminal
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text() | st.text(alphabet="ab'\"\\\n\r\t#{}é\x1b\u202e")
VALUES = (
    TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.lists(TEXT) | st.dictionaries(TEXT, TEXT)
)


@pytest.mark.long
@given(st.dictionaries(TEXT, VALUES), st.lists(TEXT))
def test_values_are_read_as_they_were_written(values: dict[str, Any], said: list[str]) -> None:
    lines = [*map(toml_text.comment, said), *(toml_text.line(key, value) for key, value in values.items())]
    text = "\n".join(lines) + "\n"
    assert tomllib.loads(text) == values
    assert not terminal.acts(text)


def test_text_has_the_quotes_that_need_no_escapes() -> None:
    assert toml_text.text("plain") == '"plain"'
    assert toml_text.text('{"a": 1}') == "'{\"a\": 1}'"
    assert toml_text.text("{\n}") == "'''\n{\n}'''"
    assert toml_text.text('it\'s "so"') == '"it\'s \\"so\\""'
