"""What every result says of itself, whichever command measured it: its name and tags, when, where, by what.

A result is one JSON document, the same that the command prints with --json. Each verb has a class of its own
(`*_document.py`) that adds the figures. The command makes an instance of it, which is printed and stored, and
which the report is made of; the published schemas are generated from these classes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Literal, TypeVar

from crumple.contract_base import Lenient
from crumple.documents.loaded_from import LoadedFrom
from crumple.drawing.report_parts import Answer
from crumple.drawing.terminal import shown_json
from crumple.machine import facts
from crumple.verdict.machines import with_load_host
from crumple.words import circumstances

Kind = Literal["load", "find", "diagnose", "versus"]
# Facts that take no other program to read. Host name, user and addresses are not among them.
FACTS = (
    "cpu_model", "architecture", "cores", "usable_cores", "physical_cores", "cpu_quota_cores", "governor",
    "turbo", "memory_bytes", "kernel", "distribution", "python",
)  # fmt: skip


class Result(Lenient):
    """What every result says of itself. `version` grows when a field changes its meaning."""

    kind: str
    """The command that measured it."""
    version: int
    """Of this kind of document."""
    name: str | None
    """By which it is found in the store; null if it was not stored."""
    tags: tuple[str, ...]
    """What was given with --tag."""
    began: str
    """When it began: ISO 8601, UTC."""
    ended_early: bool
    """Whether it was interrupted; it then has what was measured before."""
    asked: str
    """What was asked of which server, in a line."""
    headline: str
    """What it came to, in a line."""
    command: str
    """The command that repeats it."""
    machine: dict[str, Any]
    """Facts of the machine that it was measured on, the server's; null: could not be read."""
    loaded_from: LoadedFrom | None = None
    """Where the load came from; null: the machine that it was measured on."""
    lab_version: str
    """The version of the lab."""
    engine_version: str
    """The version of the engine."""

    @property
    def from_flag(self) -> str:
        """What a command adds so that its load comes from the same machine; empty: it is the server's."""
        return "" if self.loaded_from is None else self.loaded_from.flags

    @property
    def unix_s(self) -> float:
        """When it began, in seconds since the epoch."""
        return datetime.fromisoformat(self.began).timestamp()

    @property
    def measured_on(self) -> dict[str, Any]:
        """Facts of the machine, and as one of them which the load came from, if that is another."""
        return with_load_host(
            self.machine, None if self.loaded_from is None else self.loaded_from.model_dump()
        )

    @property
    def circumstances(self) -> list[str]:
        """When it was measured, on which machine, and with which versions."""
        return circumstances.of(self.machine, self.unix_s, self.lab_version)


Document = TypeVar("Document", bound=Result)


def located(answer: Answer, document: Result) -> Answer:
    """Return the answer with where the load came from, if that was a load host."""
    if document.loaded_from is None:
        return answer
    return replace(answer, subjects=[*answer.subjects, f"load {document.loaded_from.sentence}"])


def head(
    kind: Kind,
    version: int,
    *,
    command: str,
    began_unix_s: float,
    ended_early: bool,
    asked: str,
    headline: str,
    engine_version: str,
    tags: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what a result that has no name yet says of itself, as the fields of `Result`."""
    return {
        "kind": kind,
        "version": version,
        "name": None,
        "tags": tuple(tags),
        "began": datetime.fromtimestamp(began_unix_s, UTC).isoformat(timespec="seconds"),
        "ended_early": ended_early,
        "asked": asked,
        "headline": headline,
        "command": command,
        "machine": facts.read({name: facts.LASTING[name] for name in FACTS}),
        "lab_version": metadata.version("crumple"),
        "engine_version": engine_version,
    }


def measured_from(document: Document, loaded_from: LoadedFrom | None) -> Document:
    """Return the document of what was measured from a load host; as it is, if there was none."""
    if loaded_from is None:
        return document
    return document.model_copy(update={"loaded_from": loaded_from})


def text(whole: Mapping[str, Any]) -> str:
    """Return a document as it is printed and stored."""
    return shown_json(json.dumps(whole, indent=1, ensure_ascii=False, default=str) + "\n")
