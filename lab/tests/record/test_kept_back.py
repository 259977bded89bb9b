"""Answers that a server writes in parts without TCP_NODELAY are told from those that it makes slowly."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import documents
import pytest
import synthetic_load
from crumple import contract, engine
from crumple.observation import in_parts
from crumple.record import stages
from crumple.record.flow import StageTime
from crumple.record.stages import Budget, NoBudget
from synthetic_load import screen as text

ROOT = Path(__file__).resolve().parents[3]
MS = 1_000_000
ANSWERS = 1_000


def record(
    last: Mapping[float, int],
    first: Mapping[float, int],
    answer_bytes: int = 300,
    plain: contract.TrialRecord | None = None,
    **changes: Any,
) -> contract.TrialRecord:
    """A record of answers that end after `last` and begin after `first`: ms → how many."""
    plain = plain or documents.record()
    times = {
        name: documents.histogram({round(ms * MS): count for ms, count in of.items()})
        for name, of in (("response_time", last), ("time_to_first_byte", first))
    }
    answers = sum(last.values())
    return plain.model_copy(
        update={
            "histograms": plain.histograms.model_copy(update={**times, "service_time": None, **changes}),
            "outcomes": documents.outcomes(ok=answers),
            "received_bytes": answers * answer_bytes,
        }
    )


def budget(returning_ms: float, low_ms: float | None = None) -> Budget:
    """A budget of 44 ms, so many of which are on the way back."""
    low_ms = 0.9 * returning_ms if low_ms is None else low_ms
    parts = {"inside": (44 - returning_ms, 44 - returning_ms), "returning": (low_ms, returning_ms)}
    made = tuple(
        StageTime(name, mean * MS, low * MS, 1.1 * mean * MS, 60.0)  # type: ignore[arg-type]
        for name, (low, mean) in parts.items()
    )
    return Budget(made, 44 * MS, 43 * MS, 45 * MS, 44 * MS, 60, 0.0, 0.0, 0.0)


KEPT = record({44: ANSWERS}, {0.9: ANSWERS})


def test_it_is_shown_by_the_times_and_by_the_stages_together() -> None:
    found = in_parts.kept_back_ns(KEPT, budget(43))
    assert found == pytest.approx(43.1 * MS, rel=1e-3)
    # A few requests waited a second to be connected, which is in no time to the first byte.
    few_late = record({44: ANSWERS - 10, 1044: 10}, {0.9: ANSWERS})
    assert in_parts.kept_back_ns(few_late, budget(43)) == pytest.approx(43.1 * MS, rel=1e-2)
    # In an open shape a request may be sent long after it was due.
    late = record({300: ANSWERS}, {0.9: ANSWERS}, service_time=documents.histogram({44 * MS: ANSWERS}))
    assert in_parts.kept_back_ns(late, budget(43)) == pytest.approx(43.1 * MS, rel=1e-3)


@pytest.mark.parametrize(
    ("found", "by_stages", "why"),
    [
        (KEPT, None, "nobody asked for stages"),
        (KEPT, NoBudget("not on this machine"), "the stages are not known"),
        (KEPT, budget(0.5), "the server pauses between head and body"),
        (KEPT, budget(30, low_ms=20), "too few readings to say so"),
        (record({44: ANSWERS}, {43: ANSWERS}), budget(43), "the server waits before it answers"),
        (record({25: ANSWERS}, {1: ANSWERS}), budget(24), "an answer on its way for another time"),
        (record({90: ANSWERS}, {1: ANSWERS}), budget(43), "the same, for longer"),
        (record({1: 510, 90: 490}, {0.9: ANSWERS}), budget(43), "the mean alone"),
        (record({44: 510, 1: 490}, {0.9: ANSWERS}), budget(22), "the median alone"),
        (record({44: 19}, {0.9: 19}), budget(43), "too few answers for a median"),
        (record({44: ANSWERS}, {0.9: ANSWERS}, answer_bytes=1 << 20), budget(43), "long answers"),
    ],
)
def test_it_is_not_said_if(
    found: contract.TrialRecord, by_stages: Budget | NoBudget | None, why: str
) -> None:
    assert in_parts.kept_back_ns(found, by_stages) is None, why


def test_the_summary_says_so_in_one_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    load = synthetic_load.closed()
    assert "an answer" not in text(load, width=100, styled=False)
    assert synthetic_load.printed(load)["kept_back_ns"] is None
    monkeypatch.setattr(stages, "budget", lambda *_: budget(43))
    kept = synthetic_load.remade(load, record=record({44: ANSWERS}, {0.9: ANSWERS}, plain=load.record))
    said = " ".join(text(kept, width=100, styled=False).split())
    assert (
        "an answer ends 43.1 ms after its first byte: the server writes it in parts and the last waits in "
        "its kernel until the first is acknowledged; write it at once, or set TCP_NODELAY"
    ) in said
    assert synthetic_load.printed(kept)["kept_back_ns"] == pytest.approx(43.1 * MS, rel=1e-3)


@contextmanager
def served(how: str) -> Iterator[str]:
    """Run a server whose answer takes about 43 ms, for this reason; yield its address."""

    def serve(connection: socket.socket) -> None:
        if how == "at once by TCP_NODELAY":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(4096):
            if how == "waits":
                time.sleep(0.043)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                continue
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            if how == "pauses":
                time.sleep(0.043)
            connection.sendall(b"hello")

    def until_it_closes(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=until_it_closes, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.starts
@pytest.mark.parametrize(
    ("how", "is_said"),
    [
        ("in parts", True),
        # Where others have the cores, answers come later, and not 40 ms later.
        *(
            pytest.param(how, False, marks=pytest.mark.parallel)
            for how in ("at once by TCP_NODELAY", "waits", "pauses")
        ),
    ],
)
def test_a_real_server_that_writes_in_parts_is_told_from_slow_ones(how: str, is_said: bool) -> None:
    with served(how) as address:
        asked = documents.spec(
            target=contract.Target(address=address, host=address),
            requests=(
                documents.request(
                    5, expect=contract.ExpectSpec(status=200, body_bytes=5, body_sha256=None, hash_one_in=0)
                ),
            ),
            shape=contract.ClosedShapeSpec(connections=4),
            stop=contract.DurationStopSpec(duration_s=5.0),
            cores=(),
            probe=contract.ProbeSpec(interval_ms=100, server_pid=None, stages=True),
        )
        found = engine.run(engine.load(ROOT), asked, lambda _: None)
    by_stages = stages.budget(found)
    if is_said and isinstance(by_stages, NoBudget):
        pytest.skip(f"the machine is busy: {by_stages.why}")
    said = in_parts.kept_back_ns(found, by_stages)
    assert (said is not None) is is_said, (said, by_stages)
