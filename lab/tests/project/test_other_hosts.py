"""The hosts that other tests make: what they have of their own, and that nothing of them stays."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import everywhere
import other_hosts
import published_port
import pytest
import secure_shell
from other_hosts import Host, Link

pytestmark = pytest.mark.starts

# Sends back what comes; the port is given.
ECHO = """
import socket, sys, threading
def serve(connection):
    while data := connection.recv(100):
        connection.sendall(data)
with socket.create_server(("0.0.0.0", int(sys.argv[1]))) as listens:
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve, args=(listens.accept()[0],), daemon=True).start()
"""
# Binds a socket of a kind to an address, and says to which.
BINDS = """
import socket, sys
with socket.socket(int(sys.argv[1])) as binds:
    binds.bind((sys.argv[2], 0))
    print(binds.getsockname()[0])
"""
# Makes a host with a link and a process in it, and says which pids they have.
KEEPS = """
import sys, time
sys.path.insert(0, sys.argv[1])
import other_hosts
with other_hosts.started("kept") as host, other_hosts.joined(None, host) as link:
    with host.running("sleep", "600") as sleeps:
        print(host.pid, other_hosts.child(sleeps), link.devices[0], flush=True)
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def possible() -> None:
    if why := other_hosts.why_not():
        pytest.skip(why)


@pytest.fixture
def far() -> Iterator[tuple[Host, Link]]:
    """A host that may serve, and a link to it."""
    with other_hosts.started("far") as host, other_hosts.joined(None, host) as link:
        yield host, link


def test_a_host_has_a_name_processes_and_files_of_its_own(far: tuple[Host, Link]) -> None:
    host, _ = far
    assert host.run("hostname").stdout == "far\n" != f"{socket.gethostname()}\n"
    assert host.run("ls", "-A", "/tmp").stdout == ""
    host.write("/tmp/folder/file", "text")
    assert host.run("cat", "/tmp/folder/file").stdout == "text"
    assert not Path("/tmp/folder/file").exists()
    with host.running("sleep", "600") as sleeps:
        pid = other_hosts.child(sleeps)
        assert other_hosts.at_last(lambda: host.processes() == {pid: "sleep 600"})
    assert other_hosts.ended([sleeps.pid]) and host.processes() == {}


def test_a_host_may_have_a_home_of_its_own() -> None:
    with other_hosts.started("far", other_hosts.WITH_HOME) as host:
        assert host.run("ls", "-A", Path.home()).stdout == ""


def test_a_link_that_is_cut_loses_what_is_sent_and_tells_nobody(far: tuple[Host, Link]) -> None:
    host, link = far
    with host.running(sys.executable, "-c", ECHO, "7777", stdout=subprocess.PIPE) as echo:
        assert echo.stdout is not None and echo.stdout.readline() == "ready\n"
        assert host.listeners() == {"0.0.0.0:7777"}
        with socket.create_connection((link.addresses[1], 7777), timeout=20) as connection:
            connection.sendall(b"a")
            assert connection.recv(1) == b"a"
            link.cut()
            connection.sendall(b"b")
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            link.mend()
            connection.settimeout(20)
            assert connection.recv(1) == b"b"


def test_nothing_stays_when_the_one_that_made_it_is_killed() -> None:
    words = [sys.executable, "-c", KEEPS, str(Path(other_hosts.__file__).parent)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first, sleeps, device = process.stdout.readline().split()
        assert Path(f"/sys/class/net/{device}").exists()
        process.send_signal(signal.SIGKILL)
    assert other_hosts.ended([int(first), int(sleeps)])
    # The kernel removes a namespace, and what is in it, a moment after its last process.
    assert other_hosts.at_last(lambda: not Path(f"/sys/class/net/{device}").exists())


def test_a_command_runs_there_by_ssh(
    far: tuple[Host, Link], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := secure_shell.why_not():
        pytest.skip(why)
    host, link = far
    with secure_shell.serving(host, link.addresses[1], tmp_path) as shell:
        monkeypatch.setenv("PATH", shell.path)
        asked = ["ssh", "far", "hostname; echo $SSH_CONNECTION; cat"]
        ran = subprocess.run(asked, input="text", capture_output=True, text=True, check=False)
        assert ran.stderr == "" and ran.stdout.startswith(f"far\n{link.addresses[0]} ")
        assert ran.stdout.endswith(f" {link.addresses[1]} 22\ntext")
        shell.change_host_key()
        ran = subprocess.run(["ssh", "far", "true"], capture_output=True, text=True, check=False)
        assert ran.returncode == 255 and "HOST IDENTIFICATION HAS CHANGED" in ran.stderr
    assert other_hosts.ended([shell.process.pid]) and host.processes() == {}


def test_docker_publishes_a_port_of_a_host(far: tuple[Host, Link]) -> None:
    if why := published_port.why_not():
        pytest.skip(why)
    host, link = far
    with host.running(sys.executable, "-c", ECHO, "80", stdout=subprocess.PIPE) as echo:
        assert echo.stdout is not None and echo.stdout.readline() == "ready\n"
        with (
            published_port.published(link.addresses[1], 80) as port,
            socket.create_connection(("127.0.0.1", port), timeout=20) as connection,
        ):
            connection.sendall(b"a")
            assert connection.recv(1) == b"a"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=20)


def test_what_binds_to_loopback_listens_at_all_addresses() -> None:
    if why := everywhere.why_not():
        pytest.skip(why)
    bound = [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, "127.0.0.2"),
        (socket.AF_INET6, "::ffff:127.0.0.1"),
    ]
    with everywhere.listening():
        said = [
            subprocess.run(
                [sys.executable, "-c", BINDS, str(int(kind)), address], capture_output=True, text=True
            )
            for kind, address in bound
        ]
    assert [each.stdout for each in said] == ["0.0.0.0\n", "127.0.0.2\n", "::\n"]
    with socket.create_server(("127.0.0.1", 0)) as listens:
        assert listens.getsockname()[0] == "127.0.0.1"
    assert not any((each / f"{everywhere.PREFIX}{os.getpid()}").exists() for each in everywhere.UNIFIED)
