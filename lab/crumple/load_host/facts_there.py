"""What the engine on a load host states of its machine, as far as plans and `crumple fleet check` need it."""

from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from crumple.contract_base import Lenient
from crumple.machine import facts
from crumple.machine.facts import UnreadError

# What Linux allows a process at most unless its administrator says otherwise (fs.nr_open).
OPEN_FILES_UNLIMITED = 1 << 20


class FactsThere(Lenient):
    """The facts of a load host; None: it does not say."""

    engine_version: str
    kernel: str | None
    boot_id: str | None
    network_namespace: str | None
    cpu_model: str | None
    cores: tuple[int, ...]
    physical_cores: tuple[tuple[int, ...], ...]
    cpu_quota_cores: float | None
    governor: str | None
    open_files_hard: int | None
    port_range: tuple[int, int] | None
    memory_available_bytes: int | None
    addresses: tuple[IPv4Address | IPv6Address, ...]
    lab_address: IPv4Address | IPv6Address | None
    """This machine's address as its sshd sees it; None: the way there is another."""

    @property
    def open_files(self) -> int:
        """How many files a process may have open there."""
        return OPEN_FILES_UNLIMITED if self.open_files_hard is None else self.open_files_hard

    @property
    def ports(self) -> int | None:
        """How many local ports each address has there."""
        return None if self.port_range is None else self.port_range[1] - self.port_range[0] + 1

    @property
    def is_this_kernel(self) -> bool:
        """Whether it is this machine, if in another namespace: both then share its cores."""
        with suppress(UnreadError):
            return self.boot_id == facts.text(facts.SYSCTLS / "kernel/random/boot_id")
        return False

    @property
    def is_this_network(self) -> bool:
        """Whether it has the loopback of this process."""
        return self.is_this_kernel and self.network_namespace == str(Path("/proc/self/ns/net").readlink())
