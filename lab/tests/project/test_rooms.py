"""The lab is laid out as docs/architecture.md says: its rooms, what they import, and what is beside them."""

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAB = ROOT / "lab" / "crumple"
TESTS = ROOT / "lab" / "tests"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
THE_LAB = ARCHITECTURE.split("\n## The lab\n")[1]
# From the one that all may import to the one that may import all.
ROOMS = re.findall(r"^(\w+)/ ", THE_LAB, re.MULTILINE)
# The modules beside the rooms that import from them; and the others, which all rooms may import.
ENTRY = ("cli", "start", "__main__")
COMMON = {file.stem for file in LAB.glob("*.py")} - {"__init__", *ENTRY}
MODULES = {
    ".".join(("crumple", *file.relative_to(LAB).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in LAB.rglob("*.py")
    if not {"carried", "starter"} & {*file.parts}
}
# A room with a run of something: what is seen meanwhile, and what is read afterwards.
VERBS = ("load", "find", "run", "diagnose", "versus")
PURE_ROOMS = ("stats", "record", "study", "verdict", "observation", "limit", "cause")
# What starts or reaches something else.
ACTS = {"asyncio", "multiprocessing", "signal", "socket", "subprocess", "threading"}


def test_every_room_is_in_architecture_md() -> None:
    assert sorted(ROOMS) == sorted(file.parent.name for file in LAB.glob("*/__init__.py"))


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_from_one_listed_below_it(room: str) -> None:
    allowed = {*COMMON, *ROOMS[: ROOMS.index(room) + 1]}
    files = {file: file.read_text(encoding="utf-8") for file in (LAB / room).rglob("*.py")}
    assert {file.name: below for file, text in files.items() if (below := imported(text) - allowed)} == {}


@pytest.mark.parametrize("module", sorted(COMMON))
def test_a_module_beside_the_rooms_imports_from_no_room(module: str) -> None:
    # `called` hands over to the Python API.
    allowed = COMMON | ({"notebook"} if module == "called" else set())
    assert imported((LAB / f"{module}.py").read_text(encoding="utf-8")) <= allowed


@pytest.mark.long
def test_what_enters_the_lab_is_imported_from_outside_only() -> None:
    importing = {
        entry: {name for name, file in MODULES.items() if f"crumple.{entry}" in modules_imported(file)}
        for entry in ENTRY
    }
    assert importing == {"cli": {"crumple.start"}, "start": {"crumple.__main__"}, "__main__": set()}


@pytest.mark.long
def test_no_modules_import_each_other_in_a_circle() -> None:
    # Also where an import is for types only, or waits in a function.
    try:
        TopologicalSorter({name: modules_imported(file) - {name} for name, file in MODULES.items()}).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def test_every_room_says_what_it_is_for() -> None:
    files = [*LAB.glob("*/__init__.py"), *LAB.glob("*/report/__init__.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert [file for file, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []


def test_a_verb_has_a_live_view_and_a_report() -> None:
    assert sorted(file.parent.name for file in LAB.glob("*/*_live.py")) == sorted(VERBS)
    assert sorted(file.parent.name for file in LAB.glob("*/report")) == sorted(VERBS)


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_starts_nothing(room: str) -> None:
    files = {file: file.read_text(encoding="utf-8") for file in (LAB / room).rglob("*.py")}
    assert {file.name: acts for file, text in files.items() if (acts := {*from_elsewhere(text)} & ACTS)} == {}


def test_every_module_that_architecture_md_names_exists() -> None:
    named = {*re.findall(r"(?<![\w/.*])(?:\w+/)*(\w+\.(?:py|rs))\b", ARCHITECTURE)}
    modules = [*LAB.rglob("*.py"), *(ROOT / "engine").rglob("*.rs")]
    assert named - {file.name for file in modules} == set()


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("module", "spared"),
    [
        ("crumple.cli", {"rich", "pydantic", "numpy"}),
        ("crumple.shell.complete", {"typer", "rich", "pydantic"}),
        ("crumple.commands.load", {"numpy", "ssl"}),
        ("crumple.commands.load_result", {"numpy", "pymysql", "jinja2"}),
        ("crumple.stats.knee", {"numpy"}),
        ("crumple.commands.find", {"numpy", "pymysql", "jinja2"}),
        ("crumple.commands.diagnose", {"numpy", "pymysql", "jinja2"}),
    ],
)
def test_what_takes_long_to_import_is_imported_when_it_is_needed(module: str, spared: set[str]) -> None:
    asks = f"import sys, {module}\nprint(*sorted({spared!r} & {{*sys.modules}}))"
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


def test_no_two_modules_have_the_same_name() -> None:
    modules = [file.stem for file in LAB.rglob("*.py") if not {"carried", "starter"} & {*file.parts}]
    own = [name for name in modules if name != "__init__"]
    assert sorted(own) == sorted({*own})


def test_the_tests_of_a_room_are_in_a_folder_of_its_name() -> None:
    data = {"golden", "stored", "asked_texts", "commands_of_curl", "helpers"}
    folders = {folder.name for folder in TESTS.iterdir() if folder.is_dir()} - {"__pycache__", *data}
    # `project` tests what is beside the rooms, `corpus` the servers whose limit is known, and `pages` all
    # pages in a browser.
    assert folders <= {*ROOMS, "project", "corpus", "pages"}
    assert [file.name for file in TESTS.glob("test_*.py")] == []


def test_tests_import_from_no_other_test_file() -> None:
    importing = re.compile(r"^\s*(?:from|import) test_", re.MULTILINE)
    files = {str(file.relative_to(TESTS)): file.read_text(encoding="utf-8") for file in TESTS.rglob("*.py")}
    assert [name for name, text in files.items() if importing.search(text)] == []


def test_every_module_has_tests_that_the_map_names() -> None:
    tests_of = runpy.run_path(str(ROOT / "docs" / "modules_page.py"))["tests_of"]
    modules = [file.name for file in LAB.rglob("*.py") if not {"carried", "starter"} & {*file.parts}]
    # No module imports these three: Python and the package itself do.
    own = {"__init__.py", "__main__.py", "called.py"}
    assert {name for name in modules if not tests_of(name)} <= own


@cache
def imported(text: str) -> frozenset[str]:
    """The names imported from crumple, except those imported for types only."""
    return frozenset(_imported(ast.parse(text)))


def _imported(tree: ast.Module) -> Iterator[str]:
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


def modules_imported(file: Path) -> set[str]:
    """The modules of crumple that a file imports, wherever in it and for whatever."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            paths = {f"{node.module}.{name.name}" for name in node.names}
            found |= paths & {*MODULES} or {node.module}
            if paths - {*MODULES}:
                found.add(node.module)
    return found


def from_elsewhere(text: str) -> Iterator[str]:
    """The first part of the name of each module that is imported, wherever."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
