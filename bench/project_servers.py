"""The servers of the project, for scripts that load them."""

from collections.abc import Iterable

import load
from bounds import skip
from crumple.subject import servers
from crumple.subject.server_toml import ServerDescription

# The shortest forms load this one, as it is built in seconds.
SHORTEST = "go-nethttp"


def find() -> dict[str, ServerDescription]:
    """Every server by its name."""
    return servers.find(load.ROOT)


def skip_unless_ready(chosen: Iterable[ServerDescription]) -> None:
    """If one of the servers cannot run here, prints why and ends the script."""
    for description in chosen:
        readiness = servers.readiness(description)
        if isinstance(readiness, servers.Missing):
            skip(f"{description.name}: {readiness.reason}; {readiness.remedy}")
