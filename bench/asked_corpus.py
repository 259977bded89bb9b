"""What scripts share that ask crumple about servers of the corpus, each in several places: a lot of servers,
a server in a place, an answer, and rows that are kept so that an interrupted script goes on where it was."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bounds import skip
from crumple import project
from crumple.errors import CrumpleError
from crumple.subject import build

sys.path.insert(0, str(project.root() / "corpus"))
sys.path.insert(0, str(project.root() / "lab" / "tests" / "helpers"))

import check  # type: ignore[import-not-found]
import everywhere  # type: ignore[import-not-found]
import other_hosts  # type: ignore[import-not-found]

# As the folder has the same name, its types are not found.
corpus = check.corpus
CRUMPLE = Path(sys.executable).parent / "crumple"
# Longer than any diagnosis or search takes.
LIMIT_S = 400.0
# Where a diagnosis has no first finding.
NO_FINDING = FAILED, CANNOT_TELL = "failed", "cannot tell"
PATH = os.environ["PATH"]
Row = dict[str, Any]
Key = tuple[str | int, ...]


class NotServed(CrumpleError):  # noqa: N818  (what happens to a server, and no fault of the script)
    """A server that did not start. The text is why."""


class Rows:
    """Rows of a file of JSON lines, each by a key. None: they are kept nowhere."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file and file.is_file() else ()
        rows = map(json.loads, lines)
        # What failed is tried again.
        self._known: dict[Key, Row] = {tuple(row["key"]): row for row in rows if row["said"] is not None}

    def once(self, key: Key, made: Callable[[], Row]) -> Row:
        """The row of the key; if there is none yet, make it and keep it."""
        if key not in self._known:
            self._known[key] = {"key": key, **made()}
            if self._file:
                with self._file.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps(self._known[key]) + "\n")
        return self._known[key]

    def has(self, key: Key) -> bool:
        """Whether there is a row."""
        return key in self._known


def counted(all_of: Sequence[Any], is_known: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Each one with how far the work is and when it ends, by what those took that were not known."""
    began_s, made = time.monotonic(), 0
    left = sum(not is_known(each) for each in all_of)
    for number, each in enumerate(all_of, 1):
        more = f", {(time.monotonic() - began_s) / made * left / 60:.0f} min left" if made else ""
        is_new = not is_known(each)
        yield f"{number} of {len(all_of)}{more}", each
        made, left = made + is_new, left - is_new


def lot(number: int, seed: int) -> list[str]:
    """The names of so many entries with a planted cause, of those that can run here, by lot."""
    entries = corpus.read()
    names = sorted(name for name, entry in entries.items() if entry.cause and not entry.helper)
    random.Random(seed).shuffle(names)
    drawn: list[str] = []
    for name in names:
        if len(drawn) == number:
            break
        chain = (entries[name], *filter(None, [entries.get(entries[name].beside or "")]))
        if not any(build.lacks(corpus.description(each)) for each in chain):
            drawn.append(name)
    return drawn


def idle_of(name: str) -> int:
    """How many idle connections belong to what is planted."""
    entry = corpus.read().get(name)
    return entry.idle if entry else 0


@contextmanager
def served(name: str, host: Any = None, *, all_addresses: bool = True) -> Iterator[int]:
    """Run a server on a host until the `with` ends, None: this one; yield its port. Raises NotServed.

    `all_addresses`: it listens at all addresses of the host instead of 127.0.0.1 only.
    """
    words = [sys.executable, str(project.root() / "corpus" / "serve.py"), name]
    words += ["--everywhere"] if all_addresses else []
    pipe = subprocess.PIPE
    with subprocess.Popen(
        host.words(*words) if host else words, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            raise NotServed(f"{name}: {process.communicate()[1].strip().splitlines()[-1:]}")
        try:
            yield int(json.loads(said)["address"].rpartition(":")[2])
        finally:
            process.communicate()


def asked(*words: str, codes: Iterable[int] = (0,), path: str = PATH, within: Sequence[str] = ()) -> Row:
    """What `crumple` prints as JSON: {"said", "error", "took_s"}. Nothing is stored.

    `codes`: with which exit code it is an answer; `path`: the PATH in which it finds ssh; `within`: the words
    before the command, which let it run in other namespaces.
    """
    began_s = time.monotonic()
    command = [*within, str(CRUMPLE), words[0], "--quiet", "--no-store", "--json", *words[1:]]
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, "PATH": path},
        )
    except subprocess.TimeoutExpired:
        return {"said": None, "error": f"no answer after {LIMIT_S:g} s", "took_s": LIMIT_S}
    said = json.loads(ran.stdout) if ran.stdout and ran.returncode in codes else None
    error = "" if said else ran.stderr.strip() or f"code {ran.returncode}"
    return {"said": said, "error": error, "took_s": time.monotonic() - began_s}


def first_finding(row: Row) -> str:
    """The cause that a diagnosis named first, or a word of NO_FINDING."""
    if row["said"] is None:
        return FAILED
    causes = [each["cause"] for each in row["said"]["findings"] if each["kind"] == "finding"]
    return str(causes[0]) if causes else CANNOT_TELL


def why_none(row: Row) -> str:
    """Why a diagnosis has no first finding; empty if it has one."""
    if row["said"] is None:
        return str(row["error"])[-100:].strip()
    whys = [each["why"] for each in row["said"]["findings"] if each["kind"] != "finding"]
    return str(whys[0])[:100] if whys and first_finding(row) == CANNOT_TELL else ""


def skip_unless_possible(*why: str) -> None:
    """End the script if servers cannot listen on other hosts here, or for one of these reasons."""
    for each in (other_hosts.why_not(), everywhere.why_not(), *why):
        if each:
            skip(each)
