"""Text of others in the screen of several runs: it stays text in every format."""

import re
from dataclasses import replace

import made_verdicts as made
import pytest
from crumple.run.report import runs_report
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView
from made_screens import five, said
from made_verdicts import NODE, SERVERS

HOSTILE = "<b>bold</b> \x1b[31mred\n[red]markup[/red] `code` *star*"


def hostile() -> RunView:
    servers = SERVERS | {NODE: (HOSTILE, {"no <i>such</i> runtime": "\x1b[2J1.0"})}
    claim, verdict = made.ratio("R", 0.4)
    return made.run(
        [(claim.model_copy(update={"text": HOSTILE}), replace(verdict, text=HOSTILE))], HOSTILE, servers
    )


def test_control_characters_in_foreign_text_are_escaped() -> None:
    for width in (80, 100):
        shown = said(hostile(), width=width)
        assert "\x1b" not in shown and "\\x1b[31mred [red]markup[/red]" in shown
        assert max(map(len, shown.splitlines())) <= width
        # A line break in a claim's text does not separate it from its figure.
        assert re.search(r"^✗ R .*0\.400 \[0\.364–0\.440\]  13\.7$", shown, re.M)
    assert "\x1b" not in text(hostile(), width=100, styled=False)


@pytest.mark.long
def test_foreign_text_is_not_read_as_markup() -> None:
    seen = hostile()
    for page in (html(seen), runs_report.html([seen], {seen.run.id: ""})):
        assert "<b>bold</b>" not in page and "<i>such</i>" not in page
        assert "&lt;b&gt;bold" in page
    for shown in (markdown(seen), runs_report.markdown([seen])):
        assert "<b>bold" not in shown.replace("\\<b>", "") and "<i>such" not in shown.replace("\\<i>", "")
    assert "\x1b" not in as_json(seen)


@pytest.mark.long
def test_the_image_loads_nothing_and_shows_the_screen() -> None:
    drawn = runs_report.picture(five(), 100, "crumple try")
    assert "url(http" not in drawn and "@font-face" not in drawn
    assert "S0-1" in drawn and "crumple&#160;try" in drawn.replace(" ", "&#160;")
    assert "\x1b" not in runs_report.picture([hostile()], 100, "a")
