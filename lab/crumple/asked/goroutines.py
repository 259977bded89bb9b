"""The profile of goroutines of a Go program (pprof, debug=1) → what requests wait for, and where. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crumple.asked import threads
from crumple.asked.found import SourceFinding
from crumple.asked.threads import RuntimeThread, Wait

_GROUP = re.compile(r"^(\d+) @ (0x\w+)([^\n]*)\n((?:#[^\n]*\n?)*)", re.MULTILINE)
_FRAME = re.compile(r"^#\t0x\w+\t(\S+?)(?:\+0x\w+)?\s+(\S+)$", re.MULTILINE)
# More goroutines than any machine has memory for.
GROUP_MOST = 1_000_000
_REQUESTS = (
    "net/http.(*conn).serve", "net/http.HandlerFunc.ServeHTTP", "google.golang.org/grpc.(*Server).",
    "github.com/valyala/fasthttp.(*Server).",
)  # fmt: skip
_POOLS = (
    "database/sql.(*DB).conn", "github.com/jackc/puddle", "github.com/jackc/pgx/v4/pgxpool.(*Pool).Acquire",
    "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire", "net/http.(*Transport).getConn",
    "github.com/redis/go-redis/v9/internal/pool.", "github.com/go-redis/redis/v8/internal/pool.",
    "github.com/gomodule/redigo/redis.(*Pool)",
)  # fmt: skip
_GATES = (
    "sync.(*Mutex)", "internal/sync.(*Mutex)", "sync.(*RWMutex)", "golang.org/x/sync/semaphore.",
    "sync.(*Cond).Wait",
)  # fmt: skip
_READS = ("internal/poll.(*FD).Read", "net.(*conn).Read", "net/http.(*persistConn).roundTrip")
_PARKED = ("internal/poll.runtime_pollWait", "time.Sleep", "sync.runtime_Sem", "internal/sync.runtime_Sem")
# What asks pprof, and what reads ahead on a connection of the server.
_NO_WORK = ("runtime/pprof.", "net/http.(*connReader).backgroundRead")
# Packages that come with Go, by the first part of their path.
_STANDARD = {
    "bufio", "bytes", "compress", "context", "crypto", "database", "encoding", "errors", "fmt", "hash",
    "html", "internal", "io", "iter", "log", "math", "mime", "net", "os", "path", "reflect", "regexp",
    "runtime", "slices", "sort", "strconv", "strings", "sync", "syscall", "text", "time", "unicode", "vendor",
}  # fmt: skip


@dataclass(frozen=True)
class _Group:
    """Goroutines with one stack. `parked`: the first address, which those that wait have in common."""

    number: int
    parked: str
    frames: tuple[tuple[str, str], ...]

    def has(self, known: Sequence[str]) -> bool:
        return bool(self.first(known))

    def first(self, known: Sequence[str]) -> str:
        """Return the outermost of these functions; empty: it is in none."""
        return next((name for name, _ in reversed(self.frames) if name.startswith(tuple(known))), "")


def read(profile: str) -> SourceFinding:
    """Return what the profile shows."""
    groups = list(_groups(profile))
    parked = {group.parked for group in groups if group.frames and group.frames[0][0].startswith(_PARKED)}
    found = [
        thread
        for group in groups
        if (thread := _thread(group, group.parked in parked)) is not None
        for _ in range(min(group.number, GROUP_MOST))
    ]
    return threads.found(found, "goroutine")


def _groups(profile: str) -> Iterator[_Group]:
    for group in _GROUP.finditer(profile):
        frames = tuple((frame[1], frame[2]) for frame in _FRAME.finditer(group[4]))
        yield _Group(int(group[1]), group[2], frames)


def _thread(group: _Group, parked: bool) -> RuntimeThread | None:
    """Return what each goroutine of the group waits for; None: it works for no request."""
    place = _place(group.frames)
    if not place or not group.has(_REQUESTS) or group.has(_NO_WORK):
        return None
    own = _own(group.frames)
    above = group.frames[:own]
    inner = _Group(group.number, group.parked, above)
    # A goroutine that is parked in code of the program itself waits for a channel: no other frame is between.
    wait, gate = _wait(inner, parked, not above)
    return RuntimeThread("", wait, place, gate)


def _wait(inner: _Group, parked: bool, in_own: bool) -> tuple[Wait, str]:
    if inner.has(_POOLS):
        return "pooled", inner.first(_POOLS)
    if inner.has(_GATES):
        return "gated", inner.first(_GATES)
    if inner.has(_READS):
        return "receiving", ""
    if inner.has(("time.Sleep",)):
        return "sleeps", ""
    if parked and in_own:
        return "gated", "a channel"
    return "waits" if parked else "runs", ""


def _own(frames: Sequence[tuple[str, str]]) -> int:
    """Return the number of the innermost frame of the program's own code."""
    return next((at for at, (name, _) in enumerate(frames) if not _is_known(name)), len(frames))


def _is_known(name: str) -> bool:
    return name.partition("/")[0].partition(".")[0] in _STANDARD or name.startswith((*_POOLS, *_GATES))


def _place(frames: Sequence[tuple[str, str]]) -> str:
    at = _own(frames)
    return f"{frames[at][0]} ({_file(frames[at][1])})" if at < len(frames) else ""


def _file(place: str) -> str:
    """Return a file and its line, without the folders above its own."""
    return "/".join(place.split("/")[-2:])
