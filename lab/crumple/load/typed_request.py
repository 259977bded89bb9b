"""One request as it was typed, in flags, in a request file or as a command of curl."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.contract import BodyPartSpec


@dataclass(frozen=True)
class TypedRequest:
    """A request as typed. None: not given."""

    path: str
    method: str | None = None
    headers: Sequence[tuple[str, str]] = ()
    body: str | None = None
    body_file: str | None = None
    body_parts: Sequence[BodyPartSpec] | None = None
    lines_file: str | None = None
    """Each line of this file is a body."""
    content_type: str | None = None
    accept: str | None = None
    names_itself: bool = True
    """Whether a User-Agent is sent where no header gives one."""
    expect_status: int | str | None = None
    expect_body: str | None = None
    """The text itself, or @ and a file."""
    weight: int = 1
    name: str = ""
    """Its name in reports; empty: its method and path."""
    file: Path | None = None
    """The request file that it is from."""
    key: str = ""
    """Its place in that file."""
