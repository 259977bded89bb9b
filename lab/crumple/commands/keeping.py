"""Store the result of a command, as its flags say; a result that cannot be stored is still printed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crumple.commands import output
from crumple.errors import CrumpleError, UsageError
from crumple.load.load_flags import KeepFlags, PageFlags

if TYPE_CHECKING:
    from crumple.drawing.report_parts import Report


@dataclass(frozen=True)
class Kept:
    """A result that is to be printed. `document`: with the name under which it is stored, if it is.

    `said`: a line about that, to show after the result.
    """

    document: dict[str, Any]
    said: str

    def say(self, quiet: bool) -> None:
        """Say where the result is; if it is not stored, also if the user asked for quiet."""
        if self.said and not (quiet and self.document["name"]):
            output.say(self.said)

    def write_page(self, flags: PageFlags, report: "Callable[[], Report]") -> None:
        """Write the page of the result, and open it, if the flags ask for it. Raises CrumpleError."""
        if flags.html is not None:
            output.save_page(flags.html, report(), self.document)
        if flags.open_:
            output.open_page(flags.html or self._written(report))

    def _written(self, report: "Callable[[], Report]") -> Path:
        """Write the page beside the stored result, or into this folder if it is not stored."""
        # Imported here because few results are opened at once.
        from crumple.results import result_store

        name = self.document["name"]
        path = result_store.folder() / f"{name}.html" if name else Path(f"{self.document['kind']}.html")
        output.save_page(path, report(), self.document)
        return path


def check(flags: KeepFlags) -> None:
    """Raise UsageError if the result cannot have that name or tag."""
    if flags.name is None and not flags.tag:
        return
    # Imported here because most loads have neither.
    from crumple.results import result_store

    if flags.no_store:
        raise UsageError("--name and --tag are for results that are stored", "leave out --no-store")
    for tag in flags.tag or ():
        result_store.check_tag(tag)
    if flags.name is not None:
        result_store.check_name(flags.name)


def keep(document: Mapping[str, Any], flags: KeepFlags) -> Kept:
    """Store a result, unless it is not to be stored."""
    if flags.no_store:
        return Kept(dict(document), "")
    from crumple.results import result_store

    try:
        named = result_store.keep(document, flags.name)
    except CrumpleError as error:
        return Kept(dict(document), str(error))
    said = f"stored as {named['name']}"
    if removed := result_store.prune():
        said += f"; {len(removed)} of the oldest results without name or tag were removed"
    return Kept(named, said)
