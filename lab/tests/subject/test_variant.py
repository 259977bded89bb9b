"""Variants: equal settings have one label, values have the defaults' types, and errors name the remedy."""

import pytest
from crumple.errors import NotFound, UsageError
from crumple.subject import server_toml
from crumple.subject.server_toml import Setting, Variant
from hypothesis import given
from hypothesis import strategies as st

KNOWN: dict[str, dict[str, Setting]] = {
    "php-apache": {"workers": 256, "keep_alive": 5, "ratio": 0.5, "mode": "prefork"},
    "go-nethttp": {},
}


def _label(text: str) -> str:
    return str(server_toml.parse(text, KNOWN))


def test_the_same_settings_have_the_same_label() -> None:
    for text in (
        "php-apache[workers=150,keep_alive=0]",
        "php-apache[keep_alive=0,workers=150]",
        " php-apache[ workers = 0150 , keep_alive = 0, ] ",
    ):
        assert _label(text) == "php-apache[keep_alive=0,workers=150]"
    assert _label("php-apache") == _label("php-apache[]") == "php-apache"


def test_values_have_the_type_of_the_default() -> None:
    found = server_toml.parse("php-apache[workers=150,ratio=2,mode=event]", KNOWN)
    assert found == Variant("php-apache", {"workers": 150, "ratio": 2.0, "mode": "event"})
    assert str(found) == "php-apache[mode=event,ratio=2,workers=150]"
    assert isinstance(found.settings["ratio"], float)


@pytest.mark.long
@given(
    st.dictionaries(st.sampled_from(["workers", "keep_alive"]), st.integers(-(10**12), 10**12)),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_label_is_parsed_to_what_it_names(whole: dict[str, int], ratio: float) -> None:
    one = Variant("php-apache", {**whole, "ratio": ratio})
    assert server_toml.parse(str(one), KNOWN) == one


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("php-apach[workers=1]", NotFound, 'no server is called "php-apach"; did you mean php-apache?'),
        ("php-apache[worker=1]", UsageError, "has no setting worker; did you mean workers?"),
        ("go-nethttp[workers=1]", UsageError, "server go-nethttp has no setting workers; none are known"),
        ("php-apache[workers=x]", UsageError, "wants a whole number there; write for instance workers=256"),
        ("php-apache[workers=1.5]", UsageError, "wants a whole number there"),
        ("php-apache[ratio=x]", UsageError, "wants a number there; write for instance ratio=0.5"),
        ("php-apache[workers]", UsageError, "workers sets nothing; write php-apache[workers=value]"),
        ("php-apache[workers=]", UsageError, "sets nothing"),
        ("php-apache[workers=1,workers=2]", UsageError, "sets workers twice; keep one of them"),
        ("php-apache[workers=1", UsageError, "is no server with settings"),
        ("php-apache[mode=a/b]", UsageError, "holds no /"),
        ("php-apache[mode=a__b]", UsageError, "holds no __"),
    ],
)
def test_an_invalid_variant_is_reported_with_its_remedy(text: str, kind: type[UsageError], said: str) -> None:
    with pytest.raises(kind) as caught:
        server_toml.parse(text, KNOWN)
    assert said in str(caught.value)


def test_names_are_split_at_commas_outside_of_brackets() -> None:
    listed = "go-nethttp, php-apache[workers=150,keep_alive=0] ,php-apache,"
    assert server_toml.split(listed) == ["go-nethttp", "php-apache[workers=150,keep_alive=0]", "php-apache"]
    assert server_toml.split("") == []


def test_in_tables_every_variant_has_its_label() -> None:
    written = {
        "servers": ["php-apache[workers=1,keep_alive=0]", "php-apache[wrong=1]"],
        "of": {"php-apache[workers=1,keep_alive=0]": 3},
        "text": "as in php-apache[workers=1,keep_alive=0]",
    }
    label = "php-apache[keep_alive=0,workers=1]"
    assert server_toml.canonical_names(written, KNOWN) == {
        "servers": [label, "php-apache[wrong=1]"],
        "of": {label: 3},
        "text": "as in php-apache[workers=1,keep_alive=0]",
    }
