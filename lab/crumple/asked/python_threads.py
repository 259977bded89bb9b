"""The threads of a Python program (py-spy dump --json) → what they wait for, and where. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crumple.asked import threads
from crumple.asked.found import SourceFinding
from crumple.asked.threads import RuntimeThread, Wait
from crumple.observation import places

Frame = Mapping[str, Any]
# Functions that wait, each by its file and its name without its class (Python before 3.11 has no more).
_POOLS = (
    ("sqlalchemy/pool/", ""), ("psycopg2/pool.py", ""), ("psycopg_pool/", ""),
    ("urllib3/connectionpool.py", "_get_conn"), ("redis/connection.py", "get_connection"),
    ("dbutils/pooled_db.py", ""), ("mysql/connector/pooling.py", ""),
    ("django/db/backends/postgresql/psycopg_any.py", ""),
)  # fmt: skip
_IDLE = (
    ("concurrent/futures/thread.py", "_worker"), ("selectors.py", "select"), ("socket.py", "accept"),
    ("gunicorn/workers/", "wait"), ("waitress/task.py", "handler_thread"),
    ("cheroot/workers/threadpool.py", "run"), ("multiprocessing/pool.py", "worker"),
)  # fmt: skip
_SEMAPHORES = (("threading.py", "acquire"), ("asyncio/locks.py", "acquire"))
_QUEUES = (("queue.py", "get"),)
_READS = (
    ("socket.py", "readinto"), ("ssl.py", "read"), ("ssl.py", "recv_into"),
    ("pymysql/connections.py", "_read_bytes"), ("psycopg/", "wait"), ("mysql/connector/network.py", ""),
)  # fmt: skip
# Code of Python itself and of installed packages.
_LIBRARIES = ("/lib/python3", "site-packages/", "dist-packages/", "<frozen ")
# How many of the innermost frames show code of the program if a thread works for it: a server that reads a
# request does so without such code.
_DEEP = 6


def read(text: str) -> SourceFinding:
    """Return what the threads show; `text`: the list that py-spy prints, each with its `wchan`."""
    listed = [each for each in json.loads(text) if each["frames"]]
    running = any(each["owns_gil"] for each in listed)
    return threads.found([thread for each in listed if (thread := _thread(each, running)) is not None])


def _thread(listed: Mapping[str, Any], running: bool) -> RuntimeThread | None:
    """Return the thread, if it handles requests or could; `running`: another has the interpreter."""
    frames = listed["frames"]
    name = str(listed["thread_name"] or "")
    if _is(frames[0], _IDLE) or (_is(frames[0], _QUEUES) and not _place(frames[:_DEEP])):
        return RuntimeThread(name, "idle", "")
    if _has(frames[:3], (("threading.py", "wait"),)) and _has(frames[:5], _IDLE):
        return RuntimeThread(name, "idle", "")
    place = _place(frames)
    if not place:
        return None
    return RuntimeThread(name, *_wait(listed, frames, running, place))


def _wait(
    listed: Mapping[str, Any], frames: Sequence[Frame], running: bool, place: str
) -> tuple[Wait, str, str]:
    """Return what it waits for; where; which pool or lock."""
    wchan = str(listed.get("wchan") or "")
    inner = frames[:_DEEP]
    if listed["owns_gil"]:
        return "runs", place, ""
    if pool := next((frame for frame in reversed(inner) if _is(frame, _POOLS)), None):
        return "pooled", place, f"{pool['short_filename'] or pool['filename']} {pool['name']}"
    if _has(inner, _SEMAPHORES):
        return "gated", place, "a semaphore or condition"
    if _has(inner, _READS) or places.is_receiving(wchan):
        return "receiving", place, ""
    if _has(inner, _QUEUES):
        return ("idle", place, "") if _is_own_loop(frames) else ("gated", place, "a queue")
    if _has(inner, (("threading.py", "wait"),)):
        return "waits", place, ""
    if places.is_lock(wchan):
        # A lock is taken by code in C: no frame shows it. Nor does one show who waits for the interpreter's.
        return "gated", place, "a lock, or the interpreter's lock" if running else "a lock"
    if "nanosleep" in wchan:
        return "sleeps", place, ""
    return "runs" if listed["active"] else "waits", place, ""


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
    """Return the innermost frame of the program's own code; empty: there is none."""
    own = (each for each in frames if not any(part in str(each["filename"]) for part in _LIBRARIES))
    frame = next(own, None)
    if frame is None:
        return ""
    return f"{frame['name']} ({frame['short_filename'] or frame['filename']}:{frame['line']})"
