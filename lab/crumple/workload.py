"""A workload: what a request asks and the exact answer expected, read from contract/workloads/<name>.toml.

It asks nobody; `verify` does, and the engine under load.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from pydantic import Field

from crumple import contract, toml_file
from crumple.contract import Frozen
from crumple.errors import FileInvalid, Problem, UsageError

Value = int | float | str
# Length and status of every answer are checked; to hash all bodies would cost the engine its ceiling.
HASH_ONE_IN = 64
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class Asked(Frozen):
    """The request as written; `path` holds {parameters}."""

    method: str = "GET"
    path: str = Field(min_length=1, pattern="^/")
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Parameter(Frozen):
    """What may vary from one experiment to the next."""

    default: Value
    meaning: str


class Answer(Frozen):
    """The one right answer, to the byte."""

    status: int = Field(default=200, ge=100, le=599)
    content_type: str
    body: str

    @property
    def body_bytes(self) -> bytes:
        """As it travels."""
        return self.body.encode("utf-8")

    @property
    def body_sha256(self) -> str:
        """Hex digest of the bytes."""
        return hashlib.sha256(self.body_bytes).hexdigest()


class Workload(Frozen):
    """`name` is the file's, without .toml."""

    name: str
    title: str
    about: str = ""
    request: Asked
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    answer: Answer

    def request_with(self, parameters: Mapping[str, Value]) -> contract.Request:
        """The request and its answer, defaults for what is not given. Raises UsageError on an unknown one."""
        unknown = [name for name in parameters if name not in self.parameters]
        if unknown:
            remedy = toml_file.did_you_mean(unknown[0], self.parameters)
            raise UsageError(f"workload {self.name} has no parameter {unknown[0]}", remedy)
        values = {name: parameter.default for name, parameter in self.parameters.items()} | dict(parameters)
        headers = {"Accept": self.answer.content_type, **self.request.headers}
        return contract.Request(
            method=self.request.method,
            path=PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), self.request.path),
            headers=tuple(headers.items()),
            body=self.request.body,
            expect=contract.Expect(
                status=self.answer.status,
                body_bytes=len(self.answer.body_bytes),
                body_sha256=self.answer.body_sha256,
                hash_one_in=HASH_ONE_IN,
            ),
        )


def find(root: Path) -> dict[str, Workload]:
    """Every workload of the project by name. Raises FileInvalid."""
    return {path.stem: load(path) for path in sorted((root / "contract" / "workloads").glob("*.toml"))}


def load(file: Path) -> Workload:
    """One workload. Raises FileInvalid with all its problems."""
    written = toml_file.read(file)
    workload, problems = toml_file.meant(Workload, {**written, "name": file.stem}, file)
    if workload is not None:
        for name in sorted(set(PLACEHOLDER.findall(workload.request.path)) - set(workload.parameters)):
            remedy = toml_file.did_you_mean(name, workload.parameters)
            problems.append(Problem(file, "request.path", f"{{{name}}} is no parameter", remedy))
    if problems or workload is None:
        raise FileInvalid(problems)
    return workload
