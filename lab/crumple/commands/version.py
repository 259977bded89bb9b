"""crumple --version: says which lab, which engine and which commit these are."""

from crumple import engine, project, release
from crumple.errors import CrumpleError
from crumple.machine import facts
from crumple.machine.facts import UnreadError


def lines() -> str:
    """Return a line for the lab, one for the engine, and one for the commit."""
    return f"crumple {release.VERSION}\nengine {_engine()}\ncommit {_commit()}\n"


def _engine() -> str:
    try:
        return engine.stated(engine.find(project.PACKAGE.parents[1]))
    except CrumpleError as error:
        return f"none: {error.message}"


def _commit() -> str:
    try:
        return facts.commit()
    except UnreadError as error:
        return f"not known: {error}"
