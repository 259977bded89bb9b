"""One request as it was recorded, and what was left out because a load cannot repeat it."""

from collections import Counter
from dataclasses import dataclass, field

from crumple.drawing import numerals

# Names of headers that are counted each for itself; further ones are counted together.
NAMES_MAX = 1_000


@dataclass(frozen=True)
class Recorded:
    """A request as it was recorded or described."""

    origin: str
    """Scheme, host and port; empty: not recorded."""
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    body_file: str | None = None
    name: str = ""
    status: int | None = None
    """The status of its answer."""
    made_up: str = field(default="", compare=False)
    """Which part of it no document gave, as the end of a sentence about the request; empty: none."""

    @property
    def size(self) -> int:
        """Return about how much memory the request takes, in letters."""
        return (
            len(self.path) + len(self.body or "") + sum(len(name) + len(said) for name, said in self.headers)
        )


@dataclass
class Reasons:
    """How many requests each reason concerns, and the first of them."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, where: str = "", count: int = 1) -> None:
        """Count requests."""
        self.counts[reason] += count
        if where:
            self.first.setdefault(reason, where if len(where) <= 80 else f"{where[:79]}…")

    def lines(self, what: str) -> list[str]:
        """Return a line for each reason, the most frequent first."""
        return [
            f"{what}: {numerals.count(number, 'request')} {reason}"
            + (f", first {self.first[reason]}" if reason in self.first else "")
            for reason, number in self.counts.most_common()
        ]


@dataclass
class LeftOut:
    """What was left out: requests, and parts of those that were taken."""

    requests: Reasons = field(default_factory=Reasons)
    parts: Reasons = field(default_factory=Reasons)
    headers: Counter[str] = field(default_factory=Counter)
    """Headers that hold secrets or belong to one client."""
    unsent: Counter[str] = field(default_factory=Counter)
    """Headers that HTTP does not allow."""
    notes: list[str] = field(default_factory=list)

    def add(self, reason: str, where: str = "", count: int = 1) -> None:
        """Count requests that are left out."""
        self.requests.add(reason, where, count)

    def part(self, what: str, where: str) -> None:
        """Count a request that is taken without a part of it."""
        self.parts.add(what, where)

    def header(self, name: str) -> None:
        """Count a header that a request had and the request file will not have."""
        _count(self.headers, "-".join(word.capitalize() for word in name.split("-")))

    def unsendable(self, name: str) -> None:
        """Count a header that no request can have."""
        _count(self.unsent, name if len(name) <= 40 else f"{name[:39]}…")

    def note(self, line: str) -> None:
        """Add a line of its own, once."""
        if line not in self.notes:
            self.notes.append(line)

    def said(self) -> list[str]:
        """Return a line for each reason, the most frequent first, and one for each kind of header."""
        lines = [*self.requests.lines("left out"), *self.parts.lines("changed")]
        if self.headers:
            names = list_names(self.headers)
            lines.append(
                f"left out: headers that hold secrets or belong to one client: {names}; add some with -H"
            )
        if self.unsent:
            lines.append(f"left out: headers that HTTP does not allow: {list_names(self.unsent)}")
        # What a file holds may have line breaks.
        return [" ".join(line.split()) for line in (*lines, *self.notes)]


def _count(names: Counter[str], name: str) -> None:
    names[name if name in names or len(names) < NAMES_MAX else "others"] += 1


def list_names(names: Counter[str]) -> str:
    """Return the names with their numbers, the most frequent first; of many, the first twenty."""
    shown = ", ".join(f"{name or '(empty)'} ({number:,})" for name, number in names.most_common(20))
    return shown + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
