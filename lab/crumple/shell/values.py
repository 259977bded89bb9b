"""What may stand for a value on the command line, by its metavar: servers, studies, results, files."""

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from crumple import project
from crumple.errors import CrumpleError
from crumple.shell.described import Described

# A line for the shell: complete files as well.
FILES = ":files"


def named(metavar: str, described: Described) -> list[str]:
    """Return the values, and FILES if files are among them; empty: it could be anything."""
    kinds: dict[str, Callable[[], list[str]]] = {
        "SERVER…": lambda: [*servers(), FILES],
        "URL|SERVER": servers,
        "URL|SERVER [-- COMMAND…]": servers,
        "A,B": servers,
        "STUDY…": lambda: [*studies(), FILES],
        "RUN": runs,
        "RUN…": runs,
        "RESULT": lambda: [*results(), FILES],
        "BEFORE": lambda: [*results(), FILES],
        "AFTER": lambda: [*results(), FILES],
        "VERSION… [-- COMMAND…]": lambda: [*servers(), FILES],
        "WORKLOAD": workloads,
        "METRIC": lambda: described["metrics"],
        "FILE": lambda: [FILES],
        "WHERE": load_hosts,
        "FOLDER|URL": lambda: [FILES],
    }
    return kinds[metavar]() if metavar in kinds else []


def servers() -> list[str]:
    """Return the names of the project's servers."""
    return _in_project(lambda root: (file.parent.name for file in root.glob("servers/*/server.toml")))


def studies() -> list[str]:
    """Return the names of the project's studies."""
    return _in_project(lambda root: (file.stem for file in root.glob("studies/*.toml")))


def runs() -> list[str]:
    """Return the names of the stored runs, the latest first."""
    folders = _in_project(lambda root: (file.parent.name for file in project.runs(root).glob("*/run.json")))
    return sorted(folders, key=lambda name: name.split("-")[-2:], reverse=True)


def results() -> list[str]:
    """Return what names a result: `last`, the stored results, the latest first, and the runs."""
    # Imported here, as most words need no result.
    from crumple.results import result_store

    return [result_store.LAST, *(each.name for each in result_store.entries()), *runs()]


def workloads() -> list[str]:
    """Return the names of the project's workloads."""
    return _in_project(lambda root: (file.stem for file in root.glob("contract/workloads/*.toml")))


def load_hosts() -> list[str]:
    """Return the hosts that the user's configuration of ssh names, without patterns."""
    found: list[str] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (Path.home() / ".ssh" / "config").read_text(encoding="utf-8").splitlines():
            keyword, *names = line.replace("=", " ").split()[:99] or [""]
            if keyword.lower() == "host":
                found += [name for name in names if not set(name) & set("*?!")]
    return sorted({*found})


def _in_project(names: Callable[[Path], Iterable[str]]) -> list[str]:
    try:
        return sorted(names(project.root()))
    except (CrumpleError, OSError):
        # Nobody would see a message: the shell waits for words.
        return []
