"""What must be reached, and whether it was: one word beside every figure, and an exit code at the end."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from crumple.errors import CrumpleError


@dataclass
class Bounds:
    """The bounds of one script. `missed`: what was beyond its bound, by name."""

    missed: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, bound: float, unit: str = "") -> str:
        """`≤ 0.85 met` or `≤ 0.85 not met`; the latter is remembered under `name`."""
        met = value <= bound
        if not met:
            self.missed.append(name)
        return f"≤ {bound:g}{unit} {'met' if met else 'not met'}"

    def close(self) -> None:
        """Ends the script: exit code 1 where a bound was missed."""
        if self.missed:
            print(f"not met: {', '.join(self.missed)}")
            sys.exit(1)


def run(main: Callable[[], None]) -> None:
    """Runs a script; what it could not do is one line and exit code 1."""
    try:
        main()
    except CrumpleError as error:
        sys.exit(f"failed: {error}")


def skip(why: str) -> None:
    """Ends the script, which is no failure: something it needs is not here."""
    print(f"skipped: {why}")
    sys.exit(0)
