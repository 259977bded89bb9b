"""Commands of curl for tests: parts that are put together, and whole ones.

They are in `commands_of_curl/`. A line each: what may stand beside any request, what asks for something, what
a load refuses. Divided by %%: lines as people paste them, commands as documentation of APIs prints them.
URL stands for the server's URL with a slash at its end, HOST for its host and port, PORT for its port.
"""

import itertools
import random
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "commands_of_curl"
# What is in the folder in which they are run.
FILES = {
    "text": "a=ö\r\nb&c\n".encode(),
    "bytes": b"\0\xff\r\n@",
    "doc.json": b'{"name": "crumple"}\n',
    "photo.PNG": b"\x89PNG\r\n",
    "notes.txt": b"some notes",
    "page.html": b"<p>",
    "clip.mp4": b"\0\0\0",
    "headers": b"X-From: file\n\nX-Also: this\r\n",
    "etag": b'"33a64df5"\n',
}
# What a command asks for.
BASES = ("URL", "URLv1/items?page=2", "-d a=1 URL", "-F a=1 URL", "-X PUT --json '{\"a\":[1,2]}' 'URLx'")


def generated(bases: int, pairs: int) -> list[str]:
    """Return commands of all parts, each with this number of bases, and of this number of pairs of parts."""
    beside = _lines("beside")
    single = [
        f"curl -s {part} {BASES[(at + step) % len(BASES)]}"
        for at, part in enumerate(beside)
        for step in range(bases)
    ]
    drawn = random.Random(4).sample(list(itertools.combinations(beside, 2)), pairs)
    both = [f"curl -s {one} {other} {BASES[at % len(BASES)]}" for at, (one, other) in enumerate(drawn)]
    return [*single, *both, *(f"curl -s {part}" for part in _lines("alone"))]


def refused() -> list[str]:
    """Return commands whose request a load does not send."""
    return [*(f"curl -s {part}" for part in _lines("refused")), *whole("refused_pasted")]


def write_files(folder: Path) -> None:
    """Write the files that the commands read, as they are before each."""
    for name, text in FILES.items():
        (folder / name).write_bytes(text)


def whole(name: str) -> list[str]:
    """Return the commands of a file of whole ones."""
    return [text.strip("\n") for text in _text(name).split("\n%%\n")]


def _lines(name: str) -> list[str]:
    return _text(name).splitlines()


def _text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
