"""Examples as they stand in one request: as JSON, or in a path, a query or a form. Bounded in length. Pure.

An example from YAML may name one part a million times, or hold itself.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from crumple.importing.openapi_examples import NoExample

# As much as a body in a HAR may have.
LETTERS_MAX = 256 << 10
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class ExampleText:
    """Writes the examples of one request, which have LETTERS_MAX letters together at most."""

    def __init__(self) -> None:
        self._left = LETTERS_MAX

    @property
    def letters(self) -> int:
        """How many letters were written, or tried."""
        return LETTERS_MAX - self._left

    def json(self, value: Any) -> str:
        """Return a value as JSON. Raises NoExample."""
        try:
            return self._joined(_ENCODER.iterencode(value))
        except ValueError:
            raise NoExample("with an example that holds itself") from None
        except RecursionError:
            raise NoExample("with an example that is nested too deep") from None

    def plain(self, value: Any) -> str:
        """Return a value as it stands in a path, a query or a form. Raises NoExample."""
        if isinstance(value, str):
            return self._joined([value])
        if not isinstance(value, list):
            return self.json(value)
        parts = []
        for each in value:
            parts.append(self._joined([each]) if isinstance(each, str) else self.json(each))
            # The comma.
            self._take(1)
        return ",".join(parts)

    def form(self, values: Mapping[str, Any]) -> str:
        """Return the fields of a form. Raises NoExample."""
        return urlencode({name: self.plain(value) for name, value in values.items()})

    def filled(self, template: str, name: str, value: str) -> str:
        """Return a path with a value in each place of that name. Raises NoExample."""
        place, quoted = f"{{{name}}}", quote(value, safe="")
        self._take(template.count(place) * len(quoted))
        return template.replace(place, quoted)

    def _joined(self, pieces: Iterable[str]) -> str:
        parts = []
        for piece in pieces:
            self._take(len(piece))
            parts.append(piece)
        return "".join(parts)

    def _take(self, letters: int) -> None:
        self._left -= letters
        if self._left < 0:
            raise NoExample(f"with examples of more than {LETTERS_MAX >> 10} KiB")
