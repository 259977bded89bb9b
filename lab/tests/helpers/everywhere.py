"""Lets servers that bind to 127.0.0.1 listen at all addresses, as those in containers do.

with everywhere.listening(): ...   # for servers that this process starts meanwhile

The servers of corpus and project listen on 127.0.0.1 only. A program of the kernel's, attached to a control
group, changes the address of each bind in it, so that the server need not be changed.
"""

import contextlib
import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# In a pure hierarchy of version 2, and beside one of version 1.
UNIFIED = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
PREFIX = "crumple-everywhere-"
BPF = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, PROG_ATTACH, SOCK_ADDR = 5, 8, 18
BIND_V4, BIND_V6 = 8, 9
# 127.0.0.1, and the third word of ::ffff:127.0.0.1, as the words of an address are read.
LOOPBACK, MAPPED = (int.from_bytes(each, "little") for each in (b"\x7f\0\0\1", b"\0\0\xff\xff"))
# Where struct bpf_sock_addr has the address.
V4, V6 = 4, 8


def why_not() -> str:
    """Why it cannot be done here; empty if it can."""
    if os.geteuid() != 0:
        return "only root attaches programs to control groups"
    if _unified() is None or platform.machine() not in BPF:
        return "no control groups of version 2, or an unknown kind of machine"
    try:
        os.close(_loaded(BIND_V4, _v4()))
    except OSError as error:
        return f"no program for a control group may be loaded: {error.strerror}"
    return ""


@contextmanager
def listening() -> Iterator[None]:
    """Let what this process starts meanwhile listen at all addresses. It must have ended by then."""
    unified = _unified()
    assert unified is not None
    _remove_left(unified)
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    before = next(line.removeprefix("0::/") for line in lines if line.startswith("0::"))
    group = unified / f"{PREFIX}{os.getpid()}"
    group.mkdir()
    try:
        for kind, program in ((BIND_V4, _v4()), (BIND_V6, _v6())):
            _attach(group, kind, program)
        (group / "cgroup.procs").write_text("0")
        yield
    finally:
        (unified / before / "cgroup.procs").write_text("0")
        with contextlib.suppress(OSError):
            group.rmdir()


def _unified() -> Path | None:
    return next((each for each in UNIFIED if (each / "cgroup.procs").exists()), None)


def _remove_left(unified: Path) -> None:
    """Remove the groups of processes that were killed."""
    for group in unified.glob(f"{PREFIX}*"):
        if not Path(f"/proc/{group.name.removeprefix(PREFIX)}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()


def _v4() -> bytes:
    return b"".join((_FIRST, _load(V4), _skip_unless(LOOPBACK, 2), _CLEAR, _store(V4), _LAST))


def _v6() -> bytes:
    # ::ffff:127.0.0.1 becomes ::, to which Java binds for all addresses of both kinds.
    third, fourth = V6 + 8, V6 + 12
    checks = (_load(third), _skip_unless(MAPPED, 5), _load(fourth), _skip_unless(LOOPBACK, 3))
    return b"".join((_FIRST, *checks, _CLEAR, _store(third), _store(fourth), _LAST))


def _instruction(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhI", code, of << 4 | to, offset, value)


def _load(offset: int) -> bytes:
    return _instruction(0x61, to=2, of=6, offset=offset)


def _store(offset: int) -> bytes:
    return _instruction(0x63, to=6, of=2, offset=offset)


def _skip_unless(value: int, instructions: int) -> bytes:
    # Of 32 bits: a value of 64 would be taken for negative.
    return _instruction(0x56, to=2, offset=instructions, value=value)


_FIRST, _CLEAR = _instruction(0xBF, to=6, of=1), _instruction(0xB7, to=2)
# Return 1: the bind is allowed.
_LAST = _instruction(0xB7, value=1) + _instruction(0x95)


def _loaded(kind: int, program: bytes) -> int:
    """Load the program; return its descriptor."""
    text, licence = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"GPL")
    head = struct.pack(
        "<IIQQIIQII",
        SOCK_ADDR,
        len(program) // 8,
        ctypes.addressof(text),
        ctypes.addressof(licence),
        0,
        0,
        0,
        0,
        0,
    )
    # The name, the index of a device, and what the program is attached to.
    return _bpf(PROG_LOAD, head + struct.pack("<16sII", b"", 0, kind))


def _attach(group: Path, kind: int, program: bytes) -> None:
    loaded, folder = _loaded(kind, program), os.open(group, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _bpf(PROG_ATTACH, struct.pack("<IIII", folder, loaded, kind, 0))
    finally:
        os.close(loaded)
        os.close(folder)


def _bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    given = ctypes.create_string_buffer(attributes)
    found = libc.syscall(BPF[platform.machine()], command, given, len(attributes))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)
