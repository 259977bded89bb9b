"""A report as data: what a result says, in parts that a terminal, a page and Markdown each draw in their way.

A verb makes a `Report` of its document. `report_text` draws it for a terminal, `report_page` as an HTML page
and `report_markdown` as Markdown; none of them knows a verb. Pure, and cheap to import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import RenderableType

    from crumple.drawing import chart, plot

Medium = Literal["terminal", "page", "markdown"]
Tone = Literal["plain", "dim", "good", "doubtful", "bad", "command", "open"]


@dataclass(frozen=True)
class Span:
    """A piece of a phrase that is drawn in one way."""

    text: str
    tone: Tone = "plain"
    """What it means for the reader; a terminal shows it as a colour."""
    strong: bool = False
    """Whether it is emphasised."""
    form: Literal["text", "badge", "code", "aside", "below", "figure", "label", "swatch", "drawing"] = "text"
    """A badge is a word with a frame; an aside is small; what is below has a line of its own, and so has a
    server's label, which may break between settings. A figure stands out on a page. A swatch is the colour of
    a language. A page draws a drawing and reads out its text, which other media show."""
    link: str = ""
    """Where it leads on a page and in Markdown; empty: nowhere."""
    drawing: plot.Strip | None = None
    """What a page draws."""


@dataclass(frozen=True)
class Phrase:
    """Words of which some have a tone, or are emphasised."""

    spans: tuple[Span, ...]

    @property
    def plain(self) -> str:
        """The words alone."""
        return "".join(span.text for span in self.spans)


# What a part takes where its words may have a tone.
Words = str | Phrase


def phrase(text: str, tone: Tone = "plain", *, strong: bool = False) -> Phrase:
    """Return words that have one tone."""
    return Phrase((Span(text, tone, strong),))


def drawing(strip: plot.Strip, says: str = "") -> Phrase:
    """Return a drawing for a cell of a page; `says`: what it shows, empty if cells beside it say so."""
    return Phrase((Span(says, form="drawing", drawing=strip),))


def join(*pieces: Words | Span) -> Phrase:
    """Return pieces as one phrase, with nothing between them."""
    return Phrase(tuple(span for piece in pieces for span in spans_of(piece)))


def spans_of(words: Words | Span) -> tuple[Span, ...]:
    """Return the spans of any words."""
    if isinstance(words, Phrase):
        return words.spans
    return (words,) if isinstance(words, Span) else (Span(words),)


def without_links(words: Words) -> Phrase:
    """Return words that lead nowhere, for a page that has not what they lead to."""
    return Phrase(tuple(replace(span, link="") for span in spans_of(words)))


def plain(words: Words) -> str:
    """Return words without their tones."""
    return words if isinstance(words, str) else words.plain


@dataclass(frozen=True)
class Title:
    """What was asked: the first line of a report, or its first lines."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    words: Words


Role = Literal["text", "source", "note", "caution", "problem", "condition"]
# Of these a page makes sentences: with a capital, and with a full stop if they end without one.
SENTENCES: frozenset[Role] = frozenset(("note", "caution", "problem", "condition"))


@dataclass(frozen=True)
class Paragraph:
    """One line of words, or several, that stand by themselves."""

    words: Words
    role: Role = "text"
    """What it is for: a page has a style for each."""
    breaks_words: bool = False
    """Whether a terminal breaks it anywhere, as an address without spaces needs it."""


@dataclass(frozen=True)
class Circumstances:
    """When, where and how long: short phrases in one line."""

    phrases: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """Names, each with what is true of it."""

    rows: Sequence[tuple[str, Words]]


@dataclass(frozen=True)
class Note:
    """A line that begins with a sign, which a page leaves out."""

    sign: str
    words: Words
    tone: Tone = "plain"
    role: Role = "caution"


@dataclass(frozen=True)
class Notes:
    """Lines of which each begins with a sign."""

    rows: Sequence[Note]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    cells: Sequence[Words | None]
    """None: the cell above it goes on."""
    right: bool = False
    """Whether its cells stand at its right side, as numbers do."""
    whole: bool = False
    """Whether its cells do not wrap."""
    at_least: int = 0
    """How many characters it takes at least."""
    wide_from: int = 0
    """A terminal shows it only if it has as many columns."""
    media: frozenset[Medium] = frozenset(("terminal", "page", "markdown"))
    """Where it is shown."""
    axis: plot.Strip | None = None
    """The axis of its drawings, which a page has below the heading."""

    def height(self, row: int) -> int:
        """Return how many rows the cell of a row takes; 0: it belongs to a cell above."""
        if self.cells[row] is None:
            return 0
        return 1 + sum(1 for _ in takewhile(lambda cell: cell is None, self.cells[row + 1 :]))


@dataclass(frozen=True)
class Choice:
    """A list of values, of which a reader chooses one to see the rows that have it."""

    label: str
    options: Mapping[str, str]
    """Value → the class of the rows that have it: a letter and a number, which no other list has."""


