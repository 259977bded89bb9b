"""The thread dump of a JVM (jcmd Thread.print) → what its threads wait for, and where. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crumple.asked.said import Said
from crumple.asked.threads import Thread, Wait, found

_HEAD = re.compile(r'^"(?P<name>.*)" (?:#\d+ )?(?:\[\d+\] )?.*?cpu=(?P<cpu>[\d.]+)ms ', re.MULTILINE)
_STATE = re.compile(r"^   java\.lang\.Thread\.State: (\w+)", re.MULTILINE)
_FRAME = re.compile(r"^\tat (?:\S+?//?)?([\w.$/-]+?)\(([^)]*)\)", re.MULTILINE)
_LOCK = re.compile(
    r"^\t- (waiting to lock|locked|parking to wait for +) ?<(0x\w+)> \(a ([^)]*)\)", re.MULTILINE
)
_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
# Frames of what waits until a pooled connection is free: pools of databases, then of HTTP clients.
_POOLS = (
    "com.zaxxer.hikari.pool.HikariPool.getConnection",
    "com.zaxxer.hikari.pool.PoolBase",
    "com.zaxxer.hikari.util.ConcurrentBag.borrow",
    "org.apache.commons.dbcp",
    "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
    "org.apache.commons.pool.impl.GenericObjectPool.borrowObject",
    "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
    "com.mchange.v2.resourcepool.BasicResourcePool",
    "io.agroal.pool.ConnectionPool",
    "oracle.ucp.",
    "redis.clients.jedis.util.Pool",
    "org.apache.http.pool.AbstractConnPool",
    "org.apache.http.impl.conn.PoolingHttpClientConnectionManager",
    "org.apache.hc.core5.pool.",
)
# What a thread waits for that was handed no work: tasks, connections to accept, readiness of any.
_IDLE = (
    "java.util.concurrent.ThreadPoolExecutor.getTask",
    "java.util.concurrent.ForkJoinPool.awaitWork",
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll",
    "org.eclipse.jetty.util.BlockingArrayQueue.poll",
    "org.jboss.threads.EnhancedQueueExecutor",
    "sun.nio.ch.EPoll.wait",
    "sun.nio.ch.EPollArrayWrapper.epollWait",
    "sun.nio.ch.Net.accept",
    "sun.nio.ch.NioSocketImpl.accept",
    "java.net.PlainSocketImpl.socketAccept",
    "io.netty.channel.epoll.Native.epollWait",
)
_READS = (
    "sun.nio.ch.NioSocketImpl.implRead",
    "sun.nio.ch.NioSocketImpl.park",
    "sun.nio.ch.SocketDispatcher.read0",
    "java.net.SocketInputStream.socketRead0",
)
# Something that another thread puts there: a pooled object, or work.
_QUEUE = re.compile(r"java\.util\.concurrent\.\w*(?:Queue|Deque)\.(?:take|poll)\w*")
_EXCHANGES = "jdk.internal.net.http.HttpClientImpl.send"
# Servers, which read requests with their own code.
_SERVERS = (
    "org.apache.tomcat.",
    "org.apache.coyote.",
    "org.eclipse.jetty.",
    "io.undertow.",
    "org.xnio.",
    "io.netty.",
    "org.glassfish.grizzly.",
)
_GATES = (
    "java.util.concurrent.Semaphore",
    "java.util.concurrent.locks.Reentrant",
    "java.util.concurrent.locks.Stamped",
)
_EXCLUSIVE = "java.util.concurrent.locks.ReentrantLock"
# Threads that collect garbage, of the collectors of OpenJDK.
_COLLECTS = re.compile(r"(?:GC Thread|G1 |ParGC|Shenandoah|Z\w+|XWorker|CMS |Concurrent Mark)")
# Most of all CPU time since the start. Less is usual where much is allocated, and does not limit.
GARBAGE_SHARE, GARBAGE_MS_MIN = 0.5, 1000.0
_DEEP = 12


@dataclass(frozen=True)
class _Block:
    """A thread as it is printed. `locks`: what it waits for and holds: how, which, of what class."""

    name: str
    cpu_ms: float
    state: str
    frames: tuple[tuple[str, str], ...]
    locks: tuple[tuple[str, str, str], ...]

    def names(self) -> list[str]:
        return [name for name, _ in self.frames]

    def waits_for(self) -> tuple[str, str, str] | None:
        return next((lock for lock in self.locks if lock[0] != "locked"), None)


def read(text: str, command: str) -> Said:
    """What a thread dump shows."""
    blocks = list(_blocks(text))
    seen = [thread for block in blocks if (thread := _thread(block)) is not None]
    what = found(seen, holders=_holders(blocks))
    collected, used = _garbage(blocks)
    if used >= GARBAGE_MS_MIN and collected >= GARBAGE_SHARE * used:
        share = f"collecting garbage has taken {collected / used:.0%} of the CPU time since the start"
        return Said("jcmd", command, f"{share}; {what.shows}", what.evidence, "garbage")
    return Said("jcmd", command, what.shows, what.evidence, what.points_to, what.count, what.place)


def _blocks(text: str) -> Iterator[_Block]:
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    for head, end in zip(heads, ends, strict=False):
        # What follows the last thread's stack is behind an empty line.
        body = text[head.end() : end].partition("\n\n")[0]
        state = _STATE.search(body)
        yield _Block(
            head["name"],
            float(head["cpu"]),
            state[1] if state else "",
            tuple((frame[1], frame[2]) for frame in _FRAME.finditer(body)),
            tuple((lock[1].strip(), lock[2], lock[3]) for lock in _LOCK.finditer(body)),
        )


def _thread(block: _Block) -> Thread | None:
    """The thread, if it serves requests or could; None: one of the JVM's own, or of a library's timer."""
    names = block.names()
    own = _place(block)
    if not names:
        return None
    top = names[:_DEEP]
    if _has(top, _IDLE) or (_has(top, _READS) and (not own or own.startswith(_SERVERS))):
        return Thread(block.name, "idle", own) if own or _has(names, _IDLE[:5]) else None
    if not own:
        return None
    wait = _wait(block, top)
    if wait != "waits" or not any(map(_QUEUE.fullmatch, top)):
        lock = block.waits_for()
        gate = f"{lock[2]} <{lock[1]}>" if lock and wait == "gate" else ""
        return Thread(block.name, wait, own, gate, gate != "" and _is_exclusive(lock))
    if _is_own_loop(block):
        return Thread(block.name, "idle", own)
    return Thread(block.name, "gate", own, "a queue")


def _is_exclusive(lock: tuple[str, str, str] | None) -> bool:
    return lock is not None and (lock[0] == "waiting to lock" or lock[2].startswith(_EXCLUSIVE))


def _is_own_loop(block: _Block) -> bool:
    """Whether the thread runs the program's own code from its beginning, and not a task or a request."""
    outer = [name for name in block.names() if name != "java.lang.Thread.run"]
    return not outer[-1].startswith(_JDK)


