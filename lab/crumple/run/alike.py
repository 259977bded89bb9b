"""Trials that share what is alike in them, so that a report of thousands fits into memory.

A trial is some 90 KiB of objects. A fifth of it are the names of the fields that each object was given, and a
fifth are samples of the engine's own process, which no report of a run reads. Pure.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from crumple.contract import SampleColumns, TrialRecord

# A stored trial, which has a record.
Trial = TypeVar("Trial", bound=BaseModel)
Names = dict[tuple[type[BaseModel], frozenset[str]], set[str]]


def share(trials: Iterable[Trial]) -> Iterator[Trial]:
    """Yield the trials without the engine's samples; equal requests and names of fields are one object."""
    given: Names = {}
    asked: dict[str, Any] = {}
    for trial in trials:
        found = _without_samples(trial, asked)
        _share_names(found, given)
        yield found


def _without_samples(trial: Trial, asked: dict[str, Any]) -> Trial:
    record: TrialRecord | None = vars(trial)["record"]
    if record is None:
        return trial
    engine, spec = record.probes.engine, record.spec
    none = SampleColumns.model_validate(dict.fromkeys(SampleColumns.model_fields, ()))
    bare = engine.model_copy(update={"samples": none})
    parts = {
        "probes": record.probes.model_copy(update={"engine": bare}),
        "spec": spec.model_copy(update={"requests": asked.setdefault(repr(spec.requests), spec.requests)}),
    }
    return trial.model_copy(update={"record": record.model_copy(update=parts)})


def _share_names(given: Any, shared: Names) -> None:
    if isinstance(given, BaseModel):
        names = given.__pydantic_fields_set__
        object.__setattr__(
            given, "__pydantic_fields_set__", shared.setdefault((type(given), frozenset(names)), names)
        )
        for value in given.__dict__.values():
            _share_names(value, shared)
    elif isinstance(given, tuple) and given and isinstance(given[0], (BaseModel, tuple)):
        for value in given:
            _share_names(value, shared)
