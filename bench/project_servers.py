"""The servers of the project, where a script loads those."""

from collections.abc import Iterable

import load
from bounds import skip
from crumple.subject import servers
from crumple.subject.server_toml import ServerDescription

# The one that the shortest forms load: it is built in seconds.
SHORTEST = "go-nethttp"


def find() -> dict[str, ServerDescription]:
    """Every one by name."""
    return servers.find(load.ROOT)


def skip_unless_ready(chosen: Iterable[ServerDescription]) -> None:
    """Ends the script where one of them cannot run here, and says why."""
    for description in chosen:
        readiness = servers.readiness(description)
        if isinstance(readiness, servers.Missing):
            skip(f"{description.name}: {readiness.reason}; {readiness.remedy}")
