"""docs/architecture.md lists the lab's rooms, and no room imports from one that is listed below it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAB = ROOT / "lab" / "crumple"
# Modules beside the rooms, which all rooms may import.
COMMON = {
    "contract",
    "contract_base",
    "engine",
    "errors",
    "faults",
    "interrupt",
    "project",
    "surroundings",
    "toml_file",
}
THE_LAB = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## The lab\n")[1]
ROOMS = re.findall(r"^(\w+)/ ", THE_LAB, re.MULTILINE)


def test_every_room_is_in_the_map() -> None:
    assert sorted(ROOMS) == sorted(file.parent.name for file in LAB.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_none_below_it(room: str) -> None:
    allowed = {*COMMON, *ROOMS[: ROOMS.index(room) + 1]}
    files = {file: file.read_text(encoding="utf-8") for file in (LAB / room).rglob("*.py")}
    assert {file.name: below for file, text in files.items() if (below := {*imported(text)} - allowed)} == {}


def test_no_two_modules_have_the_same_name() -> None:
    modules = [file.stem for file in LAB.rglob("*.py") if not {"carried", "starter"} & {*file.parts}]
    own = [name for name in modules if name != "__init__"]
    assert sorted(own) == sorted({*own})


def imported(text: str) -> Iterator[str]:
    """The names imported from crumple, except those imported for types only."""
    tree = ast.parse(text)
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
