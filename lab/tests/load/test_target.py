"""URLs as typed: their targets, and which of them are refused before anything is sent."""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crumple.contract import Target, TlsSpec
from crumple.errors import UsageError
from crumple.load import target
from crumple.load.load_flags import TargetFlags
from crumple.load.target import Resolved
from crumple.machine import load_machine
from hypothesis import given
from hypothesis import strategies as st

REMOTE = "if that server is yours to load, add --allow-remote"


def _names(**known: list[str]) -> Callable[[str], list[str]]:
    """A resolver that knows these names, and numeric addresses."""

    def lookup(host: str) -> list[str]:
        if host in known:
            return known[host]
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            raise socket.gaierror(-2, "Name or service not known") from None

    return lookup


def _resolve(url: str, known: dict[str, list[str]] | None = None, **how: Any) -> Resolved:
    known = known or {"localhost": ["127.0.0.1"]}
    return target.resolve(url, TargetFlags(**how), replace(load_machine.this(), addresses_of=_names(**known)))


@pytest.mark.parametrize(
    ("url", "address", "host", "path"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", "/"),
        ("http://127.0.0.1/", "127.0.0.1:80", "127.0.0.1", "/"),
        ("HTTP://LOCALHOST:80/A?b=c#d", "127.0.0.1:80", "localhost", "/A?b=c"),
        ("http://localhost:8080?x=1", "127.0.0.1:8080", "localhost:8080", "/?x=1"),
        ("http://localhost/x?", "127.0.0.1:80", "localhost", "/x?"),
        ("http://localhost/x?#y?z", "127.0.0.1:80", "localhost", "/x?"),
        ("http://localhost/x#y?z", "127.0.0.1:80", "localhost", "/x"),
        ("  http://10.1.2.3:9/x  ", "10.1.2.3:9", "10.1.2.3:9", "/x"),
        ("http://[::1]:8080/", "[::1]:8080", "[::1]:8080", "/"),
        ("http://[fd00::1]/", "[fd00::1]:80", "[fd00::1]", "/"),
        ("http://0.0.0.0:8000/", "127.0.0.1:8000", "0.0.0.0:8000", "/"),
        ("http://[::]:8000/", "[::1]:8000", "[::]:8000", "/"),
        ("http://[::ffff:127.0.0.1]:1/", "127.0.0.1:1", "[::ffff:127.0.0.1]:1", "/"),
        ("http://localhost/a b/ü?{seq}=%20{random:1-9}", "127.0.0.1:80", "localhost",
         "/a%20b/%C3%BC?{seq}=%20{random:1-9}"),
    ],
)  # fmt: skip
def test_the_target_of_a_url(url: str, address: str, host: str, path: str) -> None:
    resolved = _resolve(url)
    assert resolved.target == Target(address=address, host=host)
    assert (resolved.path, resolved.url) == (path, url.strip())


@pytest.mark.parametrize(
    ("typed", "meant", "address"),
    [
        ("localhost:8080/x", "http://localhost:8080/x", "127.0.0.1:8080"),
        ("127.0.0.1:7103", "http://127.0.0.1:7103", "127.0.0.1:7103"),
        (":8080/x", "http://localhost:8080/x", "127.0.0.1:8080"),
        ("http://:8080/x", "http://localhost:8080/x", "127.0.0.1:8080"),
        ("HTTP://:8080", "HTTP://localhost:8080", "127.0.0.1:8080"),
        ("/x", "http://localhost/x", "127.0.0.1:80"),
        ("localhost?next=http://b/", "http://localhost?next=http://b/", "127.0.0.1:80"),
        ("[::1]:80", "http://[::1]:80", "[::1]:80"),
    ],
)
def test_a_url_without_a_scheme_is_http(typed: str, meant: str, address: str) -> None:
    resolved = _resolve(typed)
    assert (resolved.url, resolved.target.address, resolved.target.tls) == (meant, address, None)


@pytest.mark.parametrize("name", ["shop.localhost", "a.b.localhost", "SHOP.Localhost", "shop.localhost."])
def test_names_below_localhost_are_this_machine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert load_machine.addresses_of(name) == ["127.0.0.1", "::1"]
    assert target.resolve(f"http://{name}:1/").target == Target(
        address="127.0.0.1:1", host=f"{name.lower()}:1"
    )
    for other in ("localhost.test", "xlocalhost", "localhost.localhost.test"):
        with pytest.raises(socket.gaierror):
            load_machine.addresses_of(other)


