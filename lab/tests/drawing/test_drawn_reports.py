"""A report as data, and how a terminal, a page and Markdown draw it."""

import re

import own_scripts
import pytest
from crumple.drawing import report_markdown, report_page, report_parts, report_text
from crumple.drawing.page import style
from crumple.drawing.plot import RowPoint, Strip
from crumple.drawing.report_parts import (
    ByWidth,
    Circumstances,
    Code,
    Column,
    Facts,
    Fold,
    Items,
    Note,
    Notes,
    Paragraph,
    Part,
    Plot,
    Report,
    Section,
    Span,
    Table,
    Title,
    again,
    drawing,
    join,
    on_page,
    on_terminal,
    phrase,
)
from crumple.drawing.scale import AxisScale, ratio_axis
from rich.text import Text

FIGURES = Table(
    [
        Column("", ["first", "second"]),
        Column("p99", ["1.2 ms", "3.4 ms"], right=True),
        Column("said", [phrase("faster", strong=True), phrase("slower", "bad")]),
    ]
)


def report(*parts: Part, heading: str = "What was seen") -> Report:
    """Return a report with one section."""
    return Report(
        "find", "http://127.0.0.1:1/", [Title(["GET /"])], [Section(parts, heading, "seen")], "0.1.0"
    )


def screen(*parts: Part, columns: int = 80, styled: bool = False) -> str:
    return report_text.text(report(*parts), columns, styled)


def page(*parts: Part) -> str:
    return report_page.html(report(*parts)).partition("<body>")[2]


def markdown(*parts: Part) -> str:
    return report_markdown.markdown(report(*parts))


def test_a_terminal_separates_sections_by_a_blank_line_and_shows_no_heading() -> None:
    assert screen(Paragraph("it held")) == "GET /\n\nit held\n"


def test_a_section_in_which_a_medium_shows_nothing_is_left_out() -> None:
    assert screen(on_page(Paragraph("it held"))) == "GET /\n"
    assert "<section" not in page(on_terminal(Paragraph("it held")))
    assert markdown(on_terminal(Paragraph("it held"))) == "# GET /\n"


def test_each_medium_shows_the_parts_that_are_for_it() -> None:
    both = [on_terminal(Paragraph("short")), on_page(Paragraph("long"))]
    assert "short" in screen(*both) and "long" not in screen(*both)
    assert "long" in page(*both) and "short" not in page(*both)


def test_a_terminal_gives_words_the_style_of_their_tone() -> None:
    styled = screen(Paragraph(join("it is ", phrase("bad", "bad", strong=True))), styled=True)
    assert "it is \x1b[1;31mbad\x1b[0m" in styled


def test_a_page_makes_a_sentence_of_a_note() -> None:
    assert '<p class="note">It holds 300 /s.</p>' in page(Paragraph("it holds 300 /s", "note"))
    assert '<p class="note">Why?</p>' in page(Paragraph("why?", "note"))


def test_a_table_is_the_same_in_each_medium() -> None:
    assert screen(FIGURES).splitlines()[2:] == [
        "           p99  said",
        "first   1.2 ms  faster",
        "second  3.4 ms  slower",
    ]
    cells = re.sub(r' data-label="[^"]*"', "", page(FIGURES))
    assert '<th scope="row">first</th><td class="number">1.2 ms</td><td><b>faster</b></td>' in cells
    assert markdown(FIGURES).endswith(
        "|  | p99 | said |\n| --- | --: | --- |\n"
        "| first | 1.2 ms | **faster** |\n| second | 3.4 ms | slower |\n"
    )


def test_a_terminal_leaves_out_columns_and_names_them() -> None:
    table = Table(FIGURES.columns, left_out_first=("said",))
    shown = screen(table, columns=60)
    assert "left out" not in shown
    narrow = Table([*FIGURES.columns, Column("long", ["x" * 50] * 2)], left_out_first=("said",))
    assert "left out, because 60 columns are too few: said; --json has all" in " ".join(
        screen(narrow, columns=60).split()
    )


def test_names_without_room_stand_above_their_figures() -> None:
    long = "n" * 50
    table = Table([Column("", [long, "other"]), FIGURES.columns[1], FIGURES.columns[2]], stacks=True)
    assert screen(table, columns=60).splitlines()[2:5] == [long, "     p99  said", "  1.2 ms  faster"]
    assert screen(table, columns=80).splitlines()[3].startswith(f"{long}  1.2 ms")


def test_a_column_may_need_a_wide_terminal() -> None:
    table = Table([*FIGURES.columns, Column("why", ["a", "b"], wide_from=90)])
    assert "why" not in screen(table, columns=89) and "why" in screen(table, columns=90)


