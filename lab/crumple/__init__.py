"""crumple from Python: `crumple.load(URL, rate=500)`, `crumple.find(URL)`, `crumple.open("last")`.

Importing this imports nothing else of crumple. `load` and `find` are rooms of the lab that can also be called
(`called`); docs/kept-results.md describes all three.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crumple.notebook.kept_result import KeptResult

__all__ = ["find", "load", "open"]


def open(what: str = "last") -> "KeptResult":
    """Return a stored result or run: `last`, a number in `crumple list`, a name, `tag:TAG`, or a file."""
    from crumple.notebook import measuring

    return measuring.open_result(what)


def __getattr__(name: str) -> Any:
    if name in ("find", "load"):
        from importlib import import_module

        return import_module(f"crumple.{name}")
    raise AttributeError(f"module 'crumple' has no attribute '{name}'")
