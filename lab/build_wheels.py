"""Builds the wheels that hold lab and engine, one for each kind of machine that can be built for here.

    .venv/bin/python lab/build_wheels.py            # make wheels
    .venv/bin/python lab/build_wheels.py x86_64     # for these kinds only

The engine is linked statically, so that one wheel is right for every Linux of a kind, whatever its libc. It
is linked with glibc and not with musl, whose memory functions are slower. What a static glibc does badly,
looking up names of hosts and users, the engine does not do: the lab gives it addresses.
"""

import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple import cli, engine
from crumple.errors import CrumpleError
from crumple.machine import facts
from crumple.machine.facts import UnreadError
from crumple.shell import manual, scripts
from crumple.shell.described import Described

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("x86_64", "aarch64")
# Read by wheel_hook.py: a folder with what the wheel gets, and its platforms.
ADDED, PLATFORMS = "CRUMPLE_WHEEL_ADDED", "CRUMPLE_WHEEL_PLATFORMS"
# A static program needs no library, so that any version of either would do. These are the oldest in use.
TAGS = ("manylinux_2_17_{0}", "manylinux2014_{0}", "musllinux_1_1_{0}")
_ELF, _INTERPRETER, _64_BITS = b"\x7fELF", 3, 2


class NotBuiltError(Exception):
    """A wheel that cannot be built here, and why."""


@dataclass(frozen=True)
class Kind:
    """A kind of machine, as `uname -m` calls it, and what builds for it."""

    name: str

    @property
    def target(self) -> str:
        """The kind as Rust calls it."""
        return f"{self.name}-unknown-linux-gnu"

    @property
    def compiler(self) -> str:
        """The C compiler, which also links."""
        return "cc" if self.name == platform.machine() else f"{self.name}-linux-gnu-gcc"


def main(names: Sequence[str]) -> int:
    """Build the wheels and name them. Return 1 if none was built, or one that was asked for was not."""
    built, left_out = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or KINDS:
            kind = Kind(name)
            try:
                check(kind)
                added = Path(folder) / name
                write_added(added, cli.described(), built_engine(kind))
                built.append(build(added, tags(kind), ROOT / "dist"))
            except NotBuiltError as why:
                left_out += 1
                print(f"left out: {name}: {why}")
    for wheel in built:
        print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size / 1e6:.1f} MB")
    return int(not built or (bool(names) and left_out > 0))


def check(kind: Kind) -> None:
    """Return if all that builds for the kind is here. Raises NotBuiltError."""
    if shutil.which(kind.compiler) is None:
        raise NotBuiltError(f"no C compiler for it; on Debian: apt-get install gcc-{_debian(kind)}")
    libc = Path(_said(kind.compiler, "-print-file-name=libc.a"))
    if not libc.is_absolute():
        raise NotBuiltError("no static glibc for it; on Debian it is in libc6-dev, or in libc6-dev-…-cross")
    libraries = Path(_said("rustc", "--print", "target-libdir", "--target", kind.target))
    if not list(libraries.glob("libstd-*.rlib")):
        raise NotBuiltError(f"no Rust library for it; run: rustup target add {kind.target}")


def built_engine(kind: Kind) -> Path:
    """Compile the engine and return its executable, which is static. Raises NotBuiltError."""
    variable = kind.target.replace("-", "_")
    target_folder = ROOT / "engine" / "target" / "static"
    environment = {
        **os.environ,
        "RUSTFLAGS": "-C target-feature=+crt-static",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        f"CARGO_TARGET_{variable.upper()}_LINKER": kind.compiler,
        f"CC_{variable}": kind.compiler,
    }
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--target", kind.target]
    command += ["--manifest-path", str(ROOT / "engine" / "Cargo.toml"), "--target-dir", str(target_folder)]
    if subprocess.run(command, env=environment).returncode:
        raise NotBuiltError("the engine does not compile, for the reason above")
    executable = target_folder / kind.target / "release" / engine.NAME
    if not is_static(executable):
        raise NotBuiltError(f"{executable} needs libraries of the system")
    return executable


def is_static(executable: Path) -> bool:
    """Whether a program starts without a loader, and so without any library of the system."""
    content = executable.read_bytes()
    if content[:4] != _ELF or content[4] != _64_BITS:
        raise NotBuiltError(f"{executable} is no program of 64 bits")
    (at,) = struct.unpack_from("<Q", content, 32)
    size, number = struct.unpack_from("<HH", content, 54)
    kinds = [struct.unpack_from("<I", content, at + size * row)[0] for row in range(number)]
    return _INTERPRETER not in kinds


def write_added(folder: Path, described: Described, executable: Path) -> None:
    """Write what the wheel gets: the engine, the commit, the commands as data, manual and completions."""
    share = folder / "share"
    for name, page in manual.pages(described).items():
        _write(share / "man" / f"man{manual.SECTION}" / name, page)
    for shell, file in scripts.FILES_IN_SHARE.items():
        _write(share / file, scripts.script(shell))
    _write(folder / "package" / "commands.json", json.dumps(described))
    try:
        _write(folder / "package" / "commit.txt", facts.commit())
    except UnreadError as error:
        print(f"the wheel will not say its commit: {error}")
    (folder / "package" / "bin").mkdir()
    shutil.copy(executable, folder / "package" / "bin" / engine.NAME)


def tags(kind: Kind) -> str:
    """The platforms of a wheel, as they stand in its name."""
    return ".".join(tag.format(kind.name) for tag in TAGS)


def name_of(version: str, kind: Kind) -> str:
    """The file name of a wheel."""
    return f"crumple-{version}-py3-none-{tags(kind)}.whl"


def build(added: Path, platforms: str, out: Path) -> Path:
    """Build the wheel and return it. Raises NotBuiltError."""
    command = ["uv", "build", "--quiet", "--wheel", "--out-dir", str(out), str(ROOT / "lab")]
    environment = {**os.environ, ADDED: str(added), PLATFORMS: platforms}
    if subprocess.run(command, env=environment).returncode:
        raise NotBuiltError("uv does not build it, for the reason above")
    return max(out.glob(f"crumple-*{platforms}.whl"), key=lambda wheel: wheel.stat().st_mtime_ns)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _debian(kind: Kind) -> str:
    """The kind as Debian calls its compilers."""
    return f"{kind.name.replace('_', '-')}-linux-gnu"


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotBuiltError(f"{command[0]} does not say: {error}") from None


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CrumpleError as error:
        sys.exit(str(error))