def test_a_note_begins_with_its_sign_but_on_a_page() -> None:
    notes = Notes([Note("!", "it was disturbed", "doubtful")])
    assert "! it was disturbed" in screen(notes)
    assert '<p class="caution"><b aria-hidden="true">!</b> It was disturbed.</p>' in page(notes)
    assert "- ! it was disturbed" in markdown(notes)


def test_a_condition_that_fails_has_a_sign_and_its_colour_on_a_page() -> None:
    said = page(Paragraph(phrase("fail if p99>1s: holds", "bad"), "condition"))
    assert '<p class="condition holds"><b aria-hidden="true">✗</b> Fail if p99&gt;1s: holds.</p>' in said
    kept = page(Paragraph(phrase("fail if p99>1s: does not hold", "good"), "condition"))
    assert '<p class="condition">Fail if p99&gt;1s: does not hold.</p>' in kept
    assert ".condition.holds { color: var(--bad);" in style()


def test_what_depends_on_the_width_gets_the_width() -> None:
    drawn = screen(Plot(lambda columns: [Text("=" * columns)]), ByWidth(lambda wide: [Paragraph(f"{wide}")]))
    assert drawn.splitlines()[2:] == ["=" * 80, "80"]


def test_a_fold_shows_its_line_and_on_a_page_what_is_in_it() -> None:
    fold = Fold("2 trials", [Code(["crumple load"])])
    assert screen(fold).endswith("2 trials\n")
    assert re.search(
        r"<details><summary>2 trials</summary>\s*<pre>crumple load</pre>\s*</details>", page(fold)
    )
    assert "<details><summary>2 trials</summary>\n\n```text\ncrumple load\n```" in markdown(fold)


@pytest.mark.parametrize("hostile", ["<script>x</script>", "*a* _b_ `c` [d](e)", "\x1b[2J"])
def test_text_from_elsewhere_cannot_act(hostile: str) -> None:
    parts: list[Part] = [
        Paragraph(hostile),
        Facts([("name", hostile)]),
        Items([hostile]),
        Circumstances([hostile]),
        Table([Column("a", [hostile])]),
    ]
    assert "\x1b" not in screen(*parts)
    assert "<script" not in own_scripts.without(page(*parts)) and "\x1b" not in page(*parts)
    written = markdown(*parts)
    assert "\x1b" not in written
    assert not re.search(r"(?<!\\)[*<`\[]", written.partition("\n\n## ")[2])


def test_a_fence_is_longer_than_any_in_it() -> None:
    assert markdown(Code(["```", "x"])).endswith("````text\n```\nx\n````\n")


def test_spans_have_forms() -> None:
    words = join(
        Span("supported", form="badge"), Span("a-b", form="code", link="t.html"), Span("of 3", form="below")
    )
    drawn = page(Paragraph(words))
    assert '<span class="badge supported">supported</span><a href="t.html"><code>a-b</code></a>' in drawn
    assert '<span class="of">of 3</span>' in drawn
    assert "**supported**[`a-b`](t.html)<br>of 3" in markdown(Paragraph(words))


def test_the_command_that_repeats_it_is_on_the_page_only() -> None:
    whole = Report("find", "a", [Title(["GET /"])], [again("crumple find localhost")])
    assert report_text.text(whole, 80, False) == "GET /\n"
    assert "<pre>crumple find localhost</pre>" in report_page.html(whole)


def test_an_address_at_the_begin_of_a_sentence_stays_as_it_is() -> None:
    assert report_parts.sentence("http://127.0.0.1:80/ is slower") == "http://127.0.0.1:80/ is slower."
    assert report_parts.sentence("it is slower") == "It is slower."


def test_code_in_markdown_cannot_be_left_by_a_backtick() -> None:
    assert report_markdown.code("a") == "`a`"
    assert report_markdown.code("a`b") == "`` a`b ``"


def test_a_drawing_stands_in_a_cell_of_a_page_and_its_words_elsewhere() -> None:
    axis = ratio_axis(AxisScale(0.5, 2, log=True))
    strip = Strip(axis, [RowPoint(1.0, "measured: <1>")])
    table = Table(
        [
            Column("Claim", ["alike"]),
            Column("Measured", [drawing(strip, "as often")], axis=Strip(axis, has_ticks=True)),
        ]
    )
    drawn = page(table)
    assert re.search(r'<th class="drawn">Measured<svg[^>]*aria-hidden="true".*?>0\.5</text>', drawn)
    assert re.search(r'<td class="drawn"><svg[^>]*aria-label="as often".*?<title>measured: &lt;1&gt;', drawn)
    for said in (screen(table), markdown(table)):
        assert "as often" in said
        assert "svg" not in said
