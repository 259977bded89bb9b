"""A host that load comes from, for scripts: in namespaces of its own, behind a link and a real sshd."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asked_corpus  # noqa: F401  (lets the helpers be found)
import other_hosts  # type: ignore[import-not-found]
import secure_shell  # type: ignore[import-not-found]


@dataclass(frozen=True)
class Elsewhere:
    """The load host. `words`: what names it to crumple; `path`: the PATH in which its ssh is found.

    `here`: this host's address, as that host reaches it; `host`, `link`: of other_hosts.
    """

    words: tuple[str, ...]
    path: str
    here: str
    host: Any
    link: Any


@contextmanager
def started() -> Iterator[Elsewhere]:
    """Make it until the `with` ends."""
    with (
        tempfile.TemporaryDirectory() as folder,
        other_hosts.started("loader", other_hosts.WITH_HOME) as host,
        other_hosts.joined(None, host) as link,
        secure_shell.serving(host, link.addresses[1], Path(folder)) as shell,
    ):
        yield Elsewhere(("--from", shell.name), shell.path, link.addresses[0], host, link)
