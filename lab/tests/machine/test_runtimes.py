"""Which runtime a program has is told by its executable, and never guessed."""

import contextlib
import io
import os
import struct

import pytest
from crumple.machine import runtimes
from crumple.machine.runtimes import HEADER, MAGIC, SECTION


def elf(*names: bytes, of_names: int = 0, number: int | None = None, says: bytes = b"") -> io.BytesIO:
    """A file of such sections, of which the first has the names, and the others say this."""
    table = b"\0" + b"\0".join(names) + b"\0"
    begins = HEADER.size + len(table) + len(says)
    header = HEADER.pack(begins, SECTION.size, len(names) if number is None else number, of_names)
    at = [1 + sum(len(each) + 1 for each in names[:index]) for index in range(len(names))]
    rows = [SECTION.pack(at[0], HEADER.size, len(table))]
    rows += [SECTION.pack(name, HEADER.size + len(table), len(says)) for name in at[1:]]
    return io.BytesIO(MAGIC + header[len(MAGIC) :] + table + says + b"".join(rows))


def test_a_program_is_gos_if_it_has_the_section_that_gos_linker_writes() -> None:
    assert runtimes._is_go(elf(b".shstrtab", b".text", b".go.buildinfo", says=b"dep\tgithub.com/x/y"))
    assert not runtimes._is_go(elf(b".shstrtab", b".text", b".comment"))


def test_a_program_of_go_with_event_loops_of_its_own_is_told_by_what_it_does() -> None:
    says = b"mod\tserver\ndep\tgithub.com/panjf2000/gnet/v2\tv2.5.7"
    assert not runtimes._is_go(elf(b".shstrtab", b".go.buildinfo", says=says))


def test_a_runtime_of_javascript_lets_add_ons_call_it() -> None:
    for linked in (b"\0strlen\0napi_module_register\0", b"\0libc.so.6\0libnode.so.108\0"):
        assert runtimes._is_javascript(elf(b".shstrtab", b".dynstr", says=linked))
    # An add-on calls another function, and a program may have such a name within one of its own.
    for linked in (b"\0napi_create_function\0", b"\0my_napi_module_register_all\0"):
        assert not runtimes._is_javascript(elf(b".shstrtab", b".dynstr", says=linked))


def test_a_program_of_haskell_begins_where_ghc_lets_it_begin() -> None:
    assert runtimes._is_haskell(elf(b".shstrtab", b".strtab", says=b"\0main\0hs_main\0"))
    assert runtimes._is_haskell(elf(b".shstrtab", b".dynstr", says=b"\0libHSrts_thr-ghc9.0.2.so\0"))
    assert not runtimes._is_haskell(elf(b".shstrtab", b".strtab", says=b"\0main\0not_hs_main\0"))


@pytest.mark.parametrize(
    "file",
    [
        io.BytesIO(b""),
        io.BytesIO(b"#!/bin/sh\n"),
        io.BytesIO(MAGIC),
        elf(b".go.buildinfo", of_names=3),
        elf(b".go.buildinfo", number=1_000),
        io.BytesIO(elf(b".shstrtab", b".go.buildinfo").getvalue()[:-1]),
        io.BytesIO(MAGIC + b"\xff" * 200),
    ],
    ids=["empty", "a script", "only the beginning", "no names", "too many", "cut short", "nonsense"],
)
def test_of_what_is_no_whole_program_nothing_is_known(file: io.BytesIO) -> None:
    with contextlib.suppress(struct.error, ValueError, OverflowError):
        assert not runtimes._is_go(file)
        assert not runtimes._is_javascript(file)
        assert not runtimes._is_haskell(file)


def test_other_programs_processes_that_are_gone_and_several_runtimes_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert runtimes.of([os.getpid()]) == ""
    assert runtimes.of([]) == ""
    assert runtimes.of([2**22 + 1]) == ""
    monkeypatch.setattr(runtimes, "_of", {1: "Go", 2: "Go", 3: "", 4: "Erlang"}.__getitem__)
    assert runtimes.of([1, 2]) == "Go"
    assert runtimes.of([1, 3]) == runtimes.of([1, 4]) == ""
