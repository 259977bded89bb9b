"""Which runtime of light threads a program has, by its executable file.

Only those are named whose every program runs its handlers in light threads unless it takes pains not to.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

# A section of the executable → whose linker writes it. It stays where symbols are stripped.
SECTIONS = {b".go.buildinfo": "Go"}
PROGRAMS = {"beam.smp": "Erlang"}
# Of a 64-bit ELF file (elf(5)): where the headers of sections are, how long each is, how many there are, and
# which section has their names; of a header: where its name begins, where the section is, how long it is.
HEADER = struct.Struct("<40xQ10xHHH")
SECTION = struct.Struct("<I20xQQ24x")
MAGIC = b"\x7fELF\x02\x01"
NAMES_MOST, SECTIONS_MOST = 1 << 16, 256


def of_light_threads(pids: Iterable[int]) -> str:
    """Return the runtime that all of these processes have; empty: another, several, or it cannot be read."""
    found = {_of(pid) for pid in pids}
    return found.pop() if len(found) == 1 else ""


def _of(pid: int) -> str:
    exe = Path(f"/proc/{pid}/exe")
    try:
        if (known := PROGRAMS.get(exe.readlink().name)) is not None:
            return known
        with exe.open("rb") as file:
            sections = _sections(file)
    except (OSError, OverflowError, struct.error, ValueError):
        return ""
    return next((runtime for section, runtime in SECTIONS.items() if section in sections), "")


def _sections(file: BinaryIO) -> set[bytes]:
    """The names of the sections of an ELF file; none of another file. Raises struct.error if it is cut."""
    header = file.read(HEADER.size)
    if not header.startswith(MAGIC):
        return set()
    begins, size, number, of_names = HEADER.unpack(header)
    if size != SECTION.size or not of_names < number <= SECTIONS_MOST:
        return set()
    file.seek(begins)
    rows = [SECTION.unpack(file.read(size)) for _ in range(number)]
    _, offset, length = rows[of_names]
    file.seek(offset)
    names = file.read(min(length, NAMES_MOST))
    return {names[name:].partition(b"\0")[0] for name, *_ in rows if name < len(names)}
