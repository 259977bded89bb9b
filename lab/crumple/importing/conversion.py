"""A file of recorded or described requests → the request file, as TOML or JSON, and what is said of it.

Nothing is sent.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crumple import toml_text
from crumple.errors import FileInvalid, Problem, UsageError
from crumple.importing import guess, source
from crumple.importing.recorded import LeftOut
from crumple.importing.tally import ChosenRequests, Tally, Weighted, kinds_said


def entry(weighted: Weighted) -> dict[str, Any]:
    """Return one request as a request file has it, without what is empty or the default."""
    asked = weighted.request
    has_body = asked.body is not None or asked.body_file is not None
    said = {
        "name": asked.name,
        "method": None if asked.method == "GET" and not has_body else asked.method,
        "path": asked.path,
        "headers": dict(asked.headers),
        "body": asked.body,
        "body_file": asked.body_file,
        "weight": weighted.weight,
        "expect_status": weighted.expect_status,
    }
    return {name: value for name, value in said.items() if value not in (None, "", {})}


def as_toml(kinds: Sequence[Weighted], said: Sequence[str]) -> str:
    """Return the file as TOML. `said`: lines for its top."""
    parts = ["\n".join(map(toml_text.comment, said))]
    parts += [
        "\n".join(["[[requests]]", *(toml_text.line(name, value) for name, value in entry(each).items())])
        for each in _named_apart(kinds)
    ]
    return "\n\n".join(parts) + "\n"


def as_json(kinds: Sequence[Weighted]) -> str:
    """Return the file as JSON."""
    entries = [entry(each) for each in _named_apart(kinds)]
    return json.dumps({"requests": entries}, indent=2, ensure_ascii=False) + "\n"


def _named_apart(kinds: Sequence[Weighted]) -> Iterator[Weighted]:
    """Yield the requests; the second of one name has none, and is called by its path."""
    seen: set[str] = set()
    for each in kinds:
        is_second = each.request.name in seen
        seen.add(each.request.name)
        yield replace(each, request=replace(each.request, name="")) if is_second else each


# Different requests that are taken, if --most is not typed, and at most.
MOST, MOST_MAX = 100, 10_000


@dataclass(frozen=True)
class Converted:
    """What an import comes to."""

    chosen: ChosenRequests
    said: tuple[str, ...]
    """A line for each fact, the first about all of it."""
    made_up: int = 0
    """How many of the requests hold something that no document gave."""

    def summary(self) -> tuple[str, ...]:
        """Return all that is said before the file is written, with what was taken by kind."""
        return self.said[0], *self.chosen.taken(), *self.said[1:]

    def toml(self, file: str) -> str:
        """Return the request file, which will have the name `file`."""
        return as_toml(self.chosen.kinds, (*self.said, self.command(file)))

    def json(self) -> str:
        """Return the request file as JSON."""
        return as_json(self.chosen.kinds)

    def command(self, file: str) -> str:
        """Return the command that loads with the request file."""
        # The origin comes from the file that was imported, and is to be pasted into a shell.
        words = ["crumple", "load", self.chosen.origin or "http://HOST:PORT", "--request-file", file]
        return shlex.join(words)


def convert(
    file: Path,
    named: str | None,
    host: str | None,
    most: int,
    read: Callable[[int], None] = lambda _: None,
) -> Converted:
    """Read the file. Raises UsageError.

    `named`: its format, None: by its structure; `host`: whose requests; `most`: how many different ones;
    `read` is called with the number of bytes that are read.
    """
    if not 1 <= most <= MOST_MAX:
        raise UsageError(f"--most {most}: a load takes 1 to {MOST_MAX:,} different requests", f"write {MOST}")
    left_out, tally = LeftOut(), Tally()
    with source.open_file(file, read) as found:
        kind = guess.format_of(found, named, file)
        tally.take(kind.read(found.whole(), file, left_out))
    chosen = tally.chosen(host, most, left_out)
    reasons = left_out.said()
    if chosen is None:
        why = "holds no request that can be repeated"
        raise FileInvalid([Problem(file, "", why, "; ".join(reasons) or "see crumple import --help")])
    name = "stdin" if str(file) == "-" else file.name
    said = f"{name} ({kind.name}): {kinds_said(chosen)}"
    made = chosen.made_up()
    lines = [" ".join(line.split()) for line in made.lines("made up")]
    return Converted(chosen, (said, *lines, *reasons), sum(made.counts.values()))
