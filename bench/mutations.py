"""Do the quick tests notice a change of any number that the diagnosis was tuned with?

    python bench/mutations.py                            # all numbers of observation, limit and cause
    python bench/mutations.py --only belief,hypotheses   # those of files that one of these words is in
    python bench/mutations.py --list                     # only list the numbers, with their places

Each number is made a quarter larger, then a quarter smaller, one at a time. In a process of its own the
stored servers are judged first, then the other quick tests of these rooms run, and those that name the
module, up to the first that fails. It prints which changes no test notices, and which the stored servers
do not.

A number is tuned if another could have been chosen. 0, 1 and 2, powers of ten from a thousand on (units), and
the ends of the scale of ratios are not, but for a constant that is such a number itself.
"""

import ast
import importlib.machinery
import importlib.util
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import options
import pytest
from bounds import Bounds
from crumple import project
from crumple.stats.interval import Interval

LAB, TESTS = project.root() / "lab", project.root() / "lab" / "tests"
CRUMPLE = LAB / "crumple"
ROOMS = tuple(CRUMPLE / name for name in ("observation", "limit", "cause"))
NOTICED, QUARTER = 0.95, 0.25
# Judges what was stored of servers; then tests of the whole rooms; then those that name the module.
STORED = "test_stored.py"
OF_ALL = ("test_causes_page.py", "test_harm.py", "test_hypotheses.py", "test_unloaded.py", "test_why.py")
QUICK = "not starts and not long and not weighs"
# A change may make a loop endless. A test that takes longer has noticed it.
SECONDS_MAX = 180
FEW, UNITS, SCALE_END = (0, 1, 2), (1e3, 1e4, 1e5, 1e6, 1e9), 3.0


@dataclass(frozen=True)
class Number:
    """A number in a file, and where."""

    file: Path
    line: int
    column: int
    value: float

    @property
    def place(self) -> str:
        """The file, the line, and the number."""
        return f"{self.file.relative_to(LAB / 'crumple')}:{self.line}: {self.value:g}"

    @property
    def module(self) -> str:
        """The name of its module."""
        return ".".join(self.file.relative_to(LAB).with_suffix("").parts)

    def changed(self, by: float) -> float:
        """The number, larger or smaller by this share; a whole one stays whole."""
        if by and isinstance(self.value, int):
            return self.value + (
                max(1, round(self.value * by)) if by > 0 else min(-1, round(self.value * by))
            )
        return self.value * (1 + by)


def numbers(words: Sequence[str]) -> list[Number]:
    """All tuned numbers of files whose path contains one of the words; no words: of all."""
    files = sorted(file for room in ROOMS for file in room.rglob("*.py"))
    chosen = [
        file for file in files if not words or any(word in str(file.relative_to(CRUMPLE)) for word in words)
    ]
    return [number for file in chosen for number in _of_file(file)]


