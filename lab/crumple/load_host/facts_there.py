"""What the engine on a load host states of its machine, as far as plans and `crumple fleet check` need it."""

from ipaddress import IPv4Address, IPv6Address

from crumple.contract import Facts

# What Linux allows a process at most unless its administrator says otherwise (fs.nr_open).
OPEN_FILES_UNLIMITED = 1 << 20


class FactsThere(Facts):
    """The facts of a load host; None: it does not say."""

    # The contract has them as text.
    addresses: tuple[IPv4Address | IPv6Address, ...]  # type: ignore[assignment]
    lab_address: IPv4Address | IPv6Address | None  # type: ignore[assignment]
    """This machine's address as its sshd sees it; None: the way there is another."""

    @property
    def open_files(self) -> int:
        """How many files a process may have open there."""
        return OPEN_FILES_UNLIMITED if self.open_files_hard is None else self.open_files_hard

    @property
    def ports(self) -> int | None:
        """How many local ports each address has there."""
        return None if self.port_range is None else self.port_range[1] - self.port_range[0] + 1
