"""Several load hosts on links of their own, which all reach this host at one address, each with its own sshd.

with several_loaders.started(("a", "b"), folder) as loaders:
    engine.run(load, spec_of(loaders.address), ...)     # with loaders.hosts[0].where, loaders.hosts[1].where
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import other_hosts
import secure_shell
from other_hosts import Host, Link


@dataclass(frozen=True)
class Loader:
    """A load host. `where`: what names it to crumple."""

    host: Host
    link: Link
    where: str

    def engines(self, command: str = "") -> list[int]:
        """The engines there that run this command; empty: all."""
        found = self.host.processes().items()
        return [pid for pid, said in found if "/crumple/engine-" in said and f" {command}" in said]


@dataclass(frozen=True)
class Loaders:
    """All of them. `address`: this host's, as all reach it."""

    each: tuple[Loader, ...]
    address: str


def why_not() -> str:
    """Why there can be none here; empty if there can."""
    return other_hosts.why_not() or secure_shell.why_not()


@contextmanager
def started(names: Sequence[str], folder: Path) -> Iterator[Loaders]:
    """Make them until the `with` ends. `folder`: for configuration and keys of ssh, here."""
    with ExitStack() as stack:
        each: list[Loader] = []
        for name in names:
            host = stack.enter_context(other_hosts.started(name, other_hosts.WITH_HOME))
            link = stack.enter_context(other_hosts.joined(None, host))
            shell = stack.enter_context(secure_shell.serving(host, link.addresses[1], folder))
            each.append(Loader(host, link, shlex.join([str(shell.folder / "bin" / "ssh"), name])))
            first = each[0].link.addresses[0]
            if link.addresses[0] != first:
                host.run("ip", "route", "add", first, "via", link.addresses[0])
        yield Loaders(tuple(each), each[0].link.addresses[0])
