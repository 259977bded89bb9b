"""What runtimes and dependencies answer when they are asked, under load, what their threads do. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The parts that are readings: of threads, of workers, and of the sessions or children of a dependency.
READ = ("pooled", "gated", "occupied", "held_up")
# The least share of the requests inside that must have a thread with work in the dump. Where fewer have one,
# the others wait where the runtime does not show them, as coroutines do, and the dump says nothing of
# waiting.
LISTED_SHARE = 0.5
# Which parts are evidence for a cause.
EVIDENCE: Mapping[str, tuple[str, ...]] = {
    "workers": ("occupied",),
    "gate": ("gated",),
    "connection-pool": ("pooled", "held", "gated"),
    "dependency": ("held_up", "runs", "receiving"),
}
# The least share of all threads, and the least number, that a part must have to be evidence. Fewer may be on
# their way through.
EVIDENT_SHARE, EVIDENT_MIN = 0.15, 2


@dataclass(frozen=True)
class AskedPart:
    """How many of all threads with work, sessions or children do the same. `does`: what most do, in words."""

    number: int
    of: int
    does: str = ""

    @property
    def share(self) -> float:
        """Which share of all they are; 0 if there are none."""
        return self.number / self.of if self.of else 0.0


@dataclass(frozen=True)
class SourceAnswer:
    """What one source answered. `command`: what was run or sent, without any password.

    `shows`: one sentence with the counts. `parts`: by the name of a reading, or of what is evidence alone.
    `evidence`: further lines. `why`: why there is no answer; empty: there is one.
    """

    source: str
    command: str
    shows: str = ""
    parts: Mapping[str, AskedPart] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    why: str = ""

    def evident(self, names: Sequence[str] | None = None) -> list[str]:
        """Return in words the parts of these names, or all, that are not on their way through."""
        chosen = [self.parts[name] for name in (self.parts if names is None else names) if name in self.parts]
        return [
            f"{each.number} of {each.of} {each.does}"
            for each in chosen
            if each.does and each.number >= EVIDENT_MIN and each.share >= EVIDENT_SHARE
        ]


@dataclass(frozen=True)
class Answers:
    """What all sources answered under one load. `connections`: how many requests were in flight."""

    connections: int
    answers: tuple[SourceAnswer, ...]

    def part(self, name: str, inside: float) -> AskedPart | None:
        """Return the largest part of this name; None: none is known. `inside`: requests in the server."""
        found = [each.parts[name] for each in self.answers if name in each.parts]
        largest = max(found, key=lambda each: each.of, default=None)
        if largest is None or not largest.of:
            return None
        is_of_threads = name in ("pooled", "gated")
        needed = LISTED_SHARE * min(inside, self.connections) if is_of_threads else 0.0
        return largest if largest.of >= needed else None

    def evidence(self, cause: str) -> str:
        """Return what of the answers speaks for a cause, in words; empty: nothing does."""
        names = EVIDENCE.get(cause, ())
        return "; ".join(
            [f"{each.source}: {said}" for each in self.answers for said in each.evident(names)][:2]
        )
