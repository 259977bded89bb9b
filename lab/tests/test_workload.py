"""Workloads: the request with its parameters, the answer to the byte, and files that cannot be meant."""

import hashlib
from pathlib import Path

import documents
import pytest
from crumple import workload
from crumple.errors import FileInvalid, UsageError

ROOT = Path(__file__).parents[2]


def _written(folder: Path, text: str) -> Path:
    file = folder / "hello.toml"
    file.write_text(text)
    return file


def test_defaults_fill_what_is_not_given(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    assert hello.name == "hello"
    assert hello.request_with({}).path == "/hello?delay_ms=0"
    assert hello.request_with({"delay_ms": 100}).path == "/hello?delay_ms=100"
    assert hello.request_with({}).headers == (("Accept", "text/plain"),)


def test_a_value_cannot_change_the_path(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    assert hello.request_with({"delay_ms": "1&x=/"}).path == "/hello?delay_ms=1%26x%3D%2F"


def test_an_unknown_parameter_names_the_nearest(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    with pytest.raises(UsageError, match="did you mean delay_ms"):
        hello.request_with({"delay": 1})


def test_the_engine_is_told_length_and_hash_of_the_bytes(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("Hello, World!", "Grüße")
    expect = workload.load(_written(tmp_path, text)).request_with({}).expect
    assert expect.body_bytes == 7
    assert expect.body_sha256 == hashlib.sha256("Grüße".encode()).hexdigest()


def test_all_problems_of_a_file_at_once(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("default = 0", "defualt = 0").replace(
        "[answer]", "[answer]\nstatus = 20"
    )
    with pytest.raises(FileInvalid) as caught:
        workload.load(_written(tmp_path, text))
    keys = {problem.key for problem in caught.value.problems}
    assert keys == {"parameters.delay_ms.default", "parameters.delay_ms.defualt", "answer.status"}


def test_a_placeholder_must_be_a_parameter(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("{delay_ms}", "{delay}")
    with pytest.raises(FileInvalid, match=r"\{delay\} is no parameter; did you mean delay_ms"):
        workload.load(_written(tmp_path, text))


def test_the_projects_own_workloads_are_meant() -> None:
    for name, each in workload.find(ROOT).items():
        assert each.name == name and each.answer.body_bytes
