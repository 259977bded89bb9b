"""What a load host states of itself → the LoadMachine that plans go by: its cores, files and ports.

Names are resolved there, and from there is seen who listens. `localhost` in a URL is this machine, on which
the server is: to the load host it is the address by which that one reaches this machine.
"""

import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from crumple.errors import CrumpleError, UsageError
from crumple.load_host.facts_there import FactsThere
from crumple.load_host.host_errors import shown
from crumple.load_host.load_host import LoadHost
from crumple.machine import arrivals, load_machine, serving, tcp_tables
from crumple.machine.load_machine import Address, LoadMachine


@dataclass(frozen=True)
class There:
    """A load host that was reached, and what is asked of it while a load is planned."""

    host: LoadHost
    facts: FactsThere
    round_trip_ns: float

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        return self.host.where.name

    def machine(self) -> LoadMachine:
        """The machine as plans see it."""
        return LoadMachine(
            cores=self.facts.cores,
            cpu_quota_cores=self.facts.cpu_quota_cores,
            open_files=self.facts.open_files,
            ports=self.facts.ports,
            where=self.name,
            is_apart=not self.host.is_this_kernel,
            addresses_of=self.addresses_of,
            owns=self.owns,
            is_shared=self.is_shared,
            check_listening=self.check_listening,
            server_host=self.server_host,
        )

    @property
    def server_host(self) -> str:
        """This machine's address, as the load host reaches it; empty: not known."""
        if self.host.is_this_network:
            return load_machine.HOST
        # What sshd saw there may be a router, or a host in between: then it is no address of this machine.
        ways = [self.facts.lab_address, *map(_source_towards, self.facts.addresses)]
        own = (each for each in ways if each and not each.is_loopback and load_machine.is_own(each))
        return str(next(own, ""))

    def addresses_of(self, host: str) -> Sequence[str]:
        """The addresses of a name there; of `localhost`, this machine's. Raises OSError, UsageError."""
        if _is_loopback(host):
            if not (found := self.server_host):
                raise UsageError(
                    f"--from {self.name}: by which address it reaches this machine is not known here",
                    f"write that address in place of {host}",
                )
            return [found]
        resolved = self.host.resolve(host)
        if not resolved.addresses:
            raise OSError(0, f"{shown(resolved.error)} (on {self.name})")
        return [str(each) for each in resolved.addresses]

    def owns(self, address: Address) -> bool:
        """Whether it is an address of that machine."""
        return address.is_loopback or address in self.facts.addresses

    def is_shared(self, address: Address) -> bool:
        """Whether it is an address of that machine and of this one, as that of a bridge of Docker is."""
        return not self.host.is_this_network and self.owns(address) and load_machine.is_own(address)

    def check_listening(self, address: str, nobody: str, remedy: str) -> None:
        """Return if a connect from there is taken, here if the address is this machine's.

        Raises CrumpleError.
        """
        before = arrivals.came_here()
        knocked = self.host.knock(address)
        if knocked == "listens":
            under_way_s = serving.WITHIN_S + self.round_trip_ns / 1e9
            if _is_heard_here(address) and not arrivals.came_since(before, under_way_s):
                raise CrumpleError(
                    f"{self.name} reaches another machine at {address}, an address of this one, too",
                    "write an address in the URL that only this machine has",
                )
            return
        if knocked == "refused":
            self._check_here(address)
            raise CrumpleError(f"{nobody} listens at {address}, as seen from {self.name}", remedy)
        why = "no answer came" if knocked == "silent" else shown(knocked.error)
        raise CrumpleError(
            f"{self.name} does not reach {address}: {why}",
            "let firewalls between pass it, or write an address in the URL that it reaches",
        )

    def _check_here(self, address: str) -> None:
        """Return unless it is seen here why a connect from there is refused. Raises CrumpleError."""
        own, port = _place(address)
        if not load_machine.is_own(own):
            return
        if tcp_tables.listens_at(own, port):
            raise CrumpleError(
                f"{self.name} is refused at {address}, though somebody listens there",
                "let firewalls of this machine pass it",
            )
        for loopback in map(ipaddress.ip_address, (load_machine.HOST, "::1")):
            if tcp_tables.listens_at(loopback, port):
                bound = f"{loopback}:{port}" if loopback.version == 4 else f"[{loopback}]:{port}"
                raise CrumpleError(
                    f"the server listens on {bound} only, which {self.name} does not reach",
                    f"let it listen on {address}, or on all addresses",
                )


def reached(host: LoadHost) -> There:
    """Return a load host as it states itself. Raises LoadHostFailed, LoadHostLost, EngineFailed."""
    return There(host, host.facts, host.round_trip_ns)


def of_several(hosts: Sequence[There], name: str) -> LoadMachine:
    """Return several load hosts as plans see them: what holds for each of them holds for the least.

    Names are resolved by the first. All have to reach the server. `name`: what they are called together.
    """
    machines = [host.machine() for host in hosts]
    if len(machines) == 1:
        return machines[0]
    fewest = min(machines, key=lambda each: len(each.cores))
    quotas = [each.cpu_quota_cores for each in machines if each.cpu_quota_cores is not None]
    ports = [each.ports for each in machines if each.ports is not None]

    def check_listening(address: str, nobody: str, remedy: str) -> None:
        with ThreadPoolExecutor(len(machines)) as pool:
            for checked in [pool.submit(each.check_listening, address, nobody, remedy) for each in machines]:
                checked.result()

    return replace(
        machines[0],
        cores=fewest.cores,
        cpu_quota_cores=min(quotas, default=None),
        open_files=min(each.open_files for each in machines),
        ports=min(ports, default=None),
        where=name,
        hosts=len(machines),
        is_apart=all(each.is_apart for each in machines),
        owns=lambda address: any(each.owns(address) for each in machines),
        is_shared=lambda address: any(each.is_shared(address) for each in machines),
        check_listening=check_listening,
    )


def _place(address: str) -> tuple[Address, int]:
    text, _, port = address.rpartition(":")
    return ipaddress.ip_address(text.strip("[]").partition("%")[0]), int(port)


def _is_heard_here(address: str) -> bool:
    """Whether who connects to an address of this machine comes to a listener in this network namespace.

    The kernel counts a connection as come when it is queued for it. Rules may pass it on instead, if who
    listens is one that is before containers.
    """
    own, port = _place(address)
    is_heard = load_machine.is_own(own) and tcp_tables.listens_at(own, port)
    return is_heard and not tcp_tables.queued(port) and not serving.may_lead_elsewhere(port)


def _is_loopback(host: str) -> bool:
    """Whether a host of a URL is the machine itself: a name of it, or an address of its loopback."""
    if host.lower().rstrip(".") == "localhost" or load_machine.is_localhost(host):
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return False


def _source_towards(address: Address) -> Address | None:
    """The address of this machine from which it would connect to another one; nothing is sent."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), 9))
        return ipaddress.ip_address(probe.getsockname()[0].partition("%")[0])
    return None
