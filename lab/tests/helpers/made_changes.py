"""Stored loads before and after a change, as documents."""

import os
from collections.abc import Mapping
from typing import Any

import made_results
import synthetic_load
from crumple import contract
from crumple.record.validity import Validity
from crumple.results import result_store

MACHINE = {"cpu_model": "c", "cores": 2, "kernel": "6.1", "governor": "performance"}


SHAPE = contract.ClosedShapeSpec(connections=32)


ages = iter(range(1_000_000))


def keep(document: dict[str, Any], name: str) -> None:
    """Store a document that is newer than all before."""
    result_store.keep(document, name)
    path = result_store.folder() / f"{name}.json"
    written_s = 1e9 + next(ages)
    os.utime(path, (written_s, written_s))


def load(
    name: str,
    slower: float = 1.0,
    *,
    shape: contract.ShapeSpec = SHAPE,
    validity: Validity = synthetic_load.VALID,
    url: str = synthetic_load.URL,
    request: Mapping[str, Any] | None = None,
    **changes: Any,
) -> None:
    """Store a load of a server that is slower by a factor. `request`: what is asked instead."""
    answered = [round(10_000 / slower)] * 3
    spec = synthetic_load.spec(shape)
    requests = tuple(each.model_copy(update=request) for each in spec.requests)
    record = synthetic_load.record(
        spec.model_copy(update={"requests": requests}), answered, median_ns=3e6 * slower
    )
    made = synthetic_load.load(record, validity)
    document = made_results.of_load(made, machine=MACHINE)
    keep(document | {"url": url} | changes, name)