def test_https_verifies_the_name_unless_insecure(tmp_path: Path) -> None:
    assert _resolve("https://localhost/").target == Target(
        address="127.0.0.1:443", host="localhost", tls=TlsSpec(server_name="localhost", verify=True)
    )
    assert _resolve("https://[::1]:8443/", insecure=True).target.tls == TlsSpec(
        server_name="::1", verify=False
    )
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text("-----BEGIN CERTIFICATE-----\n")
    tls = _resolve("https://localhost/", cacert=str(ca_file)).target.tls
    assert tls == TlsSpec(server_name="localhost", verify=True, ca_file=str(ca_file))


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https:/localhost", "the URL https:/localhost lacks //; write https://localhost"),
        ("http:", "the URL http: lacks //; write http://localhost"),
        ("localhost:x/y", "http://localhost:x/y: no such port; write one from 1 to 65535"),
        ("", "the URL is empty; write http://localhost"),
        ("ftp://localhost/", "ftp://localhost/: ftp is not HTTP; write http:// or https://"),
        ("http://", "http:// names no host; write http://localhost, for instance"),
        ("http:///x", "http:///x names no host; write http://localhost, for instance"),
        ("http://:x/", "http://:x/: no such port; write one from 1 to 65535"),
        ("http://localhost:0/", "http://localhost:0/: no such port; write one from 1 to 65535"),
        ("http://localhost:65536/", "http://localhost:65536/: no such port; write one from 1 to 65535"),
        ("http://localhost:x/", "http://localhost:x/: no such port; write one from 1 to 65535"),
        ("http://[::1/", "http://[::1/ is no URL: Invalid IPv6 URL; write it as http://host:port/path"),
        (
            "http://me:secret@localhost/",
            "a user or password in the URL is not sent; give them as -a USER:PASSWORD",
        ),
        (
            "http://nosuch.test/",
            "cannot resolve the host nosuch.test: Name or service not known; "
            "check its spelling, or write its address",
        ),
    ],
)
def test_invalid_urls_are_refused(url: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        _resolve(url)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("address", "harmless"),
    [
        ("127.0.0.1", True), ("127.255.255.254", True), ("10.0.0.1", True), ("172.16.0.1", True),
        ("172.31.255.255", True), ("192.168.1.1", True), ("::1", True), ("fd12::1", True), ("fc00::1", True),
        ("0.0.0.0", True), ("::", True), ("::ffff:10.0.0.1", True), ("::ffff:127.0.0.1", True),
        ("172.32.0.1", False), ("172.15.255.255", False), ("192.169.0.1", False), ("11.0.0.1", False),
        ("8.8.8.8", False), ("2606:4700::1111", False), ("::ffff:8.8.8.8", False), ("64:ff9b::a00:1", False),
        ("192.0.2.1", False), ("198.51.100.7", False), ("203.0.113.9", False), ("2001:db8::1", False),
        ("100.64.0.1", False), ("198.18.0.1", False), ("169.254.169.254", False), ("fe80::1", False),
        ("255.255.255.255", False), ("224.0.0.1", False), ("240.0.0.1", False), ("ff02::1", False),
        ("2002:7f00:1::", False), ("0.0.0.1", False),
    ],
)  # fmt: skip
def test_only_loopback_and_private_addresses_need_no_permission(address: str, harmless: bool) -> None:
    url = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    if harmless:
        assert _resolve(url).target.address
        return
    with pytest.raises(UsageError, match="neither a loopback nor a private address") as caught:
        _resolve(url)
    assert caught.value.message.startswith(address) and str(caught.value).endswith(REMOTE)
    assert _resolve(url, allow_remote=True).target.address


def test_every_address_of_a_name_is_checked() -> None:
    both = {"mixed.test": ["10.0.0.1", "93.184.216.34"]}
    with pytest.raises(UsageError) as caught:
        _resolve("http://mixed.test/", both)
    assert str(caught.value) == (
        f"mixed.test is 93.184.216.34, which is neither a loopback nor a private address; {REMOTE}"
    )
    assert _resolve("http://mixed.test/", both, allow_remote=True).target.address == "10.0.0.1:80"


@pytest.fixture
def listener() -> Iterator[Callable[[str], int]]:
    """A function that listens at an address and returns the port."""
    opened: list[socket.socket] = []

    def listen(address: str) -> int:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        opened.append(socket.socket(family))
        opened[-1].bind((address, 0))
        opened[-1].listen()
        return int(opened[-1].getsockname()[1])

    yield listen
    for each in opened:
        each.close()


@pytest.mark.parametrize(
    ("at", "found"),
    [("127.0.0.1", "127.0.0.1:{}"), ("::1", "[::1]:{}"), ("::", "127.0.0.1:{}"), ("0.0.0.0", "127.0.0.1:{}")],
)
def test_of_several_loopback_addresses_the_one_with_a_listener_is_used(
    listener: Callable[[str], int], at: str, found: str
) -> None:
    port = listener(at)
    resolved = _resolve(f"http://localhost:{port}/", {"localhost": ["::1", "127.0.0.1"]})
    assert resolved.target.address == found.format(port)


