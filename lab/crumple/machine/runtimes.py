"""Which runtime a program has, by its executable file.

It names runtimes whose programs serve in light threads, unless a program has event loops of its own, and
those of JavaScript, which have no light threads.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

# A section that Go's linker writes, and strip leaves. It lists the program's modules; these have event loops.
GO_SECTION = b".go.buildinfo"
GO_LOOPS = (b"panjf2000/gnet", b"tidwall/evio", b"lesismal/nbio")
PROGRAMS = {"beam.smp": "Erlang"}
# Names for the dynamic linker. Runtimes of JavaScript (Node.js, Bun, Deno) let add-ons call this function, or
# have all of theirs in a library.
LINKED = b".dynstr"
JAVASCRIPT = (b"\0napi_module_register\0", b"\0libnode.so.")
# Symbols, unless they were stripped: a program that GHC linked begins in this function, or has its runtime in
# a library.
SYMBOLS, HASKELL = (b".strtab", LINKED), (b"\0hs_main\0", b"\0libHSrts")
# Of a 64-bit ELF file (elf(5)): where the headers of sections are, how long each is, how many there are, and
# which section has their names; of a header: where its name begins, where the section is, how long it is.
HEADER = struct.Struct("<40xQ10xHHH")
SECTION = struct.Struct("<I20xQQ24x")
MAGIC = b"\x7fELF\x02\x01"
# The most that is read of a program, which may be damaged or huge: bytes of the names of sections, sections,
# bytes of the list of Go's modules, and bytes of another section that is searched for names.
NAMES_MOST, SECTIONS_MOST, MODULES_MOST, LINKED_MOST = 1 << 16, 256, 1 << 20, 1 << 23


def of(pids: Iterable[int]) -> str:
    """Return the runtime that all of these processes have; empty: another, several, or it cannot be read."""
    found = {_of(pid) for pid in pids}
    return found.pop() if len(found) == 1 else ""


def _of(pid: int) -> str:
    exe = Path(f"/proc/{pid}/exe")
    try:
        if (known := PROGRAMS.get(exe.readlink().name)) is not None:
            return known
        with exe.open("rb") as file:
            return next((name for name, is_so in RUNTIMES.items() if is_so(file)), "")
    except (OSError, OverflowError, struct.error, ValueError):
        return ""


def _is_go(file: BinaryIO) -> bool:
    """Whether a program is Go's, and has no event loops of its own, as far as its modules say."""
    modules = _section(file, GO_SECTION, MODULES_MOST)
    return modules is not None and not any(each in modules for each in GO_LOOPS)


def _is_javascript(file: BinaryIO) -> bool:
    return _has_any(file, LINKED, JAVASCRIPT)


def _is_haskell(file: BinaryIO) -> bool:
    return any(_has_any(file, section, HASKELL) for section in SYMBOLS)


def _has_any(file: BinaryIO, section: bytes, names: Sequence[bytes]) -> bool:
    found = _section(file, section, LINKED_MOST)
    return found is not None and any(each in found for each in names)


RUNTIMES: Mapping[str, Callable[[BinaryIO], bool]] = {
    "Go": _is_go,
    "JavaScript": _is_javascript,
    "Haskell": _is_haskell,
}


def _section(file: BinaryIO, wanted: bytes, most: int) -> bytes | None:
    """The beginning of a section of an ELF file, `most` bytes at most; None: it has none.

    Raises struct.error if the file is cut short.
    """
    file.seek(0)
    header = file.read(HEADER.size)
    if not header.startswith(MAGIC):
        return None
    begins, size, number, of_names = HEADER.unpack(header)
    if size != SECTION.size or not of_names < number <= SECTIONS_MOST:
        return None
    file.seek(begins)
    rows = [SECTION.unpack(file.read(size)) for _ in range(number)]
    _, offset, length = rows[of_names]
    file.seek(offset)
    names = file.read(min(length, NAMES_MOST))
    found = (row for row in rows if names[row[0] :].partition(b"\0")[0] == wanted)
    for _, offset, length in found:
        file.seek(offset)
        return file.read(min(length, most))
    return None
