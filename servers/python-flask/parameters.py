"""Query parameters as written → as meant. What is not in the workload's range raises BadParameterError."""

import re

WHOLE_NUMBER = re.compile("[0-9]{1,18}")


class BadParameterError(ValueError):
    """To be answered with status 400; its message says what is wrong."""


def whole_number(name: str, text: str, least: int, most: int) -> int:
    """`text` as a number from `least` to `most`."""
    if WHOLE_NUMBER.fullmatch(text) and least <= int(text) <= most:
        return int(text)
    raise BadParameterError(f"{name} must be a whole number from {least} to {most}")


def one_of(name: str, text: str, known: dict[str, object]) -> str:
    """`text`, if it is among `known`."""
    if text in known:
        return text
    raise BadParameterError(f"{name} must be {' or '.join(known)}")
