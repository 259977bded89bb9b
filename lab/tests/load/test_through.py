"""Ways to a server: --connect-to, -x and --ipv4, --ipv6. Nothing is sent; names have made-up addresses."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from crumple.contract import ProxySpec
from crumple.errors import UsageError
from crumple.load import target, through
from crumple.load.load_flags import TargetFlags
from crumple.load.target import Resolved
from crumple.load.through import Hop
from crumple.machine import load_machine

KNOWN = {
    "localhost": ["::1", "127.0.0.1"],
    "service.test": ["10.0.0.5"],
    "far.test": ["93.184.216.34"],
    "six.test": ["fd00::5"],
}


def lookup(host: str) -> Sequence[str]:
    if host[:1].isdigit() or ":" in host:
        return [host]
    if host not in KNOWN:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return KNOWN[host]


def resolved(url: str, **how: Any) -> Resolved:
    return target.resolve(url, TargetFlags(**how), replace(load_machine.this(), addresses_of=lookup))


def refused(read: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        read()
    return str(caught.value)


@pytest.mark.parametrize(
    ("entries", "reached"),
    [
        ([], Hop("a.test", 443)),
        (["a.test:443:localhost:8443"], Hop("localhost", 8443)),
        (["A.test:443:localhost:8443"], Hop("localhost", 8443)),
        ([":443:localhost:8443"], Hop("localhost", 8443)),
        (["a.test::localhost:"], Hop("localhost", 443)),
        (["::[::1]:8443"], Hop("::1", 8443)),
        ([":::8443"], Hop("a.test", 8443)),
        (["b.test:443:b:1", "a.test:80:c:2", "a.test:443:d:3", "a.test:443:e:4"], Hop("d", 3)),
    ],
)
def test_the_first_entry_about_the_url_says_where_to_connect(entries: list[str], reached: Hop) -> None:
    assert through.hop(entries, "a.test", 443) == reached


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("localhost:8443", "that is not HOST:PORT:HOST2:PORT2"),
        ("a:b:c:d", "that is not HOST:PORT:HOST2:PORT2"),
        ("a.test:443:x:0", "there is no port 0"),
        ("a.test:443:x:99999", "there is no port 99999; write one from 1 to 65535"),
        (
            "b.test:443:x:1",
            "is not about the URL, whose host and port are a.test:443; write --connect-to a.test:443:",
        ),
    ],
)
def test_an_entry_that_says_nothing_is_refused(entry: str, said: str) -> None:
    assert said in refused(lambda: through.hop([entry], "a.test", 443))


def test_elsewhere_the_server_has_the_name_of_the_url() -> None:
    found = resolved("https://a.test/x", connect_to=["a.test:443:localhost:8443"])
    assert found.target.address in ("127.0.0.1:8443", "[::1]:8443")
    assert found.target.host == "a.test" and found.target.tls and found.target.tls.server_name == "a.test"
    assert found.is_local and found.url == "https://a.test/x"


def test_where_it_leads_must_be_allowed() -> None:
    assert "far.test is 93.184.216.34, which is neither" in refused(
        lambda: resolved("http://localhost/", connect_to=["::far.test:80"])
    )


@pytest.mark.parametrize(
    ("typed", "proxy"),
    [
        ("http://localhost:3128", (Hop("localhost", 3128), None)),
        ("localhost:3128/", (Hop("localhost", 3128), None)),
        ("http://[::1]:3128", (Hop("::1", 3128), None)),
        ("localhost", (Hop("localhost", 80), None)),
        ("http://me:s%40e@localhost:3128", (Hop("localhost", 3128), "Basic bWU6c0Bl")),
        ("http://me@localhost", (Hop("localhost", 80), "Basic bWU6")),
    ],
)
def test_a_proxy_is_a_url_or_a_host_and_port(typed: str, proxy: tuple[Hop, str | None]) -> None:
    at, user = proxy
    found = through.proxy(typed, ["X-Via: crumple"])
    own = [("Proxy-Authorization", user)] if user else []
    assert found == through.HttpProxy(at, (*own, ("X-Via", "crumple")))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("socks5://localhost:1080", "a proxy is spoken to in plain HTTP; write the URL of an HTTP proxy"),
        ("https://localhost:3128", "a proxy is spoken to in plain HTTP"),
        ("http://localhost:3128/a", "that names no proxy; write -x http://localhost:3128, for instance"),
        ("http://:3128", "that names no proxy"),
        ("http://localhost:port", "that names no proxy"),
        ("http://me:SECRET@/", "-x http://…@/: that names no proxy"),
        ("", "that names no proxy"),
    ],
)
def test_what_is_no_proxy_is_refused(typed: str, said: str) -> None:
    assert said in refused(lambda: through.proxy(typed, []))
    assert "SECRET" not in refused(lambda: through.proxy(typed, []))


def test_headers_for_a_proxy_need_one_and_must_be_headers() -> None:
    assert through.proxy(None, []) is None
    assert refused(lambda: through.proxy(None, ["A: b"])).endswith("there is none; add -x URL")
    said = refused(lambda: through.proxy("localhost", ["A", "B C: d"]))
    assert "--proxy-header A: that is no header" in said and '"B C" is no name of a header' in said


def test_a_request_through_a_proxy_names_the_server() -> None:
    plain = resolved("http://service.test:8080/x", proxy="localhost:3128", proxy_header=["A: b"])
    assert plain.target.proxy == ProxySpec(authority="service.test:8080", headers=(("A", "b"),))
    assert plain.target.host == "service.test:8080" and plain.target.address.endswith(":3128")
    assert not plain.is_local, "the server is not what answers on this machine"
    assert resolved("http://service.test/", proxy="localhost").target.proxy == ProxySpec(
        authority="service.test"
    )
    tunnel = resolved("https://service.test/", proxy="localhost").target
    assert tunnel.proxy == ProxySpec(authority="service.test:443") and tunnel.host == "service.test"
    six = resolved("https://[fd00::5]/", proxy="localhost").target
    assert six.proxy == ProxySpec(authority="[fd00::5]:443")


def test_a_proxy_is_no_way_around_the_guard() -> None:
    assert "far.test is 93.184.216.34, which is neither a loopback" in refused(
        lambda: resolved("http://far.test/", proxy="localhost:3128")
    )
    unknown = refused(lambda: resolved("http://hidden.test/", proxy="localhost:3128"))
    assert "cannot resolve the host hidden.test" in unknown and "add --allow-remote" in unknown
    assert "far.test is 93.184.216.34" in refused(lambda: resolved("http://localhost/", proxy="far.test:80"))
    allowed = resolved("http://hidden.test/", proxy="localhost:3128", allow_remote=True)
    assert allowed.target.proxy == ProxySpec(authority="hidden.test")


@pytest.mark.parametrize(("flag", "begins"), [("ipv4", "127.0.0.1:"), ("ipv6", "[::1]:")])
def test_the_version_of_ip_can_be_chosen(flag: str, begins: str) -> None:
    assert resolved("http://localhost:8080/", **{flag: True}).target.address.startswith(begins)


def test_a_host_without_an_address_of_that_version_is_refused() -> None:
    assert refused(lambda: resolved("http://six.test/", ipv4=True)) == (
        "six.test has no IPv4 address; leave out --ipv4"
    )
    assert refused(lambda: resolved("http://10.0.0.5/", ipv6=True)) == (
        "10.0.0.5 has no IPv6 address; leave out --ipv6"
    )


def test_ways_that_exclude_each_other_are_refused() -> None:
    said = refused(lambda: resolved("http://localhost/", connect_to=["::localhost:1"], proxy="localhost"))
    assert said == "--connect-to and -x each say where to connect; keep one of them"
