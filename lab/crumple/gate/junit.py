"""What a command came to, as JUnit XML: whether it can be judged, each condition and each finding as a test.

The form is that of Jenkins' schema (junit-10.xsd), which GitLab reads, too.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crumple.gate.job_report import JobReport, JobTest, tests

# XML 1.0 has no way to write any other character, not even as a reference.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(report: JobReport) -> str:
    """Return the file."""
    listed = tests(report)
    numbers = {
        "tests": len(listed),
        "failures": _number(listed, "failed"),
        "errors": _number(listed, "error"),
    }
    counted = {name: str(number) for name, number in numbers.items()}
    took = {"time": f"{report.took_s:.3f}"}
    root = Element("testsuites", {"name": "crumple", **took, **counted})
    began = datetime.fromtimestamp(report.began_unix_s, UTC).replace(tzinfo=None)
    suite = SubElement(
        root,
        "testsuite",
        {
            "name": _legal(f"crumple {report.verb}: {report.asked}"),
            **counted,
            "skipped": str(_number(listed, "skipped")),
            **took,
            "timestamp": began.isoformat(timespec="seconds"),
        },
    )
    for test in listed:
        _add(suite, test)
    SubElement(suite, "system-out").text = _legal(f"{report.headline}\n\n{report.screen}")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add(suite: Element, test: JobTest) -> None:
    made = SubElement(
        suite, "testcase", {"classname": _legal(test.group), "name": _legal(test.name), "time": "0.000"}
    )
    words = _legal(test.words)
    if test.result == "skipped":
        SubElement(made, "skipped", {"message": words})
    elif test.result in ("failed", "error"):
        name = "failure" if test.result == "failed" else "error"
        SubElement(made, name, {"message": words, "type": test.group}).text = words
    elif words:
        SubElement(made, "system-out").text = words


def _number(listed: Sequence[JobTest], result: str) -> int:
    return sum(test.result == result for test in listed)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("", text)
