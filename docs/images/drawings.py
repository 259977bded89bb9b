"""Draws the pictures that explain how crumple measures, from its code and from loads kept beside this.

    .venv/bin/python docs/images/drawings.py

`make docs` calls it. A test compares each picture with what this would draw. `shapes.json` has three loads of
stalling_server.py by the commands that it names; all else comes from the lab itself.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from crumple.commands.project_files import Project
from crumple.drawing.theme import CONTEXT, FONT, GRID, INK, MUTED, PAPER, SHADE
from crumple.record.flow import WORDS
from crumple.run.run_plan import Block, plan
from crumple.stats.decision import Extent
from crumple.stats.interval import Interval
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY

ROOT = Path(__file__).parents[2]
LAB = ROOT / "lab" / "crumple"
HERE = Path(__file__).parent
BLUE, GREEN, RED, AMBER = "#2f6fb3", "#1a7f5a", "#b3402f", "#9a6b00"


class Picture:
    """An SVG of some size, to which shapes and words are added."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = width, height
        self.title = title
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, fill: str, *, line: str = "none") -> None:
        """Add a rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{line}"/>'
        )

    def line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str = MUTED, *, wide: float = 1
    ) -> None:
        """Add a straight line."""
        self.parts.append(
            f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}" '
            f'stroke-width="{wide:g}"/>'
        )

    def dot(self, x: float, y: float, colour: str = INK) -> None:
        """Add a point."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{colour}"/>')

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        at: str = "start",
        colour: str = INK,
        size: int = 13,
        bold: bool = False,
    ) -> None:
        """Add words; `at`: which part of them is at x."""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" fill="{colour}" font-size="{size}"{weight}>'
            f"{escape(text)}</text>"
        )

    def svg(self) -> str:
        """Return the file."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="{escape(FONT)}" role="img">'
        )
        body = [f"<title>{escape(self.title)}</title>", f'<rect width="100%" height="100%" fill="{PAPER}"/>']
        return "\n".join([head, *body, *self.parts, "</svg>", ""])


def life() -> Picture:
    """The life of a request: which stage lies between which instants."""
    drawn = Picture(920, 250, "The life of a request")
    instants = ("due", "sent", "accepted", "read", "answered", "arrived", "read by the engine")
    stages = (
        (WORDS["due"], "waits for a free connection", CONTEXT),
        (WORDS["not_accepted"], "in the listen queue", SHADE),
        (WORDS["unread"], "in the kernel of the server", CONTEXT),
        (WORDS["inside"], "in the server's program", "#cfe3f5"),
        (WORDS["returning"], "in the kernel, on the network", SHADE),
        ("held", "the engine is busy", GRID),
    )
    left, step, top = 50, 136, 95
    for number, (stage, where, fill) in enumerate(stages):
        x = left + number * step
        drawn.box(x, top, step, 46, fill, line=PAPER)
        drawn.words(x + step / 2, top + 20, stage, at="middle", bold=True)
        drawn.words(x + step / 2, top + 37, where, at="middle", colour=MUTED, size=10)
    for number, instant in enumerate(instants):
        x = left + number * step
        drawn.line(x, top - 12, x, top + 58)
        drawn.words(x, top + 74, instant, at="end" if number == len(instants) - 1 else "middle")
    for y, first, last, name, colour in (
        (45, 0, 5, "response time", INK),
        (70, 1, 5, "service time", MUTED),
    ):
        _measure(drawn, left + first * step, left + last * step, y, name, colour)
    _measure(
        drawn, left, left + step, 205, "a slow server lengthens this, too, in an open load", MUTED, at="start"
    )
    _measure(drawn, left + 5 * step, left + 6 * step, 205, "in no response time", MUTED, at="end")
    return drawn


def _measure(
    drawn: Picture, x: float, to_x: float, y: float, name: str, colour: str, *, at: str = "middle"
) -> None:
    drawn.line(x, y, to_x, y, colour, wide=1.5)
    drawn.line(x, y - 4, x, y + 4, colour, wide=1.5)
    drawn.line(to_x, y - 4, to_x, y + 4, colour, wide=1.5)
    where = {"start": x, "middle": (x + to_x) / 2, "end": to_x}[at]
    drawn.words(where, y + 20 if at != "middle" else y - 7, name, at=at, colour=colour, size=12)


def shapes() -> Picture:
    """What three shapes send to a server that stands still for a second."""
    loads = json.loads((HERE / "shapes.json").read_text(encoding="utf-8"))
    drawn = Picture(920, 470, "What a closed, an open and a ramp shape send to the same server")
    drawn.words(
        20, 28, "Requests that came due, and answers, in each tenth of a second. Where it is grey,", size=14
    )
    drawn.words(
        20,
        46,
        "the server stands still for a second: a closed load then sends nothing, an open one goes on.",
        size=14,
    )
    drawn.box(730, 18, 12, 12, BLUE)
    drawn.words(748, 29, "came due")
    drawn.box(822, 18, 12, 12, AMBER)
    drawn.words(840, 29, "answered")
    for number, (name, load) in enumerate(loads.items()):
        _shape(drawn, 80 + number * 130, name, load)
    return drawn


def _shape(drawn: Picture, top: float, name: str, load: dict[str, object]) -> None:
    sent, answered = (list(map(int, load[key])) for key in ("sent", "answered"))  # type: ignore[call-overload]
    left, width, height, most = 190, 13.0, 84.0, 45
    floor = top + height
    drawn.words(20, top + 18, name, bold=True, size=15)
    drawn.words(20, top + 40, f"p50 {load['p50']}, p90 {load['p90']}", colour=MUTED, size=12)
    stood, tenths = _longest_without(answered)
    drawn.box(left + stood * width, top, tenths * width, height, SHADE)
    for tenth, (one, other) in enumerate(zip(sent, answered, strict=True)):
        x = left + tenth * width
        for value, colour, shift in ((one, BLUE, 1), (other, AMBER, 7)):
            tall = height * min(value, most) / most
            drawn.box(x + shift, floor - tall, 5, tall, colour)
            if value > most:
                drawn.words(x + shift + 8, top + 10, f"{value}", colour=colour, size=11)
    drawn.line(left, floor, left + len(sent) * width, floor)
    for second in range(len(sent) // 10 + 1):
        drawn.words(left + second * 10 * width, floor + 15, f"{second} s", at="middle", colour=MUTED, size=11)
    drawn.words(190, floor + 32, str(load["command"]), colour=MUTED, size=11)


def _longest_without(answered: Sequence[int]) -> tuple[int, int]:
    """Where no answer came for longest, and for how many tenths of a second."""
    none = "".join("." if count else "x" for count in answered)
    longest = max(re.finditer("x+", none), key=lambda found: len(found[0]))
    return longest.start(), len(longest[0])


def blocks() -> Picture:
    """The first blocks of an experiment, as a run plans them."""
    study = Project(ROOT).study("todo-json")
    planned = [block for block in plan(study, "quick", seed=1).blocks if block.experiment == "separate"]
    planned = planned or [*plan(study, "full", seed=1).blocks]
    experiment = planned[0].experiment
    chosen = [block for block in planned if block.experiment == experiment][:4]
    drawn = Picture(920, 90 + 44 * len(chosen), "Blocks of an experiment")
    drawn.words(
        20,
        28,
        f"The first {len(chosen)} blocks of the experiment {experiment} of todo-json, seed 1,",
        size=14,
    )
    drawn.words(
        20,
        46,
        "in the order in which they run. Each box is one start. The twin is the same server again.",
        size=14,
    )
    names = sorted({trial.server for trial in chosen[0].trials})
    for number, block in enumerate(chosen):
        _block(drawn, 66 + number * 44, block, names)
    return drawn


def _block(drawn: Picture, top: float, block: Block, names: Sequence[str]) -> None:
    colours = ("#dbe9f6", "#e3f1e8", "#f8e8d8", "#efe3f3", "#f6e0e0", "#e6ebc9", "#e2e2e2", "#d5eeee")
    twins = {trial.server for trial in block.trials if trial.twin}
    drawn.words(20, top + 22, f"block {block.number}", bold=True)
    wide = 820 / len(block.trials)
    for place, trial in enumerate(block.trials):
        x = 90 + place * wide
        line = INK if trial.server in twins else PAPER
        drawn.box(x + 1, top, wide - 3, 34, colours[names.index(trial.server) % len(colours)], line=line)
        base, _, settings = trial.server.partition("[")
        drawn.words(x + wide / 2, top + 15, base, at="middle", size=10)
        below = "twin" if trial.twin else settings.rstrip("]")
        drawn.words(x + wide / 2, top + 28, below, at="middle", size=9, colour=MUTED)


def verdict() -> Picture:
    """Which word an interval gets, where a ratio of about 0.51 is claimed, within a factor of 1.25."""
    span = Extent.around(0.51, 0.51, 0.25)
    intervals = [
        Interval(estimate, low, high, confidence=0.95, n=5)
        for low, estimate, high in (
            (0.46, 0.5, 0.55),
            (0.35, 0.44, 0.56),
            (0.14, 0.17, 0.21),
            (0.53, 0.8, 1.2),
            (1.1, 1.24, 1.4),
        )
    ]
    words = {"yes": VerdictWord.SUPPORTED, "no": VerdictWord.CONTRADICTED, "open": VerdictWord.UNDECIDED}
    colours = {"yes": GREEN, "no": RED, "open": AMBER}
    drawn = Picture(920, 320, "How an interval becomes a verdict")
    drawn.words(
        20,
        28,
        "“Express answers about half as many requests as plain http.” Published: 0.51, met within a factor",
        size=14,
    )
    drawn.words(
        20, 46, "of 1.25. Each line is what a run may have measured, with its 95 % interval.", size=14
    )

    def x(ratio: float) -> float:
        return 40 + ratio * 440

    low, high = span.ends
    drawn.box(x(low), 66, x(high) - x(low), 212, "#e3f1e8")
    drawn.words(
        x(0.51), 84, f"what counts as 0.51: {low:.2f} to {high:.2f}", at="middle", colour=GREEN, size=12
    )
    drawn.line(x(0.51), 92, x(0.51), 278, GREEN)
    for number, interval in enumerate(intervals):
        y = 112 + number * 37
        size = span.holds(interval)
        # Published below 1: the direction holds where all of the interval lies below it.
        ahead = interval.high < 1
        holds = size if size == "yes" or ahead else "no" if interval.low > 1 else "open"
        drawn.line(x(interval.low), y, x(interval.high), y, colours[holds], wide=3)
        drawn.dot(x(interval.estimate), y, colours[holds])
        word = f"{words[holds].value} {IN_SIZE_ONLY}" if ahead and size != "yes" else words[holds].value
        side = "all below 1" if ahead else "all above 1" if interval.low > 1 else "on both sides of 1"
        where = {"yes": "all as published", "no": "none as published", "open": "partly as published"}[size]
        drawn.words(700, y + 2, word, colour=colours[holds], bold=True, size=14)
        drawn.words(700, y + 17, f"{side}, {where}", colour=MUTED, size=11)
    drawn.line(x(1), 66, x(1), 278, MUTED)
    drawn.line(x(0), 278, x(1.45), 278)
    for tenth in range(0, 15, 2):
        drawn.words(x(tenth / 10), 296, f"{tenth / 10:g}", at="middle", colour=MUTED, size=12)
    drawn.words(700, 296, "Express ÷ http", colour=MUTED, size=12)
    return drawn


def rooms() -> Picture:
    """Which room of the lab imports from which, by the number of modules that do."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## The lab\n")[1]
    names = re.findall(r"^(\w+)/ ", text, re.MULTILINE)
    imports = Counter(pair for name in names for pair in _imports(name))
    cell, left, top = 24, 110, 130
    size = left + cell * len(names) + 50
    drawn = Picture(size, top + cell * len(names) + 20, "Which room imports from which")
    drawn.words(20, 26, "Each row: how many modules of a room import from which other room.", size=14)
    drawn.words(20, 44, "Right of the diagonal there is nothing: no room imports from one below it.", size=14)
    for row, name in enumerate(names):
        drawn.words(left - 8, top + cell * row + 17, name, at="end", size=12)
        drawn.parts.append(
            f'<text transform="translate({left + cell * row + 16} {top - 8}) rotate(-60)" fill="{INK}" '
            f'font-size="12">{name}</text>'
        )
        for column, other in enumerate(names):
            count = imports[name, other]
            shade = PAPER if not count else "#dbe9f6" if count < 4 else "#a9cbe9" if count < 10 else "#6fa5d8"
            fill = SHADE if row == column else shade
            drawn.box(left + cell * column, top + cell * row, cell - 1, cell - 1, fill, line=GRID)
            if count and row != column:
                drawn.words(
                    left + cell * column + 11, top + cell * row + 16, f"{count}", at="middle", size=10
                )
    return drawn


def _imports(room: str) -> Iterator[tuple[str, str]]:
    """For each module of the room: the room, and each room that it imports from."""
    for file in (LAB / room).rglob("*.py"):
        yield from {(room, other) for other in _imported(ast.parse(file.read_text(encoding="utf-8")))}


def _imported(tree: ast.Module) -> Iterator[str]:
    """The names imported from crumple, except those imported for types only."""
    for_types = {
        inner
        for outer in ast.walk(tree)
        if isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING"
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node not in for_types:
            first, *rest = node.module.split(".")
            if first == "crumple":
                yield from rest[:1] or [name.name for name in node.names]


ALL = {"life": life, "shapes": shapes, "blocks": blocks, "verdict": verdict, "rooms": rooms}


def main() -> None:
    """Draw all of them."""
    for name, draw in ALL.items():
        (HERE / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
