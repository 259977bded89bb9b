"""A list of URLs, one on each line; a path alone goes to the host that the load names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.import_format import Format
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.source import lines
from crumple.words import masked

_AT_PORT = r"(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])?:\d{1,5}(?:[/?]\S*)?"
_URL = re.compile(rf"https?://\S*|/\S*|{_AT_PORT}|(?:[\w-]{{1,63}}\.){{1,10}}[A-Za-z]{{2,63}}/\S*")


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a GET for each line. Raises FileInvalid."""
    for number, line in lines(stream):
        if not line or line.startswith("#"):
            continue
        if len(line.split(maxsplit=1)) > 1:
            raise FileInvalid(
                [Problem(file, "", f"line {number} holds more than a URL", "write one URL on each line")]
            )
        if line.startswith("/"):
            shown = f"GET {masked.url(line[: repeatable.SHOWN_LETTERS])}"
            yield Recorded("", "GET", repeatable.path_alone(line, shown, left_out))
        elif found := repeatable.repeat(
            "GET", line if "://" in line.partition("?")[0] else f"http://{line}", (), None, left_out
        ):
            yield found


URLS = Format("urls", requests, may_be=lambda sample: _URL.fullmatch(sample.first_line) is not None)
