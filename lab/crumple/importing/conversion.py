"""A file of recorded or described requests → the request file, and what is said of it. Sends nothing."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from crumple.errors import FileInvalid, Problem, UsageError
from crumple.importing import access_log, guess, request_toml, source, targets, url_list
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.tally import Chosen, Tally, kinds_said

MOST, MOST_MAX = 100, 10_000
Reader = Callable[[IO[bytes], Path, LeftOut], Iterator[Recorded]]


@dataclass(frozen=True)
class Converted:
    """What an import comes to. `said`: a line for each fact, the first about all of it.

    `made_up`: of how many requests something is in no document.
    """

    chosen: Chosen
    said: tuple[str, ...]
    made_up: int = 0

    def summary(self) -> tuple[str, ...]:
        """Return all that is said before the file is written, with what was taken by kind."""
        return self.said[0], *self.chosen.taken(), *self.said[1:]

    def toml(self, file: str) -> str:
        """Return the request file, which will have the name `file`."""
        return request_toml.as_toml(self.chosen.kinds, (*self.said, self.command(file)))

    def json(self) -> str:
        """Return the request file as JSON."""
        return request_toml.as_json(self.chosen.kinds)

    def command(self, file: str) -> str:
        """Return the command that loads with the request file."""
        # The origin comes from the file that was imported, and is to be pasted into a shell.
        words = ["crumple", "load", self.chosen.origin or "http://HOST:PORT", "--request-file", file]
        return shlex.join(words)


def converted(
    file: Path,
    named: str | None,
    host: str | None,
    most: int,
    read: Callable[[int], None] = lambda _: None,
) -> Converted:
    """Read the file. Raises UsageError.

    `named`: its format, None: by its structure; `host`: whose requests; `most`: how many different ones;
    `read` is told of the bytes that are read.
    """
    if not 1 <= most <= MOST_MAX:
        raise UsageError(f"--most {most}: a load takes 1 to {MOST_MAX:,} different requests", f"write {MOST}")
    left_out, tally = LeftOut(), Tally()
    with source.opened(file, read) as found:
        kind = guess.format_of(found, named, file)
        tally.take(_reader(kind)(found.whole(), file, left_out))
    chosen = tally.chosen(host, most, left_out)
    reasons = left_out.said()
    if chosen is None:
        why = "holds no request that can be repeated"
        raise FileInvalid([Problem(file, "", why, "; ".join(reasons) or "see crumple import --help")])
    name = "stdin" if str(file) == "-" else file.name
    said = f"{name} ({kind}): {kinds_said(chosen)}"
    made = chosen.made_up()
    lines = [" ".join(line.split()) for line in made.lines("made up")]
    return Converted(chosen, (said, *lines, *reasons), sum(made.counts.values()))


def _reader(kind: str) -> Reader:
    if kind == "har":
        # Imported here, as what follows: it needs a package that not every installation has.
        from crumple.importing import har

        return har.requests
    if kind == "postman":
        from crumple.importing import postman

        return postman.requests
    if kind == "openapi":
        from crumple.importing import openapi

        return openapi.requests
    return {
        "urls": url_list.requests,
        "vegeta": targets.of_text,
        "vegeta-json": targets.of_json,
        "access-log": access_log.requests,
    }[kind]
