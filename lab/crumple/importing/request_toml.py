"""Requests with their weights → a request file that `crumple load --request-file` takes, as TOML or JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from crumple import toml_text
from crumple.importing.tally import Weighted


def entry(weighted: Weighted) -> dict[str, Any]:
    """Return one request as a request file has it, without what is empty or the default."""
    asked = weighted.request
    has_body = asked.body is not None or asked.body_file is not None
    said = {
        "name": asked.name,
        "method": None if asked.method == "GET" and not has_body else asked.method,
        "path": asked.path,
        "headers": dict(asked.headers),
        "body": asked.body,
        "body_file": asked.body_file,
        "weight": weighted.weight,
        "expect_status": weighted.expect_status,
    }
    return {name: value for name, value in said.items() if value not in (None, "", {})}


def as_toml(kinds: Sequence[Weighted], said: Sequence[str]) -> str:
    """Return the file as TOML. `said`: lines for its top."""
    parts = ["\n".join(map(toml_text.comment, said))]
    parts += [
        "\n".join(["[[requests]]", *(toml_text.line(name, value) for name, value in entry(each).items())])
        for each in _named_apart(kinds)
    ]
    return "\n\n".join(parts) + "\n"


def as_json(kinds: Sequence[Weighted]) -> str:
    """Return the file as JSON."""
    entries = [entry(each) for each in _named_apart(kinds)]
    return json.dumps({"requests": entries}, indent=2, ensure_ascii=False) + "\n"


def _named_apart(kinds: Sequence[Weighted]) -> Iterator[Weighted]:
    """Yield the requests; the second of one name has none, and is called by its path."""
    seen: set[str] = set()
    for each in kinds:
        is_second = each.request.name in seen
        seen.add(each.request.name)
        yield replace(each, request=replace(each.request, name="")) if is_second else each
