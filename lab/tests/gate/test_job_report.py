"""What a CI platform is told: summary, annotations and JUnit, also where a server sends what does harm."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from crumple.gate import annotations, job_summary, junit
from crumple.gate.condition import Outcome
from crumple.gate.job_report import JobReport, Remark

HOSTILE = "</script><b>|`x` ``` [a](javascript:b) @all ##[add-mask]e\n::error::\x1b[2J\x00\ufffe"
REPORT = JobReport(
    verb="versus",
    asked="A http://127.0.0.1:1/, B http://127.0.0.1:2/",
    headline="B takes 1.2 times as long",
    screen="A  5 ms\nB  6 ms\n",
    outcomes=(
        Outcome("p50>+10%", "holds", "B 1.20 [1.15 – 1.25]"),
        Outcome("p99>+10%", "not shown", "B 1.10 [0.90 – 1.30]"),
        Outcome("throughput<-5%", "does not hold", ""),
        Outcome("cpu>+5%", "not known", "cpu was not compared"),
    ),
    remarks=(Remark("median of B", "B slower"), Remark("p99 of B", "undecided", is_open=True)),
    began_unix_s=1_795_242_612.0,
    took_s=61.25,
)
BAD = replace(REPORT, asked=HOSTILE, headline=HOSTILE, screen=HOSTILE, problem=HOSTILE)
BAD = replace(BAD, outcomes=(Outcome("p50>+10%", "holds", HOSTILE),), remarks=(Remark(HOSTILE, HOSTILE),))


def test_the_summary_has_answer_conditions_and_screen() -> None:
    said = job_summary.markdown(REPORT)
    assert "### crumple versus: fails\n" in said
    assert "**B takes 1\\.2 times as long**" in said
    assert "| ✗ | fail if p50\\>\\+10\\% | holds\\, so it fails\\: B 1\\.20 \\[1\\.15 – 1\\.25\\] |" in said
    assert "\n```text\nA  5 ms\nB  6 ms\n```\n" in said


def test_what_a_server_sends_is_no_markup_in_the_summary() -> None:
    said = job_summary.markdown(BAD)
    prose, _, code = said.partition("\n````text\n")
    # Every character of punctuation that is not ours has a backslash before it.
    ours = r"(?m)^\| \| condition \| outcome \|$|^### crumple |  $|\*\*|^\|[-|]+\|$|^\| | \| | \|$"
    assert re.findall(
        r"(?<!\\)[<>`\[\]@#&|:]", re.sub(r"\\[!-/:-@\[-`{-~]", "", re.sub(ours, " ", prose))
    ) == [":", ":"]
    assert code.endswith("\n````\n") and "````" not in code[:-6]
    assert "\x1b" not in said and "\x00" not in said


@pytest.mark.long
@pytest.mark.parametrize("room", [0, 100, 500, 800, 2_000, 20_000])
def test_a_summary_that_is_too_long_is_cut_with_a_sentence(room: int) -> None:
    long = replace(REPORT, screen="— ` a line of the screen\n" * 40_000)
    said = job_summary.markdown(long, room)
    assert len(said.encode()) <= room
    assert said == "" if room < len(job_summary.CUT) else said.endswith(job_summary.CUT)
    assert said.count("\n```") % 2 == 0
    assert len(job_summary.markdown(long).encode()) <= 1024 * 1024


def test_a_summary_that_fits_is_not_cut() -> None:
    whole = job_summary.markdown(REPORT)
    assert job_summary.markdown(REPORT, len(whole.encode())) == whole
    assert job_summary.CUT in job_summary.markdown(REPORT, len(whole.encode()) - 1)


def test_there_is_an_annotation_for_each_condition_that_holds() -> None:
    (line,) = annotations.lines(REPORT)
    assert line == (
        "::error title=crumple versus::fail if p50>+10%25: holds, so it fails: B 1.20 [1.15 – 1.25] "
        "(A http://127.0.0.1:1/, B http://127.0.0.1:2/)"
    )


def test_an_annotation_is_one_line_whatever_it_says() -> None:
    (line,) = annotations.lines(BAD)
    assert line.startswith("::error title=crumple versus::") and line.isprintable()


def test_there_are_at_most_ten_and_the_last_names_the_rest() -> None:
    many = tuple(Outcome(f"p50>{at}", "holds", "") for at in range(15))
    lines = annotations.lines(replace(REPORT, outcomes=many))
    assert len(lines) == 10
    assert "6 more: " in lines[-1] and "p50>14" in lines[-1]


@pytest.mark.parametrize(
    "text", ["::add-mask::e", "a\n  ::stop-commands::x", "say ##[set-output name=a]b", "\t::error::x"]
)
def test_a_text_from_a_server_is_no_command_to_the_runner(text: str) -> None:
    assert runs_a_command(text)
    assert not runs_a_command(annotations.defused(text))


def test_other_text_stays() -> None:
    assert annotations.defused("a::b [::1]:80\n# [x]\nstd::vector") == "a::b [::1]:80\n# [x]\nstd::vector"


def runs_a_command(text: str) -> bool:
    """Whether the runner of GitHub finds a command: at the beginning of a line, or after ##[ anywhere."""
    return any(line.strip().startswith("::") or "##[" in line for line in text.splitlines())


def test_junit_counts_what_it_has() -> None:
    root = ElementTree.fromstring(junit.xml(REPORT))
    (suite,) = root
    valid(root)
    counted = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": 7, "failures": 1, "errors": 1, "skipped": 1}
    assert suite.attrib["timestamp"] == "2026-11-21T06:30:12"
    (failure,) = suite.iter("failure")
    assert failure.attrib["message"] == "fail if p50>+10%: holds, so it fails: B 1.20 [1.15 – 1.25]"


def test_a_measurement_that_cannot_be_judged_is_an_error() -> None:
    root = ElementTree.fromstring(junit.xml(replace(REPORT, outcomes=(), problem="no block counts")))
    (error,) = root.iter("error")
    assert error.attrib["message"] == "no block counts"


def test_what_a_server_sends_stays_text_in_junit() -> None:
    root = ElementTree.fromstring(junit.xml(BAD))
    valid(root)
    (said,) = (each.text for each in root.iter("failure"))
    assert said and "</script><b>|" in said and "\x1b" not in said and "\ufffe" not in said


# junit-10.xsd of Jenkins' xUnit plug-in, as far as it is used: element → its attributes, and what it holds.
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"testcase", "system-out", "system-err", "properties"},
    ),
    "testcase": ({"name", "classname", "time"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "skipped": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "failure": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name", "classname"}}


def valid(root: ElementTree.Element) -> None:
    """Assert that a file has the form of the schema."""
    assert root.tag == "testsuites"
    for each in root.iter():
        attributes, inside = SCHEMA[each.tag]
        assert REQUIRED.get(each.tag, set()) <= {*each.attrib} <= attributes
        assert {child.tag for child in each} <= inside
