"""With whom the server had connections of which too few were found to know how many waited. Pure."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crumple.contract import DependencyRecord

# The engine names them in the reasons for what it left out of this column: "ADDRESS: how many, and why".
_COLUMN = "peers"


def missed(found: "DependencyRecord") -> dict[str, str]:
    """Return the address of each, and what is known of its connections.

    Addresses with which the server was never seen connected are left out: the connections may be another
    program's.
    """
    known = {peer.address for peer in found.peers}
    named = (each.why.partition(": ") for each in found.unread if each.field == _COLUMN)
    return {address: why for address, _, why in named if address in known}