@dataclass(frozen=True)
class Table:
    """A table. Its columns have equally many cells."""

    columns: Sequence[Column]
    left_out_first: Sequence[str] = ()
    """The headings of the columns that a terminal leaves out while words would be broken, in this order."""
    spared_first: Sequence[str] = ()
    """The headings of those that it leaves out while cells would wrap."""
    is_named: bool = True
    """Whether the first column has the names of the rows."""
    stacks: bool = False
    """Whether a terminal that is too narrow shows each name above its figures."""
    style: str = "plain times"
    """Its class in the style sheet of pages."""
    row_names: Sequence[str] = ()
    """The address of each row on a page; empty: it has none."""
    row_styles: Sequence[str] = ()
    """The class of each row in the style sheet of pages."""
    below: Sequence[Sequence[Part]] = ()
    """What a page has below each row, over its whole width. Markdown has the words of it below the table; a
    terminal leaves it out."""
    choices: Sequence[Choice] = ()
    """Lists by which a page shows some of the rows only; one table of a page may have them. A page needs no
    script for that."""
    unfolds: bool = False
    """Whether a page shows what is below a row only when the reader opens the row."""

    def shown_in(self, medium: Medium) -> list[Column]:
        """Return the columns that a medium shows, if it has room for them."""
        return [column for column in self.columns if medium in column.media]


@dataclass(frozen=True)
class Charts:
    """Charts of a page."""

    charts: Sequence[chart.BoundChart]
    """What each shows is computed where it is drawn."""


@dataclass(frozen=True)
class Plot:
    """A drawing made of characters, for a terminal."""

    draw: Callable[[int], Sequence[RenderableType]]
    """Takes the number of columns and returns lines; none: there is nothing to show."""


@dataclass(frozen=True)
class ByWidth:
    """Parts that are chosen by the width of the terminal."""

    choose: Callable[[int], Iterable[Part]]
    """Takes the number of columns."""


@dataclass(frozen=True)
class Code:
    """Lines to be typed, or what a program printed: shown as they are."""

    lines: Sequence[str]
    style: str = ""
    """Its class in the style sheet of pages."""


@dataclass(frozen=True)
class Prose:
    """Markdown of a study or a server, whose author may be a stranger."""

    markdown: str


@dataclass(frozen=True)
class Items:
    """A list with a dot before each item."""

    rows: Sequence[Words]


@dataclass(frozen=True)
class Fold:
    """Parts below a line that a click opens; a terminal shows the line only."""

    title: Words
    parts: Sequence[Part]
    is_open: bool = False
    style: str = ""
    """Its class in the style sheet of pages."""


@dataclass(frozen=True)
class Only:
    """Parts for some media."""

    media: frozenset[Medium]
    parts: Sequence[Part]


Part = (
    Title | Heading | Paragraph | Circumstances | Facts | Notes | Table | Charts | Plot | ByWidth | Code
    | Prose | Items | Fold | Only
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """Parts that belong together. A terminal separates sections by a blank line and shows no heading."""

    parts: Sequence[Part]
    heading: str = ""
    """Its heading on a page and in Markdown; empty: none."""
    name: str = ""
    """Its address on a page."""
    is_spoken: bool = False
    """Whether a page has the heading only for readers who listen to it."""


@dataclass(frozen=True)
class Answer:
    """The answer of a report: a page begins with it, and a terminal ends with it."""

    asked: str
    """What was asked, in one sentence that needs no knowledge of crumple."""
    found: Sequence[Words]
    """What was found, in at most three sentences, each with its figure and interval."""
    sure: Words
    """How sure that is: a word as a badge, and its reason."""
    subjects: Sequence[str] = ()
    """What was measured, and from where, if the sentence does not contain it: commands, addresses."""
    picture: Charts | None = None
    """The one chart that shows it."""


def sure(word: str, tone: Tone, reason: str = "") -> Phrase:
    """Return how sure an answer is: the word with its tone, and the reason."""
    return join(Span(word, tone, form="badge"), Span(f" {reason}" if reason else ""))


@dataclass(frozen=True)
class Report:
    """All that a result says."""

    verb: str
    """The command that measured it."""
    title: str
    """The title of the page's window: the result in a few words."""
    head: Sequence[Part]
    """What is shown before everything but what was asked."""
    sections: Sequence[Section]
    engine_version: str = ""
    """The version of the engine that measured it; empty: several results are compared."""
    has_contents: bool = False
    """Whether a page begins with links to its sections."""
    answer: Answer | None = None
    """What a reader learns in a minute."""
    around: Sequence[Span] = ()
    """Links to pages beside it, where it is one of several."""
    circumstances: Sequence[str] = ()
    """When it was measured, on which machine, with which versions."""
    first_line: str = ""
    """What a terminal has before all else, for other programs; empty: nothing."""


TERMINAL: frozenset[Medium] = frozenset(("terminal",))
PAGE: frozenset[Medium] = frozenset(("page",))
MARKDOWN: frozenset[Medium] = frozenset(("markdown",))
# All but a terminal: what is read at leisure.
FILES: frozenset[Medium] = PAGE | MARKDOWN


def on_terminal(*parts: Part) -> Only:
    """Return parts that a terminal shows."""
    return Only(TERMINAL, parts)


def on_page(*parts: Part) -> Only:
    """Return parts that a page shows."""
    return Only(PAGE, parts)


def again(command: str) -> Section:
    """Return the command that repeats a measurement, as pages end with it."""
    return Section([Only(FILES, [Code([command])])], heading="Again", name="again")


def parts_for(parts: Iterable[Part], medium: Medium) -> Iterator[Any]:
    """Yield the parts that a medium shows."""
    for part in parts:
        if not isinstance(part, Only):
            yield part
        elif medium in part.media:
            yield from parts_for(part.parts, medium)


# What begins with a scheme is an address, in which no letter may change.
URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def sentence(text: str) -> str:
    """Return the text as a sentence: with a capital, unless it begins with a URL, and with a full stop."""
    capital = text if URL.match(text) else f"{text[:1].upper()}{text[1:]}"
    return f"{capital}{'' if text.endswith(('.', '!', '?', ':')) else '.'}"
