"""Writes a folder to begin a server with: a commented server.toml and a small program that works.

It never overwrites anything.
"""

import re
import string
from collections.abc import Collection
from pathlib import Path

from crumple.errors import CrumpleError, UsageError
from crumple.subject.server_toml import FILE

STARTER = Path(__file__).parent / "starter"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
LANGUAGE = re.compile(r"[^\"\\\x00-\x1f]+")


def write(folder: Path, language: str, taken: Collection[str]) -> tuple[Path, ...]:
    """Write the new `folder`; the files in it. `taken`: names of servers. Raises UsageError, CrumpleError."""
    name = folder.name
    if not NAME.fullmatch(name):
        raise UsageError(f'"{name}" is no name for a server', "use small letters, digits and hyphens")
    if not LANGUAGE.fullmatch(language):
        raise UsageError(f"--language {language}: that is no name", "write it plainly, such as Python")
    if folder.exists():
        raise UsageError(f"{folder} exists", "choose another name, or remove it first")
    if name in taken:
        raise UsageError(f"a server named {name} already exists", "choose another name")
    try:
        folder.mkdir(parents=True)
        files = tuple(_written(file, folder, name, language) for file in sorted(STARTER.iterdir()))
    except OSError as error:
        raise CrumpleError(
            f"cannot write {error.filename}: {error.strerror}", "choose another place"
        ) from None
    return files


def _written(file: Path, folder: Path, name: str, language: str) -> Path:
    text = file.read_text(encoding="utf-8")
    if file.name == FILE:
        values = {"name": name, "title": name.replace("-", " ").capitalize(), "language": language}
        text = string.Template(text).substitute(values)
    written = folder / file.name
    written.write_text(text, encoding="utf-8")
    return written