def _of_file(file: Path) -> Iterator[Number]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    ends = {
        id(each)
        for range_ in ast.walk(tree)
        if _is_range(range_)
        for each in ast.walk(range_)
        if _is_end(each)
    }
    alone = {id(node.value) for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or id(node) in ends:
            continue
        if isinstance(node.value, int | float) and node.value and (
            id(node) in alone or abs(node.value) not in (*FEW, *UNITS)
        ):  # fmt: skip
            yield Number(file, node.lineno, node.col_offset, node.value)


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Range"


def _is_end(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == SCALE_END


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads the module of a number, with another number there."""

    def __init__(self, number: Number, value: float) -> None:
        super().__init__(number.module, str(number.file))
        self.number, self.value = number, value

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.number.file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and self._is_it(node):
                node.value = self.value
        return compile(tree, str(self.number.file), "exec")

    def _is_it(self, node: ast.Constant) -> bool:
        return (node.lineno, node.col_offset) == (self.number.line, self.number.column)

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """As a finder: of this module only."""
        return importlib.util.spec_from_loader(name, self) if name == self.number.module else None


class _First:
    """The file of the first test that fails."""

    def __init__(self) -> None:
        self.file = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.file:
            self.file = report.nodeid.partition("::")[0].rpartition("/")[2]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.file:
            self.file = report.nodeid.rpartition("/")[2]


def tests_of(number: Number) -> list[Path]:
    """The files of tests that may notice it, those first that most probably do."""
    names = re.compile(rf"\b{number.file.stem}\b")
    others = (file for file in sorted(TESTS.rglob("test_*.py")) if file.name not in (STORED, *OF_ALL))
    naming = [file for file in others if names.search(file.read_text(encoding="utf-8"))]
    return [*(next(TESTS.rglob(name)) for name in OF_ALL), *naming]


def noticed(number: Number, by: float, trying: Callable[[Number], str]) -> str:
    """Return the file of tests that notices the change, in a process of its own; empty: none does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            signal.alarm(SECONDS_MAX)
            sys.meta_path.insert(0, _Changed(number, number.changed(by)))
            os.write(write, trying(number).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        found = said.read()
    _, status = os.waitpid(child, 0)
    return "it took too long" if os.WIFSIGNALED(status) else found


def _by_stored(_: Number) -> str:
    """Judge the stored servers: the name of their tests if one fails, otherwise empty."""
    _forget("crumple.cause")
    try:
        tests = importlib.import_module(Path(STORED).stem)
        tests.test_what_is_said_is_what_was_approved()
        for server in tests.SERVERS:
            tests.test_the_beliefs_are_those_that_were_approved(server)
    # Whatever goes wrong, the change was noticed.
    except Exception:
        return STORED
    return ""


def _by_others(number: Number) -> str:
    """Run the other tests: the name of the file whose test fails first, empty if none does."""
    _forget("crumple")
    for to in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), to)
    first = _First()
    words = ["-x", "-q", "-p", "no:cacheprovider", "-m", QUICK, *map(str, tests_of(number))]
    code = pytest.main(words, plugins=[first])
    return first.file or ("" if code == pytest.ExitCode.OK else "the tests do not start")


def _forget(package: str) -> None:
    """Unload the package and what lies among the tests, so that both are loaded with the change."""
    for name, module in [*sys.modules.items()]:
        is_test = str(getattr(module, "__file__", None) or "").startswith(str(TESTS))
        if is_test or name == package or name.startswith(f"{package}."):
            del sys.modules[name]


def judged(found: Sequence[Number], sides: Sequence[float]) -> tuple[int, int, int]:
    """Try all, and print those that the stored servers do not notice.

    Returns how many they notice, how many all tests do, and of how many.
    """
    if file := noticed(found[0], 0.0, _by_stored):
        raise SystemExit(f"{file} fails without a change, too; run: make judged")
    stored = others = 0
    for number in found:
        for by in sides:
            file = noticed(number, by, _by_stored) or noticed(number, by, _by_others)
            stored, others = stored + (file == STORED), others + bool(file)
            if file != STORED:
                words = f"noticed by {file}" if file else "NOT NOTICED"
                print(f"{number.place} → {number.changed(by):g}: {words}", flush=True)
    return stored, others, len(found) * len(sides)


def main() -> None:
    """Do what the command line asks."""
    parser = options.parser(__doc__)
    parser.add_argument("--only", type=options.words, default=[], help="words in the paths of files")
    parser.add_argument("--list", action="store_true", help="list the numbers and change none")
    asked = options.parse(parser, only=["belief.py"])
    found = numbers(asked.only)
    if asked.list:
        print("\n".join(each.place for each in found))
    print(f"{len(found)} tuned numbers")
    if asked.list or not found:
        return
    # What takes long to import is the same in all children.
    sys.path[:0] = [str(TESTS / "helpers"), str(next(TESTS.rglob(STORED)).parent)]
    importlib.import_module(Path(STORED).stem)
    stored, others, of = judged(found, (QUARTER, -QUARTER))
    judging = Bounds(judging=not asked.shortest)
    share = others / of
    whole = Interval(share, share, share, 1.0, of)
    print(f"noticed by the stored servers {stored} of {of}, by all quick tests {others}", end=", ")
    print(f"{share:.1%}", judging.at_least("noticed", whole, NOTICED))
    judging.close()


if __name__ == "__main__":
    main()
