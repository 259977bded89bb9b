"""Programs and sockets are asked within bounds: of time, of output; and no process is left."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from crumple.asked import calling
from crumple.asked.found import NotAnswered
from crumple.machine import process_tree

PYTHON = sys.executable


def command(program: str) -> list[str]:
    return [PYTHON, "-c", program]


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_that_ends_well_has_its_output_returned() -> None:
    text = calling.run_program(command("print('first'); print('second')"), time.monotonic() + 60)
    assert text == "first\nsecond\n"


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_that_fails_is_answered_with_its_last_line() -> None:
    with pytest.raises(NotAnswered, match="no such database"):
        calling.run_program(
            command("import sys; print('x'); sys.exit('no such database')"), time.monotonic() + 60
        )


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_that_is_not_there_could_not_be_started() -> None:
    with pytest.raises(NotAnswered, match="could not be started"):
        calling.run_program(["/nowhere/psql"], time.monotonic() + 60)


# It ignores SIGTERM, and its child has a session of its own; then it does what the test adds.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
with open(PIDS, "a") as pids:
    pids.write(f"{os.getpid()} ")
"""


def stubborn(pids: Path, then: str) -> list[str]:
    return command(f"PIDS = {str(pids)!r}\n{STUBBORN}\n{then}")


def written(pids: Path) -> list[int]:
    return [int(pid) for pid in pids.read_text().split()] if pids.exists() else []


def are_gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_that_prints_too_much_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    both = f"while len(open({str(pids)!r}).read().split()) < 2: time.sleep(0.01)"
    with pytest.raises(NotAnswered, match="longer than 4 MB"):
        calling.run_program(stubborn(pids, f"{both}\nwhile True: print('x' * 100000)"), time.monotonic() + 60)
    assert len(written(pids)) == 2
    assert are_gone(written(pids))


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pids, before = tmp_path / "pids", {*process_tree.descendants(os.getpid())}
    with pytest.raises(NotAnswered, match="did not answer within 3 s"):
        calling.run_program(stubborn(pids, "time.sleep(600)"), time.monotonic() + 1)
    assert are_gone(written(pids))
    # Another test may have left one that is about to end.
    assert {*process_tree.descendants(os.getpid())} <= before


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_ends_with_a_lab_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    asks = f"""
import time
from crumple.asked import calling
calling.run_program({stubborn(pids, "time.sleep(600)")!r}, time.monotonic() + 600)
"""
    deadline = time.monotonic() + 60
    with subprocess.Popen(command(asks)) as lab:
        while len(written(pids)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        lab.kill()
    assert len(written(pids)) == 2
    while not are_gone(written(pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert are_gone(written(pids))


@pytest.mark.starts
@pytest.mark.parallel
def test_what_is_added_to_the_environment_reaches_the_program_and_no_argument() -> None:
    program = "import os; print(os.environ['PGPASSWORD'], open('/proc/self/cmdline').read())"
    text = calling.run_program(command(program), time.monotonic() + 60, {"PGPASSWORD": "s3cret"})
    assert text.count("s3cret") == 1


def test_a_page_that_is_not_answered_is_left_in_time() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        # A busy machine may find the time over before it asks.
        pytest.raises(NotAnswered, match=r"timed out|did not answer within"),
    ):
        calling.page(*listener.getsockname(), "/", time.monotonic() + 0.05)


@pytest.mark.parametrize(
    ("head", "why"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", "longer than 4 MB"), (b"HTTP/1.1 404 No\r\n\r\n", "answered with 404")],
)
def test_a_page_without_end_and_one_that_is_not_there_are_left(head: bytes, why: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            accepted, _ = listener.accept()
            with accepted:
                try:
                    accepted.sendall(head)
                    while True:
                        accepted.sendall(b"x" * 65536)
                except OSError:
                    return

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(NotAnswered, match=why):
            calling.page(*listener.getsockname(), "/", time.monotonic() + 60)
        answering.join()


def test_no_time_is_left_after_the_deadline() -> None:
    with pytest.raises(NotAnswered):
        calling.left_s(time.monotonic())


@pytest.mark.starts
@pytest.mark.parallel
def test_frames_of_java_are_not_why_a_program_failed() -> None:
    java = "import sys; sys.exit('java.io.IOException: gone\\n\\tat a.b(C.java:1)\\n\\tat d')"
    with pytest.raises(NotAnswered, match=r"java\.io\.IOException: gone$"):
        calling.run_program(command(java), time.monotonic() + 60)
