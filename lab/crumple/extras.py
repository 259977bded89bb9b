"""The extras of the package: what some commands need beside what is always installed, and how to get it.

`load`, `find` and `diagnose` shall take little room, so numpy and what draws pages are not installed with it.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from crumple.errors import CrumpleError


@dataclass(frozen=True)
class Need:
    """`packages`: the module that each package to install brings. `what`: who needs them, in words."""

    what: str
    packages: Mapping[str, str]


_NUMPY = {"numpy": "numpy"}
_PAGES = {
    "jinja2": "jinja2",
    "markdown-it-py": "markdown_it",
}
COMPARISONS = Need("versus and compare need", _NUMPY)
PAGES = Need("a page (--html) needs", _PAGES)
STUDIES = Need("servers and studies need", {**_NUMPY, **_PAGES, "pymysql": "pymysql"})
# Asked for when a table is written, by what writes it.
TABLES = Need("Parquet files need", {"polars": "polars"})
CLUSTERS = Need("a cluster needs", {"distributed": "distributed", "cryptography": "cryptography"})
EXTRAS: Mapping[str, Need] = {"studies": STUDIES, "data": TABLES, "cluster": CLUSTERS}
# What a command needs from the start. Not each command is here: see `missing`.
OF_COMMAND = {
    "versus": COMPARISONS,
    "try": STUDIES,
    "run": STUDIES,
    "join": STUDIES,
    "report": STUDIES,
    "map": STUDIES,
    "compare": COMPARISONS,
    "verify": STUDIES,
    "servers": STUDIES,
    "workloads": STUDIES,
    "studies": STUDIES,
    "cluster": CLUSTERS,
}


def check(command: str, *, page: bool) -> None:
    """Return if what the command needs is installed; `page`: it is to write one. Raises CrumpleError.

    Before anything is measured, as a result must not be lost for want of what draws it.
    """
    for need in filter(None, (OF_COMMAND.get(command), PAGES if page else None)):
        require(need)


def require(need: Need) -> None:
    """Return if it is installed. Raises CrumpleError."""
    absent = [each for each, module in need.packages.items() if find_spec(module) is None]
    if absent:
        raise _not_installed(need, absent)


def missing(module: str) -> CrumpleError | None:
    """Return what to say where the import of a module failed; None: it belongs to no extra."""
    first = module.partition(".")[0]
    for need in (COMPARISONS, PAGES, STUDIES, TABLES, CLUSTERS):
        absent = [each for each, brought in need.packages.items() if brought == first]
        if absent:
            return _not_installed(need, absent)
    return None


def _not_installed(need: Need, packages: list[str]) -> CrumpleError:
    message = f"{need.what} more than is installed here: {', '.join(packages)}"
    return CrumpleError(message, f"run: {_install(packages)}")


def _install(packages: list[str]) -> str:
    """The line that installs packages into the environment of this Python.

    By their own names: on a package index another package could be called crumple.
    """
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx inject crumple {' '.join(packages)}"
    if find_spec("pip") is None:
        # The launcher of a checkout keeps its own.
        own = Path(sys.prefix).parent / ".bootstrap" / "venv" / "bin" / "uv"
        uv = own if own.is_file() else "uv"
        return f"{uv} pip install --python {sys.executable} {' '.join(packages)}"
    return f"{sys.executable} -m pip install {' '.join(packages)}"
