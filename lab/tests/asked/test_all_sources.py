"""All sources are asked at the same time, within a time, and whatever they print does no harm."""

import os
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from crumple.asked import all_sources, found, jcmd, mysql, postgres, pprof
from crumple.asked.found import AskedServer, NotAnswered, SourceFinding
from crumple.observation.answers import AskedPart, SourceAnswer
from crumple.observation.at_load import Peer


def source(name: str, **parts: Any) -> ModuleType:
    """A source that applies to process 1 and shows "4 of 4", but for some parts."""
    usual = {
        "NAME": name,
        "applies": lambda server: 1,
        "command": lambda target: "ask",
        "call": lambda target, deadline: "4 of 4",
        "read": SourceFinding,
    }
    return cast(ModuleType, SimpleNamespace(**{**usual, **parts}))


def answers(*modules: ModuleType, total_s: float = 60.0) -> tuple[SourceAnswer, ...]:
    return all_sources.answers(all_sources.of_server(os.getpid(), (), modules), total_s)


def test_answers_come_in_the_order_of_the_sources() -> None:
    first = threading.Event()

    def wait(target: int, deadline: float) -> str:
        first.wait(60)
        return "late"

    def go(target: int, deadline: float) -> str:
        first.set()
        return "early"

    got = answers(source("a", call=wait), source("b", call=go))
    assert [(each.source, each.shows) for each in got] == [("a", "late"), ("b", "early")]


def test_a_source_that_is_late_is_not_waited_for() -> None:
    never = threading.Event()
    late = source("late", call=lambda target, deadline: str(never.wait(60)))
    began = time.monotonic()
    got = answers(late, source("there"), total_s=2.0)
    never.set()
    assert got[0] == SourceAnswer("late", "ask", why="it did not answer within 2 s")
    assert got[1].shows == "4 of 4"
    assert time.monotonic() - began < 60


def test_a_source_that_the_server_does_not_have_is_left_out_and_one_that_is_missing_says_so() -> None:
    got = answers(source("a", applies=lambda server: ""), source("b", applies=lambda server: "not installed"))
    assert got == (SourceAnswer("b", "", why="not installed"),)


def test_finding_the_sources_asks_none() -> None:
    def refuse(*_: object) -> str:
        raise AssertionError("it was asked")

    (one,) = all_sources.of_server(os.getpid(), (), [source("a", call=refuse)])
    assert (one.command, one.why) == ("ask", "")


def test_what_was_not_answered_and_what_cannot_be_read_says_why() -> None:
    def refuse(target: int, deadline: float) -> str:
        raise NotAnswered("it wants a password")

    got = answers(source("a", call=refuse), source("b", read=lambda text: [][0]))
    assert got[0].why == "it wants a password"
    assert got[1].why.startswith("its answer cannot be read: IndexError")


def test_what_acts_on_a_terminal_is_escaped_and_long_texts_are_cut() -> None:
    hostile = SourceFinding(
        "4\x07", {"gated": AskedPart(3, 4, "\u202e" * 99)}, ("\x1b]0;x\x07" * 9, "a\nb", *"c" * 20)
    )
    got = answers(source("a", command=lambda target: "ask \x1b[2J", read=lambda text: hostile))[0]
    texts = (got.command, got.shows, got.parts["gated"].does, *got.evidence)
    assert all(text.isprintable() for text in texts)
    assert got.evidence[1] == "a\\x0ab"
    assert len(got.evidence) == found.EVIDENCE_MOST
    assert max(map(len, texts)) <= found.LINE_MOST


def test_an_error_that_a_server_worded_is_escaped() -> None:
    def refuse(target: int, deadline: float) -> str:
        raise NotAnswered("psql: \x1b[2Jno")

    assert answers(source("a", call=refuse))[0].why == "psql: \\x1b[2Jno"


def test_this_process_is_no_jvm_and_no_go_program() -> None:
    assert all_sources.of_server(os.getpid(), (), (jcmd, pprof)) == ()


def test_a_process_that_does_not_catch_sigquit_is_not_asked_by_jcmd(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands for a JVM under -Xrs, which SIGQUIT ends: this process has no handler for it either.
    monkeypatch.setattr(jcmd, "_has_library", lambda pid: True)
    why = jcmd.applies(AskedServer((os.getpid(),)))
    assert isinstance(why, str)
    assert "does not catch SIGQUIT" in why


def test_a_database_is_found_by_who_listens_or_else_by_its_port_or_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres.calling, "program", lambda name: name)

    def peer(address: str, listener: str | None = None) -> AskedServer:
        return AskedServer((1,), (Peer("10.0.0.9:80", "nginx", 1, 1, 1), Peer(address, listener, 1, 1, 1)))

    assert postgres.applies(peer("[::1]:6000", "postgres")) == ("::1", "6000")
    assert postgres.applies(peer("10.0.0.1:5432")) == ("10.0.0.1", "5432")
    assert postgres.applies(peer("10.0.0.1:5432", "pgbouncer")) == ""
    assert postgres.applies(peer("unix:/run/pg/.s.PGSQL.5433", "postgres")) == ("/run/pg", "5433")
    assert mysql.applies(peer("unix:/run/m.sock", "mariadbd")) == ("/run/m.sock", 0)
    assert mysql.applies(peer("10.0.0.1:5432")) == ""
