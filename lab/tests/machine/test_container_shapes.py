"""Servers in containers as they come: root's and a user's, behind each kind of what passes connections on.

Each runs on a host of its own, with the real programs. There crumple is asked who serves at the published
port, and at the container's name.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePath

import other_hosts
import podman_containers
import pytest
from crumple.machine import containers
from other_hosts import Host
from podman_containers import AS_NOBODY

WHY_NOT = podman_containers.why_not()
pytestmark = [
    pytest.mark.starts,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "it runs"),
]
PORT = 8080
# argv: a port, names of containers, and the user to be. It prints who serves at the port: its command, its
# address, what is before it; then the URL of each container, or why there is none.
ASKS = """
import encodings.idna, http.client, ipaddress, json, os, sys
from pathlib import Path
from crumple.errors import UsageError
from crumple.load import container_url
from crumple.machine import load_machine, program, serving

port, *names, user = sys.argv[1:]
if int(user):
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
def tried(what):
    try:
        return what()
    except UsageError as why:
        return str(why)
found = tried(lambda: serving.at(ipaddress.ip_address("127.0.0.1"), int(port), is_local=True))
def url(typed):
    if typed.endswith("?cut-off"):
        container_url._place = lambda *_: None
    return container_url.reached(typed, load_machine.this())
urls = [tried(lambda: url(each)) for each in names]
if isinstance(found, str):
    print(json.dumps([found, urls]))
else:
    command = Path(f"/proc/{found.pid}/cmdline").read_text().split(chr(0))[0]
    seen = [command, found.address, found.behind, found.is_foreign, program.of(found.pid).container]
    print(json.dumps([seen, urls]))
"""

# argv: a process in a namespace of its own, and a port. Rules pass connections on from there to its port 80.
RULES = """
ip link add outer type veth peer name inner netns $1
ip addr add 198.18.7.1/24 dev outer && ip link set outer up
nsenter -t $1 -n sh -ec 'ip addr add 198.18.7.2/24 dev inner; ip link set inner up; ip link set lo up'
nft add table ip shop
nft 'add chain ip shop out { type nat hook output priority -100; }'
nft add rule ip shop out tcp dport $2 dnat to 198.18.7.2:80
nft 'add chain ip shop back { type nat hook postrouting priority 100; }'
nft add rule ip shop back ip daddr 198.18.7.2 masquerade
sysctl -qw net.ipv4.conf.outer.route_localnet=1
"""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with podman_containers.on_a_host() as made:
        yield made


def asked(host: Host, *containers: str, user: int = 0) -> tuple[object, list[str]]:
    """Who serves at PORT on the host, and the URLs of its containers."""
    words = [sys.executable, "-c", ASKS, str(PORT), *(f"container:{each}" for each in containers), str(user)]
    seen, urls = json.loads(host.run(*words).stdout)
    return seen, urls


def test_root_s_container_is_behind_rules_of_the_kernel(host: Host) -> None:
    with podman_containers.started(host, "shop", 80, PORT):
        seen, (by_name, wrong, near) = asked(host, "shop/orders?a=1", "shop:81", "shops")
        assert isinstance(seen, list)
        program, address, *rest = seen
        assert (program, rest) == ("/usr/bin/perl", ["", False, "shop"])
        assert by_name == f"http://{address}/orders?a=1"
        assert wrong == "nobody listens on 81 in shop; it listens on 80"
        assert near == "no container of this machine is called shops; did you mean shop?"
        # Whoever is not root is told the container's first process, and nothing of who holds what.
        seen, (by_name,) = asked(host, "shop", user=65534)
        assert seen == ["/usr/bin/perl", address, "", True, "shop"] and by_name == f"http://{address}"


def test_an_engine_says_by_its_socket_what_its_containers_are_called(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket of Podman answers as Docker's does."""
    socket = "/run/podman/podman.sock"
    host.run("mkdir", "-p", "/run/podman")
    with (
        podman_containers.started(host, "shop", 80, PORT),
        host.running("podman", "system", "service", "--time=0", f"unix://{socket}"),
    ):
        monkeypatch.setenv("DOCKER_HOST", f"unix:///proc/{host.pid}/root{socket}")
        assert other_hosts.at_last(lambda: [*containers._told().values()] == ["shop"])
        (its,) = containers._told()
        assert its == host.run("podman", "ps", "--quiet").stdout.strip()
    assert containers._told() == {}


