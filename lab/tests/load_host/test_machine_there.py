"""The machine that a load host states itself to be, as plans see it; its engine answers as told here."""

import ipaddress
import json
import socket
from pathlib import Path
from typing import Any

import pytest
import scripted_engine
from crumple.errors import CrumpleError, EngineFailed, UsageError
from crumple.load import target
from crumple.load.load_flags import TargetFlags
from crumple.load_host import machine_there, where
from crumple.load_host.load_host import LoadHost
from crumple.machine import load_machine

OWN = "127.0.0.1"


class Told(LoadHost):
    """A load host whose engine answers so."""

    def __init__(self, answers: dict[str, Any], *, is_here: bool) -> None:
        self.where, self.answers = where.read("loader"), answers
        self.is_this_kernel = is_here

    def ask(self, line: str, within_s: float = 0.0) -> bytes:
        return json.dumps(self.answers[line]).encode()


def _there(
    answers: dict[str, Any] | None = None, *, is_here: bool = False, **stated: Any
) -> machine_there.There:
    stating = {"facts": {**scripted_engine.FACTS, **stated}, "clock": {"unix_ns": 1, "monotonic_ns": 1}}
    return machine_there.reached(Told({**stating, **(answers or {})}, is_here=is_here))


@pytest.fixture
def own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has the address 10.0.0.1."""
    own = ipaddress.ip_address("10.0.0.1")
    real = load_machine.is_own
    monkeypatch.setattr(load_machine, "is_own", lambda address: address == own or real(address))


def test_a_plan_goes_by_its_cores_files_and_ports(own_address: None) -> None:
    machine = _there().machine()
    assert (machine.cores, machine.open_files, machine.ports) == ((0, 1, 2, 5), 5_000, 28_232)
    assert (machine.where, machine.at, machine.server_host) == ("loader", "on loader", "10.0.0.1")
    # No server is on its cores.
    assert machine.is_apart and machine.threads_most == 4 and machine.apart((), (0, 1)) == 4
    assert _there(cpu_quota_cores=2.5).machine().threads_most == 2, "more would only be stopped"
    assert _there(cpu_quota_cores=0.5).machine().threads_most == 1
    assert _there(open_files_hard=None).machine().open_files == 1 << 20
    assert _there(port_range=None).machine().ports is None


def test_a_load_host_of_the_same_kernel_shares_the_cores_of_the_server() -> None:
    machine = _there(is_here=True).machine()
    assert not machine.is_apart and machine.threads_most == 2
    here = str(Path("/proc/self/ns/net").readlink())
    assert _there(is_here=True, network_namespace=here).server_host == OWN


def test_what_states_no_facts_is_named() -> None:
    with pytest.raises(EngineFailed, match="loader states no facts"):
        _there(cores="many")


@pytest.mark.parametrize("host", ["localhost", "shop.localhost", "127.0.0.1", "[::1]", "0.0.0.0"])
def test_localhost_is_the_servers_host_as_it_is_reached_from_there(own_address: None, host: str) -> None:
    resolved = target.resolve(f"http://{host}:8080/", machine=_there().machine())
    assert resolved.target.address == "10.0.0.1:8080" and resolved.target.host == f"{host}:8080"


def test_an_address_that_is_not_of_this_machine_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # A router between both translates addresses, and nothing else is known of the way.
    monkeypatch.setattr(machine_there, "_source_towards", lambda _: None)
    there = _there(lab_address="192.0.2.1")
    assert there.server_host == ""
    with pytest.raises(UsageError, match=r"write that address in place of localhost$"):
        target.resolve("http://localhost:8080/", machine=there.machine())
    # The way from here leads out of this machine by an address of its own.
    monkeypatch.setattr(machine_there, "_source_towards", lambda _: ipaddress.ip_address("10.0.0.1"))
    monkeypatch.setattr(load_machine, "is_own", lambda address: str(address) == "10.0.0.1")
    assert _there(lab_address=None).server_host == "10.0.0.1"


def test_names_are_resolved_there_and_the_guard_judges_what_they_are_there() -> None:
    answers = {"resolve shop": {"addresses": ["10.0.0.9"]}, "resolve far": {"addresses": ["203.0.113.9"]}}
    machine = _there(answers).machine()
    assert target.resolve("http://shop/", machine=machine).target.address == "10.0.0.9:80"
    with pytest.raises(UsageError, match=r"far is 203.0.113.9, which is neither a loopback nor a private"):
        target.resolve("http://far/", machine=machine)
    assert target.resolve("http://far/", TargetFlags(allow_remote=True), machine).target.address
    unknown = _there({"resolve shop": {"error": "Name or service not known"}}).machine()
    with pytest.raises(
        UsageError, match=r"shop: Name or service not known \(on loader\); check its spelling"
    ):
        target.resolve("http://shop/", machine=unknown)


def test_source_addresses_are_those_of_the_load_host() -> None:
    machine = _there({"resolve shop": {"addresses": ["10.0.0.9"]}}).machine()
    assert target.resolve("http://shop/", TargetFlags(source_address=["10.0.0.7"]), machine).target.sources
    with pytest.raises(UsageError, match=r"10.0.0.8 is not an address of loader"):
        target.resolve("http://shop/", TargetFlags(source_address=["10.0.0.8"]), machine)


def test_a_unix_socket_is_not_reached_from_there(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(
            UsageError, match=r"--unix-socket is on this machine, and the load comes from loader"
        ):
            target.resolve("http://x/", TargetFlags(unix_socket=str(path)), _there().machine())


@pytest.mark.parametrize(
    ("knocked", "said"),
    [
        ("refused", "nobody listens at 10.9.9.9:80, as seen from loader; start it"),
        ("silent", "loader does not reach 10.9.9.9:80: no answer came; let firewalls between pass it, or"),
        ({"error": "No route to host"}, "loader does not reach 10.9.9.9:80: No route to host; "),
    ],
)
def test_who_does_not_listen_as_seen_from_there(knocked: object, said: str) -> None:
    with pytest.raises(CrumpleError) as caught:
        _there({"knock 10.9.9.9:80": knocked}).check_listening("10.9.9.9:80", "nobody", "start it")
    assert str(caught.value).startswith(said)
    _there({"knock 10.9.9.9:80": "listens"}).check_listening("10.9.9.9:80", "nobody", "start it")


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_on_loopback_alone_is_told_where_to_listen(own_address: None) -> None:
    with socket.create_server((OWN, 0)) as server:
        port = server.getsockname()[1]
        there = _there({f"knock 10.0.0.1:{port}": "refused"})
        with pytest.raises(CrumpleError) as caught:
            there.check_listening(f"10.0.0.1:{port}", "nobody", "start it")
    bound, unbound = f"{OWN}:{port}", f"10.0.0.1:{port}"
    said = f"the server listens on {bound} only, which loader does not reach; let it listen on {unbound}"
    assert str(caught.value).startswith(said)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_firewall_that_refuses_is_not_taken_for_a_server_that_is_down() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        address = f"{OWN}:{server.getsockname()[1]}"
        with pytest.raises(
            CrumpleError, match=r"is refused at .*, though somebody listens there; let firewalls"
        ):
            _there({f"knock {address}": "refused"}).check_listening(address, "nobody", "start it")


def test_of_several_hosts_the_least_holds_for_each(own_address: None) -> None:
    few = _there(cores=[0, 1, 2], cpu_quota_cores=2.0, open_files_hard=2_000, port_range=[40_000, 49_999])
    many = _there(cores=[0, 1, 2, 3], cpu_quota_cores=None)
    machine = machine_there.of_several([many, few], "a and b")
    assert (machine.cores, machine.open_files, machine.ports) == ((0, 1, 2), 2_000, 10_000)
    assert (machine.hosts, machine.where, machine.is_apart) == (2, "a and b", True)
    assert machine.threads_most == 2 and machine.share(7) == 4
    assert machine.apart((), (0, 1)) == 6 and machine.apart((0,), (0, 1)) == 2
    assert machine_there.of_several([many], "a").hosts == 1
    here = _there(is_here=True)
    assert not machine_there.of_several([many, here], "a and b").is_apart


def test_all_of_several_hosts_have_to_reach_the_server(own_address: None) -> None:
    address = "10.0.0.9:8080"
    near, far = (_there({f"knock {address}": said}) for said in ("listens", "silent"))
    machine_there.of_several([near, near], "a and b").check_listening(address, "nobody", "start it")
    with pytest.raises(CrumpleError, match="does not reach"):
        machine_there.of_several([near, far], "a and b").check_listening(address, "nobody", "start it")


def test_an_address_of_any_of_several_hosts_is_theirs() -> None:
    one, two = _there(addresses=["10.0.0.7"]), _there(addresses=["10.0.0.8"])
    machine = machine_there.of_several([one, two], "a and b")
    owned = [machine.owns(ipaddress.ip_address(f"10.0.0.{last}")) for last in (7, 8, 9)]
    assert owned == [True, True, False]
