"""A TOML or JSON file of several requests (--request-file) → each as typed. Paths are relative to it."""

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from crumple import parsing
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, Problem
from crumple.load import flag_files, typed_url
from crumple.load.typed_request import TypedRequest
from crumple.load.varying import in_folder


class RequestInFile(Frozen):
    """One entry of a request file; what it leaves out is taken from what was typed for all requests."""

    name: str = ""
    path: str = Field(min_length=1, pattern="^/")
    method: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    body_file: str | None = None
    weight: int = Field(default=1, ge=1, le=1_000_000)
    expect_status: int | str | None = None
    expect_body: str | None = None


class RequestFile(Frozen):
    """A file of several requests."""

    requests: tuple[RequestInFile, ...] = Field(min_length=1)


def read(file: Path, shared: TypedRequest) -> tuple[TypedRequest, ...]:
    """Return the requests of a file, with the headers and the expected status of `shared`.

    Raises FileInvalid with every mistake.
    """
    tables = _tables(file)
    found, problems = parsing.meant(RequestFile, tables, file)
    if found is None or problems:
        raise FileInvalid(problems)
    keys = (parsing.key_of(("requests", index), tables) for index in range(len(found.requests)))
    return tuple(_beside(entry, shared, file, key) for entry, key in zip(found.requests, keys, strict=True))


def _tables(file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        found, example = _json_tables(file), '[{"path": "/"}]'
    else:
        others = f"of a HAR, an OpenAPI document, URLs or a log, make a request file: crumple import {file}"
        found = parsing.read_toml(file, f"mend that line; {others}")
        example = 'a table [[requests]] with path = "/"'
    if not found or found == {"requests": []}:
        raise FileInvalid([Problem(file, "", "holds no request", f"write {example} into it, for instance")])
    return found


def _json_tables(file: Path) -> dict[str, Any]:
    read = flag_files.read(f"cannot read the request file {file}", str(file))
    if not read.strip():
        return {}
    try:
        tables = json.loads(read)
    except ValueError as error:
        raise FileInvalid([Problem(file, "", f"is not JSON: {error}", "mend that line")]) from None
    return tables if isinstance(tables, dict) else {"requests": tables}


def _beside(entry: RequestInFile, shared: TypedRequest, file: Path, key: str) -> TypedRequest:
    """Return an entry of a file with what was typed for all; its own headers replace those."""
    folder = file.parent
    own = {name.lower() for name in entry.headers}
    headers = [(name, value) for name, value in shared.headers if name.lower() not in own]
    expect_body = entry.expect_body
    if expect_body is not None and expect_body.startswith("@"):
        expect_body = f"@{folder / expect_body[1:]}"
    return TypedRequest(
        path=typed_url.encoded(in_folder(entry.path, folder)),
        method=entry.method,
        headers=[*headers, *((name, in_folder(value, folder)) for name, value in entry.headers.items())],
        body=None if entry.body is None else in_folder(entry.body, folder),
        body_file=None if entry.body_file is None else str(folder / entry.body_file),
        accept=None if "accept" in own else shared.accept,
        names_itself=shared.names_itself,
        expect_status=shared.expect_status if entry.expect_status is None else entry.expect_status,
        expect_body=expect_body,
        weight=entry.weight,
        name=entry.name,
        file=file,
        key=key,
    )
