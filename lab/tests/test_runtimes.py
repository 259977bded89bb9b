"""Which runtime of light threads a program has is told by its executable, and never guessed."""

import contextlib
import io
import os
import struct
from pathlib import Path

import pytest
from crumple.machine import runtimes
from crumple.machine.runtimes import HEADER, MAGIC, SECTION


def elf(*names: bytes, of_names: int = 0, number: int | None = None) -> bytes:
    """A file of such sections, of which the first has the names."""
    table = b"\0" + b"\0".join(names) + b"\0"
    begins = HEADER.size + len(table)
    header = HEADER.pack(begins, SECTION.size, len(names) if number is None else number, of_names)
    at = [1 + sum(len(each) + 1 for each in names[:index]) for index in range(len(names))]
    rows = [SECTION.pack(name, HEADER.size, len(table)) for name in at]
    return MAGIC + header[len(MAGIC) :] + table + b"".join(rows)


def test_a_program_is_gos_if_it_has_the_section_that_gos_linker_writes() -> None:
    file = elf(b".shstrtab", b".text", b".go.buildinfo")
    assert runtimes._sections(io.BytesIO(file)) == {b".shstrtab", b".text", b".go.buildinfo"}


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"#!/bin/sh\n",
        MAGIC,
        elf(b".go.buildinfo", of_names=3),
        elf(b".go.buildinfo", number=1_000),
        elf(b".shstrtab", b".go.buildinfo")[:-1],
        MAGIC + b"\xff" * 200,
    ],
    ids=["empty", "a script", "only the beginning", "no names", "too many", "cut short", "nonsense"],
)
def test_of_what_is_no_whole_program_nothing_is_known(file: bytes) -> None:
    with contextlib.suppress(struct.error, ValueError, OverflowError):
        assert b".go.buildinfo" not in runtimes._sections(io.BytesIO(file))


def test_other_programs_processes_that_are_gone_and_several_runtimes_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert runtimes.of_light_threads([os.getpid()]) == ""
    assert runtimes.of_light_threads([]) == ""
    assert runtimes.of_light_threads([2**22 + 1]) == ""
    monkeypatch.setattr(runtimes, "_of", {1: "Go", 2: "Go", 3: "", 4: "Erlang"}.__getitem__)
    assert runtimes.of_light_threads([1, 2]) == "Go"
    assert runtimes.of_light_threads([1, 3]) == runtimes.of_light_threads([1, 4]) == ""


def test_the_engine_is_not_gos() -> None:
    engine = Path(os.environ.get("CRUMPLE_ENGINE", ""))
    if not engine.is_file():
        pytest.skip("no engine is named")
    with engine.open("rb") as file:
        assert b".go.buildinfo" not in runtimes._sections(file)
