"""Servers whose first limit is known, with what a diagnosis observed of them. Not a test itself.

`stored/servers.toml` says of each what limits it and where it comes from. `stored/observed.jsonl.gz` has what
was observed, a line each. `corpus/store.py` adds one.
"""

import gzip
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from crumple.cause import judged
from crumple.limit.finding import Cause, Finding
from crumple.observation.at_load import AtLoad
from crumple.observation.observed import Observed
from crumple.observation.server_facts import ServerFacts
from pydantic import TypeAdapter, ValidationError

FOLDER = Path(__file__).parents[1] / "stored"
TRUTHS, OBSERVED = FOLDER / "servers.toml", FOLDER / "observed.jsonl.gz"
# "incident": rebuilt from a public report. "planted": the cause was put in on purpose.
Source = Literal["incident", "planted"]
Type = TypeVar("Type")


@dataclass(frozen=True)
class Stored:
    """One server.

    `causes`: each is a right answer, the first is the best. `framework`, `runtime`: of the server. `report`:
    the public report of an incident. `facts`: what was observed.
    """

    name: str
    causes: tuple[Cause, ...]
    framework: str
    runtime: str
    source: Source
    report: str
    facts: ServerFacts

    @property
    def first(self) -> Finding | None:
        """What is said to limit it; None: *cannot tell*."""
        said = judged.judged(self.facts)
        return next((each for each in said if isinstance(each, Finding)), None)

    @property
    def is_with_paths(self) -> bool:
        """Whether the diagnosis had other paths than that of the work."""
        return self.facts.seen.slow is not None or self.facts.seen.heavy is not None


@cache
def servers() -> tuple[Stored, ...]:
    """All of them, by name."""
    truths, observed = read_truths(), read_observed()
    if truths.keys() != observed.keys():
        raise ValueError(f"{TRUTHS} and {OBSERVED} differ: {sorted(truths.keys() ^ observed.keys())}")
    return tuple(_stored(name, truths[name], observed[name]) for name in sorted(truths))


def read_truths() -> dict[str, dict[str, Any]]:
    """What is known of each server, by its name."""
    return tomllib.loads(TRUTHS.read_text(encoding="utf-8")) if TRUTHS.exists() else {}


def read_observed() -> dict[str, dict[str, Any]]:
    """What was observed of each server, by its name."""
    if not OBSERVED.exists():
        return {}
    lines = gzip.decompress(OBSERVED.read_bytes()).decode().splitlines()
    return {each.pop("name"): each for each in map(json.loads, lines)}


def write(truths: Mapping[str, Mapping[str, Any]], observed: Mapping[str, Mapping[str, Any]]) -> None:
    """Write all servers; the same ones become the same bytes."""
    toml = (f"[{name}]\n{_toml(truths[name])}\n" for name in sorted(truths))
    TRUTHS.write_text("\n".join(toml), encoding="utf-8")
    lines = (json.dumps({"name": name, **observed[name]}, separators=(",", ":")) for name in sorted(observed))
    OBSERVED.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0))


def facts(observed: Mapping[str, Any]) -> ServerFacts:
    """What the hypotheses are asked about, of what a diagnosis wrote as `observed` and `facts`."""
    found = {
        name: value for name, value in observed["facts"].items() if name in ServerFacts.__dataclass_fields__
    }
    beyond = loaded(AtLoad, found.pop("beyond"))
    return ServerFacts(seen=loaded(Observed, observed["observed"]), beyond=beyond, **found)


def loaded(type_: type[Type], written: Mapping[str, Any]) -> Type:
    """Return a value of the type as it is now, of one that was written when it may have had other fields.

    A field that is gone is left out. One that is new, has no default, and may be None was not read.
    """
    adapter = TypeAdapter(type_)
    try:
        return adapter.validate_python(written)
    except ValidationError as error:
        missing = [each["loc"] for each in error.errors() if each["type"] in ("missing", "missing_argument")]
        if not missing:
            raise
        return adapter.validate_python(_without(written, missing))


def _without(written: Mapping[str, Any], missing: Iterable[tuple[int | str, ...]]) -> Any:
    """Return a copy in which what is missing is None."""
    copy = json.loads(json.dumps(written))
    for *path, name in missing:
        place = copy
        for step in path:
            place = place[step]
        place[name] = None
    return copy


def _stored(name: str, truth: Mapping[str, Any], observed: Mapping[str, Any]) -> Stored:
    about = {**truth, "causes": tuple(truth["causes"]), "report": truth.get("report", "")}
    return Stored(name=name, facts=facts(observed), **about)


def _toml(truth: Mapping[str, Any]) -> str:
    # A JSON text or list of texts is one of TOML, too.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in truth.items())
