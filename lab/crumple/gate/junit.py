"""What a command came to, as JUnit XML: whether it can be judged, each condition and each finding as a test.

The form is that of Jenkins' schema (junit-10.xsd), which GitLab reads, too.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crumple.gate.told import Case, Told, cases

# XML 1.0 has no way to write any other character, not even as a reference.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(told: Told) -> str:
    """Return the file."""
    found = cases(told)
    numbers = {
        "tests": len(found),
        "failures": _number(found, "failed"),
        "errors": _number(found, "error"),
    }
    counted = {name: str(number) for name, number in numbers.items()}
    took = {"time": f"{told.took_s:.3f}"}
    root = Element("testsuites", {"name": "crumple", **took, **counted})
    began = datetime.fromtimestamp(told.began_unix_s, UTC).replace(tzinfo=None)
    suite = SubElement(
        root,
        "testsuite",
        {
            "name": _legal(f"crumple {told.verb}: {told.asked}"),
            **counted,
            "skipped": str(_number(found, "skipped")),
            **took,
            "timestamp": began.isoformat(timespec="seconds"),
        },
    )
    for each in found:
        _add(suite, each)
    SubElement(suite, "system-out").text = _legal(f"{told.headline}\n\n{told.screen}")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add(suite: Element, case: Case) -> None:
    made = SubElement(
        suite, "testcase", {"classname": _legal(case.group), "name": _legal(case.name), "time": "0.000"}
    )
    said = _legal(case.said)
    if case.answer == "skipped":
        SubElement(made, "skipped", {"message": said})
    elif case.answer in ("failed", "error"):
        name = "failure" if case.answer == "failed" else "error"
        SubElement(made, name, {"message": said, "type": case.group}).text = said
    elif said:
        SubElement(made, "system-out").text = said


def _number(found: Sequence[Case], answer: str) -> int:
    return sum(each.answer == answer for each in found)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("", text)
