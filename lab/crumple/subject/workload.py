"""Reads workloads from contract/workloads/<name>.toml: what a request asks and the exact answer expected."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from crumple import contract, toml_file
from crumple.contract import Frozen
from crumple.errors import FileInvalid, Problem, UsageError
from crumple.subject import right_answers
from crumple.subject.right_answers import Exact, ExpectedBody, Fresh
from crumple.subject.right_answers import Value as Value

# Length and status of every answer are checked. Hashing all bodies would lower the engine's ceiling.
HASH_ONE_IN = 64
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
WHOLE = re.compile(r"[0-9]+")
BODIES = ("body", "computed", "fresh")
ONE_BODY = "write one of body, computed and fresh"


class Asked(Frozen):
    """The request as written; `path` holds {parameters}."""

    method: str = "GET"
    path: str = Field(min_length=1, pattern="^/")
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Parameter(Frozen):
    """What may differ between experiments: a whole number in a range, one of a few words, or any value."""

    default: Value
    meaning: str
    least: int | None = None
    most: int | None = None
    among: tuple[str, ...] = ()

    def fault(self, value: Value) -> str:
        """What to write instead of `value`; empty if it is allowed."""
        if self.among:
            return "" if value in self.among else f"write {' or '.join(self.among)}"
        if self.least is None or self.most is None:
            return ""
        whole = WHOLE.fullmatch(str(value))
        if whole and self.least <= int(str(value)) <= self.most:
            return ""
        return f"write a whole number from {self.least} to {self.most}"


class Bounds(Frozen):
    """A body that is new for each request: its length, and the least and greatest value of its bytes."""

    bytes: int = Field(ge=1)
    lowest: int = Field(ge=0, le=255)
    highest: int = Field(ge=0, le=255)


class Answer(Frozen):
    """The right answer; its body is given, computed or bounded, exactly one of the three."""

    status: int = Field(default=200, ge=100, le=599)
    content_type: str
    body: str | None = None
    computed: right_answers.Kind | None = None
    fresh: Bounds | None = None

    @model_validator(mode="after")
    def _one_body(self) -> "Answer":
        given = [name for name in BODIES if getattr(self, name) is not None]
        if len(given) != 1:
            context = {"message": f"has {' and '.join(given) or 'no body'}", "remedy": ONE_BODY}
            raise PydanticCustomError("impossible", "{message}", context)
        return self


class Query(Frozen):
    """The one query that each answer needs: the table, and how many of its rows the query reads."""

    table: Literal["wp_options", "books"]
    rows: int = Field(ge=1)


class Workload(Frozen):
    """One workload. `name`: its file's, without .toml."""

    name: str
    title: str
    about: str = ""
    request: Asked
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    database: Query | None = None
    answer: Answer

    def answer_to(self, parameters: Mapping[str, Value]) -> ExpectedBody:
        """The expected body; parameters not given have their defaults. Raises UsageError."""
        values = self._filled(parameters)
        answer = self.answer
        if answer.fresh is not None:
            return Fresh(answer.fresh.bytes, answer.fresh.lowest, answer.fresh.highest)
        if answer.computed is not None:
            return right_answers.computed(answer.computed, frozenset(values.items()))
        assert answer.body is not None
        return Exact(answer.body.encode("utf-8"))

    def request_with(self, parameters: Mapping[str, Value]) -> contract.Request:
        """The request with its expected answer; parameters not given have defaults. Raises UsageError."""
        values = self._filled(parameters)
        expected = self.answer_to(parameters)
        headers = {"Accept": self.answer.content_type, **self.request.headers}
        return contract.Request(
            method=self.request.method,
            path=PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), self.request.path),
            headers=tuple(headers.items()),
            body=self.request.body,
            expect=contract.Expect(
                status=self.answer.status,
                body_bytes=expected.length,
                body_sha256=expected.sha256,
                hash_one_in=0 if expected.fresh else HASH_ONE_IN,
            ),
        )

    def _filled(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        for name, value in parameters.items():
            if name not in self.parameters:
                remedy = toml_file.did_you_mean(name, self.parameters)
                raise UsageError(f"workload {self.name} has no parameter {name}", remedy)
            remedy = self.parameters[name].fault(value)
            if remedy:
                raise UsageError(f"workload {self.name} takes no {name}={value}", remedy)
        return {name: each.default for name, each in self.parameters.items()} | dict(parameters)


def find(root: Path) -> dict[str, Workload]:
    """Name → workload, for all workloads of the project. Raises FileInvalid."""
    return {path.stem: load(path) for path in sorted((root / "contract" / "workloads").glob("*.toml"))}


def load(file: Path) -> Workload:
    """The workload in `file`. Raises FileInvalid with all its problems."""
    written = toml_file.read(file)
    workload, problems = toml_file.meant(Workload, {**written, "name": file.stem}, file)
    if workload is not None:
        for name in sorted(set(PLACEHOLDER.findall(workload.request.path)) - set(workload.parameters)):
            remedy = toml_file.did_you_mean(name, workload.parameters)
            problems.append(Problem(file, "request.path", f"{{{name}}} is no parameter", remedy))
        for name, each in workload.parameters.items():
            remedy = each.fault(each.default)
            if remedy:
                place = f"parameters.{name}.default"
                problems.append(Problem(file, place, f"{each.default} is no value of it", remedy))
    if problems or workload is None:
        raise FileInvalid(problems)
    return workload
