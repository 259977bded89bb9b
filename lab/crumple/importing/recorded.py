"""One request as it was recorded, and what was left out because a load cannot repeat it."""

from collections import Counter
from dataclasses import dataclass, field

from crumple.drawing import numerals


@dataclass(frozen=True)
class Recorded:
    """A request. `origin`: scheme, host and port; empty: not recorded. `status`: that of its answer.

    `made_up`: what of it no document gave, as the end of a sentence about the request; empty: nothing.
    """

    origin: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    body_file: str | None = None
    name: str = ""
    status: int | None = None
    made_up: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Return about how much memory the request takes, in letters."""
        return (
            len(self.path) + len(self.body or "") + sum(len(name) + len(said) for name, said in self.headers)
        )


@dataclass
class LeftOut:
    """What was left out. `requests`: reason → how many. `first`: reason → the first of them."""

    requests: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    headers: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    def add(self, reason: str, where: str = "", count: int = 1) -> None:
        """Count requests that are left out."""
        self.requests[reason] += count
        if where:
            self.first.setdefault(reason, where if len(where) <= 80 else f"{where[:79]}…")

    def header(self, name: str) -> None:
        """Count a header that a request had and the request file will not have."""
        self.headers["-".join(word.capitalize() for word in name.split("-"))] += 1

    def note(self, line: str) -> None:
        """Add a line of its own, once."""
        if line not in self.lines:
            self.lines.append(line)

    def said(self) -> list[str]:
        """Return a line for each reason, the most frequent first, and one for the headers."""
        lines = [
            f"left out: {numerals.count(number, 'request')} {reason}"
            + (f", first {self.first[reason]}" if reason in self.first else "")
            for reason, number in self.requests.most_common()
        ]
        if self.headers:
            names = ", ".join(f"{name} ({number:,})" for name, number in self.headers.most_common())
            lines.append(
                f"left out: headers that hold secrets or belong to one client: {names}; add some with -H"
            )
        # What a file holds may have line breaks.
        return [" ".join(line.split()) for line in (*lines, *self.lines)]
