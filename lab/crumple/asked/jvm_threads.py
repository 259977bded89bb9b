"""The thread dump of a JVM (jcmd Thread.print) → what its threads wait for, and where. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crumple.asked import threads
from crumple.asked.found import SourceFinding
from crumple.asked.threads import RuntimeThread, Wait

_HEAD = re.compile(r'^"(?P<name>.*)" (?:#\d+ )?(?:\[\d+\] )?.*?cpu=[\d.]+ms ', re.MULTILINE)
_STATE = re.compile(r"^   java\.lang\.Thread\.State: (\w+)", re.MULTILINE)
_FRAME = re.compile(r"^\tat (?:\S+?//?)?([\w.$/-]+?)\(([^)]*)\)", re.MULTILINE)
_LOCK = re.compile(
    r"^\t- (waiting to lock|locked|parking to wait for +) ?<(0x\w+)> \(a ([^)]*)\)", re.MULTILINE
)
_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
# Frames of what waits until a pooled connection is free: pools of databases, then of HTTP clients.
_POOLS = (
    "com.zaxxer.hikari.pool.HikariPool.getConnection", "com.zaxxer.hikari.pool.PoolBase",
    "com.zaxxer.hikari.util.ConcurrentBag.borrow", "org.apache.commons.dbcp",
    "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
    "org.apache.commons.pool.impl.GenericObjectPool.borrowObject",
    "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
    "com.mchange.v2.resourcepool.BasicResourcePool", "io.agroal.pool.ConnectionPool", "oracle.ucp.",
    "redis.clients.jedis.util.Pool", "org.apache.http.pool.AbstractConnPool",
    "org.apache.http.impl.conn.PoolingHttpClientConnectionManager", "org.apache.hc.core5.pool.",
)  # fmt: skip
# What a thread waits for that was handed no work: tasks, connections to accept, readiness of any.
_IDLE = (
    "java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ForkJoinPool.awaitWork",
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll",
    "org.eclipse.jetty.util.BlockingArrayQueue.poll", "org.jboss.threads.EnhancedQueueExecutor",
    "sun.nio.ch.EPoll.wait", "sun.nio.ch.EPollArrayWrapper.epollWait", "sun.nio.ch.Net.accept",
    "sun.nio.ch.NioSocketImpl.accept", "java.net.PlainSocketImpl.socketAccept",
    "io.netty.channel.epoll.Native.epollWait",
)  # fmt: skip
_READS = (
    "sun.nio.ch.NioSocketImpl.implRead", "sun.nio.ch.NioSocketImpl.park",
    "sun.nio.ch.SocketDispatcher.read0", "java.net.SocketInputStream.socketRead0",
)  # fmt: skip
# Something that another thread puts there: a pooled object, or work.
_QUEUE = re.compile(r"java\.util\.concurrent\.\w*(?:Queue|Deque)\.(?:take|poll)\w*")
_EXCHANGES = "jdk.internal.net.http.HttpClientImpl.send"
# Servers, which read requests with their own code.
_SERVERS = (
    "org.apache.tomcat.", "org.apache.coyote.", "org.eclipse.jetty.", "io.undertow.", "org.xnio.",
    "io.netty.", "org.glassfish.grizzly.",
)  # fmt: skip
_GATES = (
    "java.util.concurrent.Semaphore", "java.util.concurrent.locks.Reentrant",
    "java.util.concurrent.locks.Stamped",
)  # fmt: skip
# Code between the program's own and the JDK's.
_LIBRARIES = (
    "com.zaxxer.hikari.Hikari", "org.springframework.", "org.hibernate.", "org.postgresql.", "com.mysql.",
    "org.mariadb.",
)  # fmt: skip
# How many of the innermost frames say whether a thread is idle, reads or waits; those further out are its
# callers.
_DEEP = 12


@dataclass(frozen=True)
class _PrintedThread:
    """A thread as it is printed. `locks`: what it waits for and holds: how, which, of what class."""

    name: str
    state: str
    frames: tuple[tuple[str, str], ...]
    locks: tuple[tuple[str, str, str], ...]

    def names(self) -> list[str]:
        return [name for name, _ in self.frames]

    def waits_for(self) -> tuple[str, str, str] | None:
        return next((lock for lock in self.locks if lock[0] != "locked"), None)


def read(text: str) -> SourceFinding:
    """Return what a thread dump shows."""
    blocks = list(_blocks(text))
    seen = [thread for block in blocks if (thread := _thread(block)) is not None]
    return threads.found(seen, holders=_holders(blocks))


def _blocks(text: str) -> Iterator[_PrintedThread]:
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    for head, end in zip(heads, ends, strict=False):
        # What follows the last thread's stack is behind an empty line.
        body = text[head.end() : end].partition("\n\n")[0]
        state = _STATE.search(body)
        yield _PrintedThread(
            head["name"],
            state[1] if state else "",
            tuple((frame[1], frame[2]) for frame in _FRAME.finditer(body)),
            tuple((lock[1].strip(), lock[2], lock[3]) for lock in _LOCK.finditer(body)),
        )


def _thread(block: _PrintedThread) -> RuntimeThread | None:
    """The thread, if it serves requests or could; None: one of the JVM's own, or of a library's timer."""
    names = block.names()
    own = _place(block)
    if not names:
        return None
    top = names[:_DEEP]
    if _first(top, _IDLE) or (_first(top, _READS) and (not own or own.startswith(_SERVERS))):
        return RuntimeThread(block.name, "idle", own) if own or _first(names, _IDLE[:5]) else None
    if not own:
        return None
    wait = _wait(block, top)
    if wait != "waits" or not any(map(_QUEUE.fullmatch, top)):
        return RuntimeThread(block.name, wait, own, _gate(block, wait, top))
    if _is_own_loop(block):
        return RuntimeThread(block.name, "idle", own)
    return RuntimeThread(block.name, "gated", own, "a queue")


def _gate(block: _PrintedThread, wait: Wait, top: Sequence[str]) -> str:
    """Return the pool or the lock that it waits for; empty: neither."""
    if wait == "pooled":
        return ".".join(_first(reversed(top), _POOLS).split(".")[-2:])
    lock = block.waits_for()
    return lock[2].rpartition(".")[2] if lock and wait == "gated" else ""


def _is_own_loop(block: _PrintedThread) -> bool:
    """Whether the thread runs the program's own code from its beginning, and not a task or a request."""
    outer = [name for name in block.names() if name != "java.lang.Thread.run"]
    return not outer[-1].startswith(_JDK)


