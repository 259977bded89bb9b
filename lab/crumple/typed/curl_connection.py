"""The options of curl that say how to connect (-x, --resolve, -m, -k, …) → the flags that do the same."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from crumple.errors import UsageError
from crumple.typed.curl_url import Url

# "host:port:address,address", where the address may be one of IPv6.
_RESOLVE = re.compile(r"\+?(\*|\[[^\]]*\]|[^:]*):(\d+):\[?([^,\]]+)\]?(?:,.*)?")
_OWN = {
    "--unix-socket": "unix_socket", "--proxy": "proxy", "--proxy1.0": "proxy", "--max-time": "timeout",
    "--connect-timeout": "connect_timeout", "--cacert": "cacert", "--cert": "cert", "--key": "key",
}  # fmt: skip
_OF_TLS = ("insecure", "cacert", "cert", "key")


def flags(url: Url, given: Mapping[str, str], lists: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the flags of a load by their fields. Raises UsageError.

    `given`: options by their long names; `lists`: those that may be given several times.
    """
    found: dict[str, Any] = {own: given[name] for name, own in _OWN.items() if name in given}
    found |= {own: True for name, own in (("--ipv4", "ipv4"), ("--ipv6", "ipv6")) if name in given}
    if "--insecure" in given:
        found["insecure"] = True
        found.pop("cacert", None)
    if not url.is_tls:
        for name in _OF_TLS:
            found.pop(name, None)
    for limit in ("timeout", "connect_timeout"):
        if limit in found:
            found |= _limit(found.pop(limit), limit)
    if not found.get("proxy") or _is_beside_the_proxy(url, given.get("--noproxy", "")):
        found.pop("proxy", None)
    if "proxy" in found:
        if user := given.get("--proxy-user"):
            found["proxy"] = _with_user(found["proxy"], user)
        if headers := lists.get("--proxy-header"):
            found["proxy_header"] = list(headers)
    if interface := given.get("--interface"):
        found["source_address"] = [_address(interface)]
    if to := _ways(url, lists):
        found["connect_to"] = to
    return found


def _limit(typed: str, name: str) -> dict[str, str]:
    """Return a limit in seconds, with a digit before its point. In curl 0 is no limit of the user's own."""
    try:
        seconds = float(typed)
    except ValueError:
        shown = "--max-time" if name == "timeout" else "--connect-timeout"
        raise UsageError(f"--curl: curl's {shown} {typed} is no time", "write seconds") from None
    return {name: f"0{typed}" if typed.startswith(".") else typed} if seconds else {}


def _is_beside_the_proxy(url: Url, listed: str) -> bool:
    """Return whether --noproxy names the host, or a domain or network that it is in."""
    host, _ = url.host_and_port
    names = [
        each.strip().strip("[]").lower().strip(".") for each in re.split(r"[,\s]+", listed) if each.strip()
    ]
    if "*" in names:
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return any(address in network for network in map(_network, names) if network is not None)
    return any(host.rstrip(".") == name or host.rstrip(".").endswith(f".{name}") for name in names if name)


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    with suppress(ValueError):
        return ipaddress.ip_network(name, strict=False)
    return None


def _ways(url: Url, lists: Mapping[str, Sequence[str]]) -> list[str]:
    """Return where to connect, of --connect-to and --resolve. What is about other hosts is not used."""
    host, port = url.host_and_port
    found = []
    for text in (*lists.get("--connect-to", ()), *map(_resolved, lists.get("--resolve", ()))):
        of_host, _, rest = text.partition("]:") if text.startswith("[") else text.partition(":")
        if of_host.strip("[]").lower() in ("", host) and rest.partition(":")[0] in ("", str(port)):
            found.append(text)
    return found


def _resolved(text: str) -> str:
    if text.startswith("-"):
        # It takes an address back that another command may have left.
        return "-:0:-:0"
    found = _RESOLVE.fullmatch(text)
    if found is None:
        raise UsageError(f"--curl: curl's --resolve {text} names no address", "write HOST:PORT:ADDRESS")
    host = "" if found[1] == "*" else found[1]
    address = f"[{found[3]}]" if ":" in found[3] else found[3]
    return f"{host}:{found[2]}:{address}:{found[2]}"


def _with_user(proxy: str, user: str) -> str:
    scheme, mark, host = proxy.rpartition("://")
    name, _, password = user.partition(":")
    return f"{scheme or 'http'}{mark or '://'}{quote(name, safe='')}:{quote(password, safe='')}@{host}"


def _address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        raise UsageError(
            f"--curl: curl's --interface {name} is no address", "write an address of this machine"
        ) from None
