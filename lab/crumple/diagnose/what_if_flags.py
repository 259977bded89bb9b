"""--if as typed → what is changed of a server."""

from collections.abc import Sequence

from crumple import parsing
from crumple.errors import UsageError
from crumple.limit.what_if import PARTS, Changes, Part
from crumple.load import typed_values

EXAMPLE = "write --if workers=16, --if connections=20, --if cores=4 or --if dependency=5ms"
# The largest number that --if takes; what is meant are numbers of workers, connections or cores.
NUMBERS_MOST = 1_000_000


def changes(typed: Sequence[str]) -> Changes:
    """Return what is changed. Raises UsageError."""
    found: dict[Part, float] = {}
    for text in typed:
        name, equals, value = (each.strip() for each in text.partition("="))
        part = next((each for each in PARTS if each == name), None)
        if part is None or not equals:
            remedy = parsing.did_you_mean(name, PARTS) if equals and name else EXAMPLE
            raise UsageError(f"--if {text}: that changes nothing that is computed", remedy)
        if part in found:
            raise UsageError(f"--if {text}: {part} is given twice", "leave one of them out")
        found[part] = (
            typed_values.read_duration_s("--if", value) if part == "dependency" else _number(text, value)
        )
    return found


def _number(text: str, value: str) -> float:
    share = value.endswith("%")
    try:
        number = float(value.removesuffix("%")) / (100 if share else 1)
    except ValueError:
        raise UsageError(f"--if {text}: that is no number", EXAMPLE) from None
    if not 0 < number <= NUMBERS_MOST:
        raise UsageError(f"--if {text}: that is not above 0 and at most {NUMBERS_MOST:,}", EXAMPLE)
    return number
