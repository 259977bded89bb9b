"""What may be asked of a server in a container: nothing that another machine, or this one, would answer."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import other_hosts
import pytest
from crumple.asked import calling, postgres, pprof
from crumple.asked.found import AskedServer
from crumple.observation.at_load import Peer
from other_hosts import Host

WHY_NOT = other_hosts.why_not()
pytestmark = [
    pytest.mark.starts,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "it runs"),
]
LISTENS = (
    "import socket, sys, time; s = socket.create_server((sys.argv[1], 6060)); print('ready', flush=True); "
    "time.sleep(600)"
)


@contextmanager
def listening(host: Host, at: str) -> Iterator[int]:
    words = (sys.executable, "-c", LISTENS, at)
    with host.running(*words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield other_hosts.child(process)


def test_a_program_is_asked_where_a_connection_from_here_arrives() -> None:
    with other_hosts.started("shop") as host:
        with listening(host, "") as pid, other_hosts.joined(None, host) as link:
            assert [*pprof._heard(pid)] == [(link.addresses[1], 6060)]
        # The address leads nowhere from here, as that of a user's container.
        host.run("ip", "addr", "add", "198.18.255.254/32", "dev", "lo")
        with listening(host, "") as pid:
            assert [*pprof._heard(pid)] == []
        with listening(host, "127.0.0.1") as pid:
            assert [*pprof._heard(pid)] == []


def test_a_database_on_the_container_s_loopback_is_not_taken_for_one_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calling, "program", lambda _: "/usr/bin/psql")
    with other_hosts.started("shop") as host:
        for address in ("127.0.0.1:5432", "[::1]:5432", "unix:/run/postgresql/.s.PGSQL.5432"):
            server = AskedServer((host.pid,), (Peer(address, None, 1.0, 0.0, 1),))
            why = f"{address} is reached only within the container of process {host.pid}"
            assert postgres.applies(server) == why
            assert postgres.applies(AskedServer((os.getpid(),), server.peers)) != why
        outside = AskedServer((host.pid,), (Peer("198.18.0.1:5432", None, 1.0, 0.0, 1),))
        assert postgres.applies(outside) == ("198.18.0.1", "5432")