def test_without_a_listener_ipv4_is_used(listener: Callable[[str], int]) -> None:
    port = listener("127.0.0.9")
    resolved = _resolve(f"http://localhost:{port}/", {"localhost": ["::1", "127.0.0.1"]})
    assert resolved.target.address == f"127.0.0.1:{port}"


def test_whether_an_address_is_on_this_machine(tmp_path: Path) -> None:
    assert _resolve("http://127.9.9.9/").is_local
    assert not _resolve("http://192.0.2.1/", allow_remote=True).is_local


def test_a_unix_socket_needs_no_name_that_resolves(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        resolved = _resolve("http://app.test/x", unix_socket=path)
    assert resolved == Resolved(
        target=Target(address=f"unix:{path}", host="app.test"),
        path="/x",
        url="http://app.test/x",
        is_local=True,
    )


def test_an_invalid_unix_socket_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError, match="is not a socket; give the path the server listens on"):
        _resolve("http://x/", unix_socket=str(file))
    with pytest.raises(UsageError, match="No such file or directory; start the server first"):
        _resolve("http://x/", unix_socket=str(tmp_path / "none"))
    with pytest.raises(UsageError, match="longer than the 107 bytes"):
        _resolve("http://x/", unix_socket=str(tmp_path / ("x" * 108)))
    with pytest.raises(UsageError, match="a unix socket has no --source-address; leave it out"):
        _resolve("http://x/", unix_socket=str(file), source_address=["127.0.0.2"])


@pytest.mark.parametrize(
    ("sources", "meant"),
    [
        (["127.0.0.2"], ["127.0.0.2"]),
        (["127.0.0.2-127.0.0.4"], ["127.0.0.2", "127.0.0.3", "127.0.0.4"]),
        (["127.0.0.255-127.0.1.0", "127.0.0.2"], ["127.0.0.255", "127.0.1.0", "127.0.0.2"]),
        (["127.0.0.2", "127.0.0.2-127.0.0.3"], ["127.0.0.2", "127.0.0.3"]),
    ],
)
def test_source_addresses(sources: list[str], meant: list[str]) -> None:
    assert _resolve("http://localhost/", source_address=sources).target.sources == tuple(meant)


def test_source_addresses_decide_between_ipv4_and_ipv6() -> None:
    both = {"localhost": ["::1", "127.0.0.1"]}
    assert _resolve("http://localhost:1/", both, source_address=["::1"]).target.address == "[::1]:1"
    assert _resolve("http://localhost:1/", both, source_address=["127.0.0.2"]).target.address == "127.0.0.1:1"


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["x"], "--source-address x is no address; write 127.0.0.2, or a range"),
        (["127.0.0.2-"], "--source-address 127.0.0.2- is no address"),
        (["127.0.0.9-127.0.0.2"], "is no range; write its lowest address first"),
        (["127.0.0.2-::1"], "is no range; write its lowest address first"),
        (["192.0.2.9"], "192.0.2.9 is not an address of this machine"),
        (["127.0.0.2", "::1"], "names both IPv4 and IPv6; give addresses of one kind"),
        (["127.0.0.0-127.255.255.255"], "names 1,025 addresses; give at most 1,024 of them"),
        (["::1"], "--source-address ::1 cannot reach 127.0.0.1; give addresses of the same kind"),
    ],
)
def test_invalid_source_addresses_are_refused(sources: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _resolve("http://localhost/", source_address=sources)


def test_a_loopback_source_address_is_refused_for_other_machines() -> None:
    with pytest.raises(UsageError, match=r"127\.0\.0\.2 is loopback and cannot reach 10\.0\.0\.1"):
        _resolve("http://10.0.0.1/", source_address=["127.0.0.2"])


def test_invalid_certificates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the certificates .*none: No such file"):
        _resolve("https://localhost/", cacert=str(tmp_path / "none"))
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="holds no certificate; give a file in PEM form"):
        _resolve("https://localhost/", cacert=str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="--insecure is about certificates, and http has none"):
        _resolve("http://localhost/", insecure=True)
    with pytest.raises(UsageError, match="--insecure verifies nothing, so --cacert has no use"):
        _resolve("https://localhost/", insecure=True, cacert=str(tmp_path / "empty"))


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        _resolve("localhost", source_address=["x"], cacert="/no/such", unix_socket="/no/such")
    assert len(str(caught.value).splitlines()) == 5


@pytest.mark.long
@given(st.text(max_size=40))
def test_any_text_is_a_target_or_a_usage_error(text: str) -> None:
    try:
        resolved = _resolve(text)
    except UsageError as error:
        assert str(error)
    else:
        assert resolved.path.startswith("/") and resolved.path.isascii() and " " not in resolved.path
