"""With whom the server had connections that no reading found: how many of them waited is not known. Pure."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crumple.contract import DependencyRecord

# The engine names them by address and column.
_COLUMN = " connections"


def missed(found: "DependencyRecord") -> dict[str, str]:
    """Return the address of each, and what is known of its connections."""
    return {
        each.field.removesuffix(_COLUMN): each.why for each in found.unread if each.field.endswith(_COLUMN)
    }
