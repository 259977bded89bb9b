"""Changes something of a running process for a while, and restores it: `crumple-engine hold`.

The hold undoes what it does when its input closes, so also if this process ends. If the hold itself is
killed, the kernel or a second process of the hold undoes it; if both processes are, this one does.
"""

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crumple import engine, project
from crumple.errors import CrumpleError

# Seconds after which a hold ends by itself: a lab that is stopped (ctrl-Z) does not end it.
AT_MOST_S = 20.0
# Seconds that a hold has to end. It usually ends at once; if it does not, it is killed, and then what it did
# is undone as well.
ENDS_S = 3.0

# What to hold, as the engine reads it.
What = Mapping[str, Mapping[str, object]]


class NotHeld(CrumpleError):  # noqa: N818  (as in errors.py: the name says what happened)
    """It could not be held, or not for as long as it was needed; it is as it was before."""


def cores(root: int, of: Sequence[int]) -> What:
    """All threads of a process tree are bound to these cores."""
    return {"cores": {"root": root, "cores": list(of)}}


def open_files(root: int) -> What:
    """The limit of open files of each process of a tree is as high as the process itself may set it."""
    return {"open-files": {"root": root}}


def thread(pid: int, tid: int) -> What:
    """One thread is stopped."""
    return {"thread": {"pid": pid, "tid": tid}}


def process(pid: int) -> What:
    """All threads of a process are stopped."""
    return {"process": {"pid": pid}}


def tree(root: int) -> What:
    """All threads of a process tree are stopped."""
    return {"tree": {"root": root}}


# How a hold says that it is over: as the lab wanted it, before that, or, by its second process, after it.
_OVER = {"released", "let_go", "restored"}


@dataclass
class _Hold:
    """A hold that runs. `before`: what it will have to restore; `said`: the keys of its lines so far."""

    process: subprocess.Popen[str]
    before: object = None
    said: set[str] = field(default_factory=set)

    def holds(self) -> bool:
        """Wait until it holds; False: it has ended before."""
        return any("held" in line for line in self._lines())

    def read(self) -> None:
        """Wait until it and its second process have ended."""
        for _ in self._lines():
            pass

    def _lines(self) -> Iterator[dict[str, object]]:
        assert self.process.stdout
        for text in self.process.stdout:
            # A process that was killed may not have written all of a line.
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                self.before = line.get("before", self.before)
                self.said |= {*line}
                yield line


@contextmanager
def held(what: What) -> Iterator[None]:
    """Hold it until the `with` ends. Raises NotHeld, also at the end, if it was let go before."""
    hold = _began(what)
    try:
        if not hold.holds():
            raise _not_held(hold)
        yield
    finally:
        _end(hold)
    if "released" not in hold.said:
        raise NotHeld("what was held was let go too early")


def _began(what: What) -> _Hold:
    started = subprocess.Popen(
        [engine.find(project.root()), "hold"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # No signal to the group of the lab reaches it.
        start_new_session=True,
    )
    with contextlib.suppress(BrokenPipeError):
        assert started.stdin
        started.stdin.write(json.dumps({"at_most_s": AT_MOST_S, "what": what}) + "\n")
        started.stdin.flush()
    return _Hold(started)


def _not_held(hold: _Hold) -> NotHeld:
    """Why it ended before it held anything."""
    assert hold.process.stderr
    last = hold.process.stderr.read().strip().rpartition("\n")[2]
    said = engine.complaint(last)
    return NotHeld(*said) if said else NotHeld("what holds it ended before it did")


def _end(hold: _Hold) -> None:
    """End it, and undo what it did if nobody of it was left to do so."""
    process = hold.process
    with contextlib.suppress(BrokenPipeError):
        assert process.stdin
        process.stdin.close()
    engine.exit_code(process, ENDS_S)
    hold.read()
    for pipe in (process.stdout, process.stderr):
        assert pipe
        pipe.close()
    if hold.before is not None and not hold.said & _OVER:
        _end(_began({"restore": {"rows": hold.before}}))
