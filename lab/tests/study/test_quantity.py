"""Durations, rates and cores as people type them."""

import pytest
from crumple.errors import UsageError
from crumple.load import typed_values
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30), ("2m", 120), ("1h", 3600), ("500ms", 0.5), ("250us", 0.00025), ("250µs", 0.00025),
        ("250μs", 0.00025), ("7ns", 7e-9), ("1m30s", 90), ("1h1m1s1ms", 3661.001), ("1.5s", 1.5), ("20", 20),
        ("0.25", 0.25), (" 10S ", 10), ("24h", 86_400),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert typed_values.read_duration_s("-z", text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "that is no duration; write 30s"),
        ("x", "that is no duration"),
        ("3x", "that is no duration"),
        ("s", "that is no duration"),
        ("-3s", "that is no duration"),
        ("1s,5", "that is no duration"),
        ("1 s", "that is no duration"),
        ("1e3s", "that is no duration"),
        ("inf", "that is no duration"),
        ("0", "more than 0; write 30s"),
        ("0ms", "more than 0"),
        ("25h", "more than a day; write 24h or less"),
    ],
)
def test_invalid_durations_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        typed_values.read_duration_s("-z", text)
    assert str(caught.value).startswith(f"-z {text}: ")


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    try:
        assert 0 < typed_values.read_duration_s("-z", text) <= 86_400
    except UsageError as error:
        assert error.remedy


@pytest.mark.parametrize(
    ("text", "per_s"), [("1000", 1000), ("0.5", 0.5), ("1000/s", 1000), (" 20/S", 20), ("1", 1)]
)
def test_rates(text: str, per_s: float) -> None:
    assert typed_values.read_rate_per_s("--rate", text) == per_s


@pytest.mark.parametrize(
    "text",
    [
        "0", "0.0", "0/s", "-5", "x", "", "10/m", "1e9", "nan", "1_000",
        "0.0000001", "10000001", "1" + "0" * 400,
    ],
)  # fmt: skip
def test_invalid_rates_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--rate {text}: "):
        typed_values.read_rate_per_s("--rate", text)


@pytest.mark.parametrize(
    ("text", "cores"), [("2", (2,)), ("0,2", (0, 2)), ("0-3,7", (0, 1, 2, 3, 7)), ("1, 1-2", (1, 2))]
)
def test_cores(text: str, cores: tuple[int, ...]) -> None:
    assert typed_values.read_cores("--cores", text) == cores


@pytest.mark.parametrize("text", ["", "x", "3-1", "-1", "1,,2", "0-", "99999"])
def test_invalid_cores_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="these are no cores"):
        typed_values.read_cores("--cores", text)
