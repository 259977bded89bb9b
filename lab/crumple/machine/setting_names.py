"""What a server's program calls the number that a cause is about, and what it is now.

It reads the command lines of its processes, and the few files of settings that these name or that
`setting_names.toml` does.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from crumple.machine import process_tree, runtimes

FILE = Path(__file__).with_name("setting_names.toml")
# The most bytes of a file of settings that are read, since such files are short; and the most processes that
# are looked at, since further ones of a server are like these.
BYTES_MOST, PROCESSES_MOST = 100_000, 16


@dataclass(frozen=True)
class Setting:
    """The setting of a program. `cause`: the one whose remedy it is, by its id.

    `write`: what the user writes, with {n} for the number; `now`: the number of today, and `file`: where it
    was read, empty: in the command line; None: it was not found. `each`: how many requests each of them
    serves at a time. `where`: where it may stand. `library`: of one that the program may use, or may not.
    """

    program: str
    cause: str
    write: str
    now: int | None = None
    each: int = 1
    file: str = ""
    where: str = ""
    library: bool = False

    def written(self, requests: float) -> str:
        """Return what is written for this number of requests at a time."""
        return self.write.replace("{n}", str(max(1, -(-round(requests) // self.each))))


@dataclass(frozen=True)
class ProgramCall:
    """A process: its command line, with the runtime before it, and the folder in which it runs.

    `root`: the folder that is / for it; in a container its files are not those of the machine.
    """

    words: str
    folder: Path
    root: Path = Path("/")


def of(pid: int) -> tuple[Setting, ...]:
    """Return the settings of a server's programs: of each cause the first that fits."""
    found: dict[str, Setting] = {}
    for each in list(_running(pid))[:PROCESSES_MOST]:
        for setting in of_process(each):
            known = found.get(setting.cause)
            if known is None or (known.now is None and setting.now is not None):
                found[setting.cause] = setting
    return tuple(found.values())


def of_process(running: ProgramCall) -> tuple[Setting, ...]:
    """Return the settings of the program that runs in a process, one for each cause."""
    found: dict[str, Setting] = {}
    for entry in entries():
        if entry["cause"] not in found and re.search(entry["matches"], running.words):
            found[entry["cause"]] = _read(entry, running)
    return tuple(found.values())


@cache
def entries() -> Sequence[dict[str, Any]]:
    """Return the entries of the file, in its order."""
    entries: list[dict[str, Any]] = tomllib.loads(FILE.read_text())["setting"]
    return entries


def _running(pid: int) -> Iterator[ProgramCall]:
    for each in (pid, *process_tree.descendants(pid)):
        try:
            words = Path(f"/proc/{each}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
            folder = Path(f"/proc/{each}/cwd").readlink()
        except OSError:
            continue
        runtime = runtimes.of([each])
        yield ProgramCall(f"{runtime}: {words}" if runtime else words, folder, Path(f"/proc/{each}/root"))


def _read(entry: dict[str, Any], running: ProgramCall) -> Setting:
    texts = [("", running.words), *_files(entry, running)]
    now, file = _number(entry.get("now"), texts)
    each, _ = _number(entry.get("each"), texts)
    where = entry.get("where", "")
    return Setting(
        entry["program"],
        entry["cause"],
        entry["write"],
        now,
        max(1, each or 1),
        file,
        where,
        # Its number shows that the program uses it.
        library=entry.get("library", False) and now is None,
    )


def _number(pattern: str | None, texts: Sequence[tuple[str, str]]) -> tuple[int | None, str]:
    """Return the first number that the pattern finds, and the file in which; None: it finds none."""
    for file, text in texts if pattern else ():
        if (found := re.search(pattern or "", text, re.MULTILINE)) is not None:
            return int(next(each for each in found.groups() if each)), file
    return None, ""


def _files(entry: dict[str, Any], running: ProgramCall) -> Iterator[tuple[str, str]]:
    named = re.search(entry["file"], running.words) if "file" in entry else None
    folder = running.folder
    paths: list[Path] = []
    if named is not None:
        paths.append(folder / next(each for each in named.groups() if each))
        folder = paths[0].parent
    for pattern in entry.get("files", ()):
        base, glob = (Path("/"), pattern[1:]) if pattern.startswith("/") else (folder, pattern)
        at = _within(running.root, base)
        paths += [base / each.relative_to(at) for each in sorted(at.glob(glob))]
    for path in paths:
        there = _within(running.root, path)
        try:
            # A pipe would have no end.
            if there.is_file():
                with there.open(errors="replace") as file:
                    yield str(path), file.read(BYTES_MOST)
        except OSError:
            continue


def _within(root: Path, path: Path) -> Path:
    """Return the path of a file of a process whose / is that root."""
    return root / str(path).lstrip("/")
