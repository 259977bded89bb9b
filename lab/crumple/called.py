"""Makes a room callable: `crumple.load` is both a room of the lab and a function of the Python API."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crumple.notebook.kept_result import KeptResult


class Called(ModuleType):
    """A room that measures when it is called. The flags are those of the command of its name."""

    def __call__(self, what: str, **flags: Any) -> "KeptResult":
        """Run the command, as `notebook.measuring` describes, and return its result."""
        from crumple.notebook import measuring

        return measuring.measure(self.__name__.rpartition(".")[2], what, flags)