def _wait(block: _Block, top: Sequence[str]) -> Wait:
    lock = block.waits_for()
    waiting = block.state in ("WAITING", "TIMED_WAITING", "BLOCKED")
    if waiting and _has(top, _POOLS):
        return "connection-pool"
    if lock and (lock[0] == "waiting to lock" or lock[2].startswith(_GATES)):
        return "gate"
    if _has(top, _READS) or _EXCHANGES in top:
        return "dependency"
    if top[0] in ("java.lang.Thread.sleep", "java.lang.Thread.sleep0"):
        return "sleeps"
    return "waits" if waiting else "runs"


def _has(frames: Sequence[str], known: tuple[str, ...]) -> bool:
    return any(frame.startswith(known) for frame in frames)


def _place(block: _Block) -> str:
    """The innermost frame of code that is no JDK's nor a pool's; empty: there is none."""
    outside = (frame for frame in block.frames if not frame[0].startswith((*_JDK, *_POOLS)))
    return next((f"{name}({where})" for name, where in outside), "")


def _holders(blocks: Sequence[_Block]) -> list[str]:
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


def _garbage(blocks: Sequence[_Block]) -> tuple[float, float]:
    """CPU time in ms since the start: of the threads that collect garbage, and of all that there are."""
    collected = sum(block.cpu_ms for block in blocks if not block.frames and _COLLECTS.match(block.name))
    return collected, sum(block.cpu_ms for block in blocks)
