"""An address that this machine and others have: whether a load from there comes here. Real namespaces."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from subprocess import PIPE

import other_hosts
import pytest
import real_engine
from crumple.errors import UsageError
from crumple.load import target
from crumple.load_host import machine_there, where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.machine_there import There
from other_hosts import DIES_WITH_PARENT, Host, Link

pytestmark = [
    pytest.mark.starts,
    pytest.mark.skipif(bool(other_hosts.why_not()), reason=other_hosts.why_not() or "it runs"),
]
# As nginx with "deferred": the kernel queues a connection only once it carries data, or is closed.
SERVES = (
    "import socket, sys; s = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
    "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)\n"
    "print(s.getsockname()[1], flush=True)\nwhile True: s.accept()"
)

# argv: how the load host is reached, the engine, and the address at which who listens is asked for.
CHECKS = """
import sys
from pathlib import Path
from crumple.errors import CrumpleError
from crumple.load_host import machine_there, where
from crumple.load_host.load_host import LoadHost

with LoadHost(where.read(sys.argv[1]), Path(sys.argv[2])) as host:
    try:
        machine_there.reached(host).check_listening(sys.argv[3], "nobody", "start it")
    except CrumpleError as why:
        print(why)
"""


@pytest.fixture
def loader() -> Iterator[tuple[Host, Link]]:
    with other_hosts.started("loader") as host, other_hosts.joined(None, host) as link:
        yield host, link


@contextmanager
def reached(host: Host) -> Iterator[There]:
    with LoadHost(where.read(" ".join(host.words())), real_engine.loaded().path) as made:
        yield machine_there.reached(made)


@contextmanager
def served(host: Host, address: str, port: int = 0) -> Iterator[int]:
    """A server at this address of a host; its port."""
    with host.running(sys.executable, "-c", SERVES, address, str(port), stdout=PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


def test_an_address_that_the_load_host_has_too_is_refused(loader: tuple[Host, Link]) -> None:
    """As 172.17.0.1 where both run Docker: a load from there goes to the load host's own server."""
    host, link = loader
    address = link.addresses[0]
    with reached(host) as there:
        assert target.resolve(f"http://{address}:80/", machine=there.machine()).is_local
    host.run("ip", "addr", "add", f"{address}/32", "dev", "lo")
    with reached(host) as there:
        said = (
            f"^{address} is an address of {there.name}, too, .*; write an address in the URL that only this"
        )
        with pytest.raises(UsageError, match=said):
            target.resolve(f"http://{address}:80/", machine=there.machine())


def test_an_address_at_which_another_machine_answers_there_is_refused() -> None:
    """As 10.0.0.5 in two networks. Nobody else connects to a host that is made for it."""
    with ExitStack() as stack:
        here, host, stranger = (
            stack.enter_context(other_hosts.started(each)) for each in ("here", "loader", "stranger")
        )
        address = stack.enter_context(other_hosts.joined(here, host)).addresses[0]
        way = stack.enter_context(other_hosts.joined(host, stranger))
        port = stack.enter_context(served(here, address))
        assert checked(here, host, f"{address}:{port}") == ""
        stranger.run("ip", "addr", "add", f"{address}/32", "dev", "lo")
        stack.enter_context(served(stranger, address, port))
        host.run("ip", "route", "add", f"{address}/32", "via", way.addresses[1])
        said = f"reaches another machine at {address}:{port}, an address of this one, too; write an address"
        assert said in checked(here, host, f"{address}:{port}")


def checked(here: Host, host: Host, address: str) -> str:
    """Why a load from a host does not come to a listener in the network of another one; empty: it does."""
    network = ("nsenter", f"--target={here.pid}", "--net", "--", *DIES_WITH_PARENT)
    words = [
        *network,
        sys.executable,
        "-c",
        CHECKS,
        " ".join(host.words()),
        real_engine.loaded().path,
        address,
    ]
    return subprocess.run(words, check=True, stdout=PIPE, text=True).stdout
