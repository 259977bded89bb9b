"""Asks the engine where a server breaks: `crumple-engine weigh`, which is started at the first question.

The answer depends on the question only. The engine's process stays until the lab ends, as it keeps what it
computed of the levels so far; between questions it sleeps.
"""

import atexit
import subprocess
import threading
from pathlib import Path

from pydantic import ValidationError

from crumple import engine, parsing, project
from crumple.contract import Weighed, Weighing
from crumple.errors import EngineFailed

# It ends when its input closes.
END_S = 3.0


def weigh(asked: Weighing) -> Weighed:
    """Return the engine's answer. Raises EngineMissing, EngineMismatch and EngineFailed."""
    return _weigher.answer(asked)


class _Weigher:
    """The engine's process, if it was started. Several threads may ask."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def answer(self, asked: Weighing) -> Weighed:
        with self._lock:
            self._process = self._process or _started()
            line = _exchange(self._process, asked.model_dump_json())
            if not line:
                raise self._failure()
        try:
            return Weighed.model_validate_json(line)
        except ValidationError as error:
            message = f"the engine's answer is not what the contract says ({parsing.first_fault(error)})"
            raise EngineFailed(message, "build engine and lab from the same sources") from None

    def close(self) -> None:
        """End the process, if there is one, and return the last that it wrote."""
        if self._process is not None:
            self._close()

    def _failure(self) -> EngineFailed:
        process = self._process
        assert process is not None
        tail = self._close().splitlines()
        return engine.failure(process.returncode, tail)

    def _close(self) -> str:
        process, self._process = self._process, None
        assert process is not None
        try:
            return process.communicate(timeout=END_S)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[1]


def program() -> Path:
    """Return the engine's executable. Raises EngineMissing, EngineMismatch and EngineFailed."""
    return engine.load(project.root()).path


def _started() -> "subprocess.Popen[str]":
    path = program()
    try:
        return subprocess.Popen(
            [path, "weigh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,  # ctrl-C reaches only the lab, which ends it
        )
    except OSError as error:
        raise EngineFailed(f"{path} does not run: {error}", "build the engine again") from None


def _exchange(process: "subprocess.Popen[str]", question: str) -> str:
    """Return the answer's line; empty: the process has ended."""
    assert process.stdin and process.stdout
    try:
        process.stdin.write(f"{question}\n")
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    return process.stdout.readline()


_weigher = _Weigher()
atexit.register(_weigher.close)
