"""All sources are asked at the same time, within a time, and whatever they print does no harm."""

import os
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from crumple import asked
from crumple.asked import jcmd, pprof, said
from crumple.asked.said import NotAnswered, NotAsked, Peer, Said, Server


def source(name: str, **parts: Any) -> ModuleType:
    """A source that applies to process 1 and says "4 of 4", but for some parts."""
    usual = {
        "NAME": name,
        "applies": lambda server: 1,
        "command": lambda target: "ask",
        "call": lambda target, deadline: "4 of 4",
        "read": lambda text, command: Said(name, command, text, (), "workers", 4),
    }
    return cast(ModuleType, SimpleNamespace(**{**usual, **parts}))


def answers(*sources: ModuleType, total_s: float = 60.0) -> tuple[Said | NotAsked, ...]:
    return asked.all_of(os.getpid(), (), sources=sources, total_s=total_s)


def test_answers_come_in_the_order_of_the_sources() -> None:
    first = threading.Event()

    def wait(target: int, deadline: float) -> str:
        first.wait(60)
        return "late"

    def go(target: int, deadline: float) -> str:
        first.set()
        return "early"

    got = answers(source("a", call=wait), source("b", call=go))
    assert [(each.source, each.shows) for each in got if isinstance(each, Said)] == [
        ("a", "late"),
        ("b", "early"),
    ]


def test_a_source_that_is_late_is_not_waited_for() -> None:
    never = threading.Event()
    late = source("late", call=lambda target, deadline: str(never.wait(60)))
    began = time.monotonic()
    got = answers(late, source("there"), total_s=0.2)
    never.set()
    assert got[0] == NotAsked("late", "it did not answer within 0 s", True)
    assert isinstance(got[1], Said)
    assert time.monotonic() - began < 60


def test_a_source_that_the_server_does_not_have_says_so() -> None:
    got = answers(source("a", applies=lambda server: ""), source("b", applies=lambda server: "not installed"))
    assert got == (NotAsked("a", "the server has none", False), NotAsked("b", "not installed", True))


def test_what_was_not_answered_and_what_cannot_be_read_are_not_asked() -> None:
    def refuse(target: int, deadline: float) -> str:
        raise NotAnswered("it wants a password")

    got = answers(source("a", call=refuse), source("b", read=lambda text, command: [][0]))
    assert got[0] == NotAsked("a", "it wants a password", True)
    assert isinstance(got[1], NotAsked)
    assert got[1].why.startswith("its answer cannot be read: IndexError")


def test_what_acts_on_a_terminal_is_escaped_and_long_evidence_is_cut() -> None:
    hostile = Said(
        "a", "ask \x1b[2J", "4\x07", ("\x1b]0;x\x07" * 9, "a\nb") + ("c",) * 20, "gate", 1, "\u202e"
    )
    got = answers(source("a", read=lambda text, command: hostile))[0]
    assert isinstance(got, Said)
    assert all(text.isprintable() for text in (got.command, got.shows, got.place, *got.evidence))
    assert got.evidence[1] == "a\\x0ab"
    assert len(got.evidence) == said.EVIDENCE_MOST
    assert max(map(len, got.evidence)) <= said.LINE_MOST


def test_this_process_is_no_jvm_and_no_go_program() -> None:
    got = asked.all_of(os.getpid(), (), sources=(jcmd, pprof))
    assert got == (
        NotAsked("jcmd", "the server has none", False),
        NotAsked("pprof", "the server has none", False),
    )


def test_a_process_that_does_not_catch_sigquit_is_not_asked_by_jcmd(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands for a JVM under -Xrs, which SIGQUIT ends: this process has no handler for it either.
    monkeypatch.setattr(jcmd, "_has_library", lambda pid: True)
    why = jcmd.applies(Server((os.getpid(),)))
    assert isinstance(why, str)
    assert "does not catch SIGQUIT" in why


def test_a_peer_is_a_port_of_a_host_or_a_path() -> None:
    peers = [Peer(address) for address in ("127.0.0.1:5432", "[::1]:6379", "unix:/run/a:1")]
    assert [(peer.host, peer.port) for peer in peers] == [("127.0.0.1", 5432), ("::1", 6379), ("", None)]
