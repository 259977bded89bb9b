"""The text of a study, and what is wrong with changed copies of it."""

import copy
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple.errors import FileInvalid, Problem
from crumple.study import study
from crumple.study.names import Known

KNOWN = Known(
    servers=dict.fromkeys(documents.KNOWN_SERVERS, ("hello",)) | {"java-only-todos": ("todos",)},
    workloads={"hello": ("delay_ms",), "todos": ()},
    metrics=("throughput", "response_p99"),
    defaults={"go-nethttp": {"workers": 4, "keep_alive": 60}},
)


FILE = Path("demo.toml")


def changed(*path: str | int, to: Any = None, drop: bool = False) -> dict[str, Any]:
    written = copy.deepcopy(documents.STUDY)
    here: Any = written
    for step in path[:-1]:
        here = here[step]
    if drop:
        del here[path[-1]]
    else:
        here[path[-1]] = to
    return written


def problems(written: dict[str, Any]) -> list[Problem]:
    with pytest.raises(FileInvalid) as caught:
        study.parse(written, FILE, KNOWN)
    assert caught.value.exit_code == 2
    return list(caught.value.problems)


SHAPE = ("experiments", "shared", "shape")


QUICK = ("experiments", "shared", "scales", "quick")