def _wait(block: _PrintedThread, top: Sequence[str]) -> Wait:
    lock = block.waits_for()
    waiting = block.state in ("WAITING", "TIMED_WAITING", "BLOCKED")
    if waiting and _first(reversed(top), _POOLS):
        return "pooled"
    if lock and (lock[0] == "waiting to lock" or lock[2].startswith(_GATES)):
        return "gated"
    if _first(top, _READS) or _EXCHANGES in top:
        return "receiving"
    if top[0] in ("java.lang.Thread.sleep", "java.lang.Thread.sleep0"):
        return "sleeps"
    return "waits" if waiting else "runs"


def _first(frames: Iterable[str], known: tuple[str, ...]) -> str:
    return next((frame for frame in frames if frame.startswith(known)), "")


def _place(block: _PrintedThread) -> str:
    """Return the innermost frame of the program's own code, or else of a library; empty: there is none."""
    outside = [frame for frame in block.frames if not frame[0].startswith((*_JDK, *_POOLS))]
    own = [frame for frame in outside if not frame[0].startswith(_LIBRARIES)]
    return next((f"{name}({where})" for name, where in (*own, *outside)), "")


def _holders(blocks: Sequence[_PrintedThread]) -> list[str]:
    """Who holds the monitors that others wait to lock, those of the longest queues first."""
    queues = Counter(
        lock[1] for block in blocks if (lock := block.waits_for()) and lock[0] == "waiting to lock"
    )
    held: defaultdict[str, list[str]] = defaultdict(list)
    for block in blocks:
        lock = block.waits_for()
        for how, which, _ in block.locks:
            if how == "locked" and (lock is None or lock[1] != which):
                held[which].append(f"{block.name} at {_place(block) or 'code of the runtime'}")
    return [
        f"<{which}> is waited for by {count} and held by {held[which][0] if held[which] else 'nobody now'}"
        for which, count in queues.most_common(2)
    ]
