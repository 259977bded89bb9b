"""A URL as typed → scheme, host, port and path, as a request has them. No name is resolved."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

from crumple.errors import UsageError

PORTS = {"http": 80, "https": 443}
# The letters that a request line may contain: those of ASCII that are graphic.
_AS_TYPED = "".join(chr(code) for code in range(0x21, 0x7F))


@dataclass(frozen=True)
class TypedUrl:
    """A URL of HTTP."""

    text: str
    """As typed, with its scheme; bytes that are not UTF-8 are percent-encoded."""
    scheme: str
    host: str
    port: int
    path: str
    """With the query."""

    @property
    def is_tls(self) -> bool:
        """Whether the scheme is https."""
        return self.scheme == "https"

    @property
    def host_header(self) -> str:
        """What a request says as Host."""
        return self._authority(with_port=self.port != PORTS[self.scheme])

    @property
    def proxied_authority(self) -> str:
        """What a proxy is asked for: a tunnel needs the port."""
        return self._authority(with_port=True) if self.is_tls else self.host_header

    def _authority(self, *, with_port: bool) -> str:
        name = self.host.partition("%")[0]  # RFC 6874: the zone is not sent
        name = f"[{name}]" if ":" in name else name
        return f"{name}:{self.port}" if with_port else name


def read(typed: str) -> TypedUrl:
    """Return what a URL means. Raises UsageError."""
    url = _with_scheme(typed)
    parts = _split(url)
    if parts.scheme not in PORTS:
        raise UsageError(f"{url}: {parts.scheme} is not HTTP", "write http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise UsageError("a user or password in the URL is not sent", "give them as -a USER:PASSWORD")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise UsageError(f"{url}: no such port", "write one from 1 to 65535")
    if not parts.hostname:
        raise UsageError(f"{url} names no host", f"write {parts.scheme}://localhost, for instance")
    path = parts.path or "/"
    has_query = "?" in url.partition("#")[0]
    return TypedUrl(
        text=_in_utf8(url),
        scheme=parts.scheme,
        host=_host_in_ascii(parts.hostname),
        port=port or PORTS[parts.scheme],
        path=encoded(f"{path}?{parts.query}" if has_query else path),
    )


def encoded(path: str) -> str:
    """Percent-encode what a request line may not contain; the rest stays as typed."""
    return quote(path, safe=_AS_TYPED, errors="surrogateescape")


def _in_utf8(url: str) -> str:
    """Return the URL as typed, with bytes that are not UTF-8 percent-encoded."""
    return "".join(
        quote(letter, errors="surrogateescape") if "\udc80" <= letter <= "\udcff" else letter
        for letter in url
    )


def _with_scheme(url: str) -> str:
    """Return the URL, with http:// if it has no scheme, as in curl. Raises UsageError."""
    url = re.sub(r"^(https?://)(?=:\d)", r"\1localhost", url.strip(), flags=re.IGNORECASE)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        return url
    if not url:
        raise UsageError("the URL is empty", "write http://localhost")
    if slip := re.match(r"(https?):/*", url):
        host = url[slip.end() :] or "localhost"
        raise UsageError(f"the URL {url} lacks //", f"write {slip[1]}://{host}")
    return f"http://localhost{url}" if url.startswith((":", "/")) else f"http://{url}"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url} is no URL: {error}", "write it as http://host:port/path") from None


def _host_in_ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"{host} is no name a host can have", "check its spelling") from None
