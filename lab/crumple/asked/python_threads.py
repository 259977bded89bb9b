"""The threads of a Python program (py-spy dump --json) → what they wait for, and where. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crumple.asked.said import Said
from crumple.asked.threads import Thread, Wait, found
from crumple.cause import places

NAME = "py-spy"
Frame = Mapping[str, Any]
# Functions that wait, each by its file and its name without its class (Python before 3.11 has no more).
_POOLS = (
    ("sqlalchemy/pool/", ""),
    ("psycopg2/pool.py", ""),
    ("psycopg_pool/", ""),
    ("urllib3/connectionpool.py", "_get_conn"),
    ("redis/connection.py", "get_connection"),
    ("dbutils/pooled_db.py", ""),
    ("mysql/connector/pooling.py", ""),
    ("django/db/backends/postgresql/psycopg_any.py", ""),
)
_IDLE = (
    ("concurrent/futures/thread.py", "_worker"),
    ("selectors.py", "select"),
    ("socket.py", "accept"),
    ("gunicorn/workers/", "wait"),
    ("waitress/task.py", "handler_thread"),
    ("cheroot/workers/threadpool.py", "run"),
    ("multiprocessing/pool.py", "worker"),
)
_SEMAPHORES = (("threading.py", "acquire"), ("asyncio/locks.py", "acquire"))
_QUEUES = (("queue.py", "get"),)
_READS = (
    ("socket.py", "readinto"), ("ssl.py", "read"), ("ssl.py", "recv_into"),
    ("pymysql/connections.py", "_read_bytes"), ("psycopg/", "wait"), ("mysql/connector/network.py", ""),
)  # fmt: skip
# Code of Python itself and of installed packages.
_LIBRARIES = ("/lib/python3", "site-packages/", "dist-packages/", "<frozen ")
# A server that reads a request does so without code of the program.
_DEEP = 6


def read(text: str, command: str) -> Said:
    """What the threads show; `text`: the list that py-spy prints, each with its `wchan`."""
    listed = [each for each in json.loads(text) if each["frames"]]
    running = any(each["owns_gil"] for each in listed)
    threads = [thread for each in listed if (thread := _thread(each, running)) is not None]
    what = found(threads)
    return Said(NAME, command, what.shows, what.evidence, what.points_to, what.count, what.place)


def _thread(listed: Mapping[str, Any], running: bool) -> Thread | None:
    """The thread, if it handles requests or could; `running`: another thread has the interpreter's lock."""
    frames = listed["frames"]
    name = str(listed["thread_name"] or "")
    if _is(frames[0], _IDLE) or (_is(frames[0], _QUEUES) and not _place(frames[:_DEEP])):
        return Thread(name, "idle", "")
    if _has(frames[:3], (("threading.py", "wait"),)) and _has(frames[:5], _IDLE):
        return Thread(name, "idle", "")
    place = _place(frames)
    if not place:
        return None
    wait, gate, exclusive = _wait(listed, frames, running)
    return Thread(name, wait, place, gate, exclusive)


def _wait(listed: Mapping[str, Any], frames: Sequence[Frame], running: bool) -> tuple[Wait, str, bool]:
    """What it waits for; which lock; whether that lets in one at a time."""
    wchan = str(listed.get("wchan") or "")
    inner = frames[:_DEEP]
    if listed["owns_gil"]:
        return "runs", "", False
    if _has(inner, _POOLS):
        return "connection-pool", "", False
    if _has(inner, _SEMAPHORES):
        return "gate", "a semaphore or condition", False
    if _has(inner, _READS) or places.is_receiving(wchan):
        return "dependency", "", False
    if _has(inner, _QUEUES):
        return ("idle", "", False) if _is_own_loop(frames) else ("gate", "a queue", False)
    if _has(inner, (("threading.py", "wait"),)):
        return "waits", "", False
    if places.is_futex(wchan):
        # A lock is taken by code in C: no frame shows it. Nor does one show who waits for the interpreter's.
        return "gate", "a lock, or the interpreter's lock" if running else "a lock", True
    if "nanosleep" in wchan:
        return "sleeps", "", False
    return "runs" if listed["active"] else "waits", "", False


def _is_own_loop(frames: Sequence[Frame]) -> bool:
    """Whether the thread runs the program's own code from its beginning, and not a task or a request."""
    outer = [each for each in frames if not str(each["filename"]).endswith("threading.py")]
    return bool(outer) and not any(part in str(outer[-1]["filename"]) for part in _LIBRARIES)


def _has(frames: Sequence[Frame], known: Sequence[tuple[str, str]]) -> bool:
    return any(_is(frame, known) for frame in frames)


def _is(frame: Frame, known: Sequence[tuple[str, str]]) -> bool:
    name = str(frame["name"]).rpartition(".")[2]
    return any(file in str(frame["filename"]) and function in ("", name) for file, function in known)


def _place(frames: Sequence[Frame]) -> str:
    """The innermost frame that is neither Python's nor of an installed package; empty: there is none."""
    own = (each for each in frames if not any(part in str(each["filename"]) for part in _LIBRARIES))
    frame = next(own, None)
    if frame is None:
        return ""
    return f"{frame['name']} ({frame['short_filename'] or frame['filename']}:{frame['line']})"
