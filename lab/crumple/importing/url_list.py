"""A list of URLs, one on each line; a path alone goes to the host that the load names."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.source import lines
from crumple.words import masked


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
        elif found := repeatable.repeated(
            "GET", line if "://" in line.partition("?")[0] else f"http://{line}", (), None, left_out
        ):
            yield found