@pytest.mark.parametrize("user", [0, 65534])
def test_a_user_s_container_is_behind_a_program_that_passes_connections_on(host: Host, user: int) -> None:
    with podman_containers.started(host, "mine", 80, PORT, AS_NOBODY):
        seen, (by_name, wrong) = asked(host, "mine/orders", "mine?cut-off", user=user)
        assert seen == ["/usr/bin/perl", "10.0.2.100:80", "rootlessport", False, "mine"]
        assert by_name == f"http://127.0.0.1:{PORT}/orders"
        assert wrong.startswith(
            "nothing from here reaches port 80 of container mine; publish it (-p 80:80), or "
        )
        enter = wrong.partition("load it from within: ")[2].rpartition(" ")[0].split()
        before = () if user == 0 else AS_NOBODY
        # The command that is printed enters the container's network.
        there = host.run(*before, *enter, "cat", "/proc/net/route").stdout
        assert "tap0" in there


def _rules(host: Host) -> AbstractContextManager[object]:
    """A server in a namespace, and rules of nftables without a program beside them."""

    @contextmanager
    def made() -> Iterator[None]:
        with podman_containers.serving(host, "unshare", "--net") as server:
            pid = _pid_there(other_hosts.child(server))
            host.run("sh", "-ec", RULES, "sh", pid, str(PORT))
            try:
                yield
            finally:
                host.run("nft", "delete", "table", "ip", "shop")

    return made()


def _pasta(host: Host) -> AbstractContextManager[object]:
    words = ("pasta", "--config-net", "--foreground", "-t", f"{PORT}:80", "--")
    words += other_hosts.DIES_WITH_PARENT
    return podman_containers.serving(host, *AS_NOBODY, *words)


def _slirp4netns(host: Host) -> AbstractContextManager[object]:
    """A server in a user's namespace, and a port that slirp4netns was told by its socket to pass on."""

    @contextmanager
    def made() -> Iterator[None]:
        alone = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
        with podman_containers.serving(host, *AS_NOBODY, *alone) as server:
            # setpriv becomes unshare, which starts the server.
            pid = _pid_there(other_hosts.child(server))
            socket = "/tmp/user/run/slirp"
            words = ("slirp4netns", "--configure", f"--api-socket={socket}", pid, "tap0")
            with host.running(*AS_NOBODY, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                given = {"proto": "tcp", "host_addr": "127.0.0.1", "host_port": PORT, "guest_port": 80}
                told = json.dumps({"execute": "add_hostfwd", "arguments": given})
                script = (
                    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                    "s.sendall(sys.argv[2].encode()); s.shutdown(1); assert b'id' in s.recv(999)"
                )
                tried = (sys.executable, "-c", script, socket, told)
                assert other_hosts.at_last(lambda: host.run(*tried, check=False).returncode == 0)
                yield

    return made()


@pytest.mark.parametrize(
    ("made", "program", "address", "behind"),
    [
        pytest.param(_rules, "nft", "198.18.7.2:80", "", id="nftables"),
        pytest.param(_pasta, "pasta", "127.0.0.1:80", "passt.avx2", id="pasta"),
        pytest.param(_slirp4netns, "slirp4netns", "10.0.2.100:80", "slirp4netns", id="slirp4netns"),
    ],
)
def test_a_server_without_a_container_is_found_behind_what_passes_connections_on(
    host: Host,
    made: Callable[[Host], AbstractContextManager[object]],
    program: str,
    address: str,
    behind: str,
) -> None:
    if not shutil.which(program):
        pytest.skip(f"not installed: {program}")
    with made(host):
        seen, _ = asked(host)
    assert isinstance(seen, list)
    assert (PurePath(seen[0]).name, seen[1], seen[2][:5], seen[3]) == ("perl", address, behind[:5], False)


def _pid_there(pid: int) -> str:
    """The pid that a process of a host has there."""
    with Path(f"/proc/{pid}/status").open() as status:
        line = next(each for each in status if each.startswith("NSpid:"))
    return line.split()[2]
