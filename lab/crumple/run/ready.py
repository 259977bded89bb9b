"""The servers of a run, made ready before its first trial: found, checked, built; or why that cannot be.

All of it happens before anything is measured, so that no compiler disturbs a measurement.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from crumple.errors import CrumpleError, ServerFailed
from crumple.machine import turns
from crumple.run.brought import Elsewhere
from crumple.run.store import Failure
from crumple.server import servers, variant
from crumple.server.server import ServerDescription


class Watcher(Protocol):
    """Who is told how it goes on."""

    def preparing(self, server: str) -> None:
        """A server is being built, which may take minutes the first time."""

    def skipped(self, server: str, reason: str) -> None:
        """None of this server's trials can be tried; `reason` holds the remedy."""

    def not_built(self, server: str, reason: str) -> None:
        """The same, but that counts as their failure: it could have been."""

    def waiting(self) -> None:
        """Another crumple measures on this machine; it is waited for."""


@dataclass(frozen=True)
class Ready:
    """A server as its trials find it: built, or running already, or why not."""

    description: ServerDescription | None
    versions: Mapping[str, str]
    built: servers.Built | Elsewhere | None
    refusal: Failure | None


def made_ready(
    labels: Collection[str],
    described: Mapping[str, ServerDescription],
    running: Mapping[str, Elsewhere],
    watcher: Watcher,
) -> dict[str, Ready]:
    """Label → server. All variants of a server are one program, which is built once."""
    found: dict[str, Ready] = {}
    for name in sorted({variant.server_of(label) for label in labels}):
        if name in running:
            found[name] = Ready(None, {}, running[name], None)
        else:
            found[name] = _made_ready(name, described.get(name), watcher)
    return {label: found[variant.server_of(label)] for label in labels}


def _made_ready(name: str, description: ServerDescription | None, watcher: Watcher) -> Ready:
    if description is None:
        failure = Failure(step="setup", message=f"there is no server {name} any more")
        return _refused(name, None, {}, failure, watcher)
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        message = f"{readiness.reason}; {readiness.remedy}" if readiness.remedy else readiness.reason
        return _refused(name, description, {}, Failure(step="setup", message=message), watcher)
    versions = servers.versions(description)
    if not servers.is_built(description):
        watcher.preparing(name)
    with turns.turn(watcher.waiting):
        try:
            return Ready(description, versions, servers.build(description), None)
        except CrumpleError as error:
            tail = error.output_tail if isinstance(error, ServerFailed) else ()
            failure = Failure(step="build", message=str(error), output_tail=tail)
    return _refused(name, description, versions, failure, watcher)


def _refused(
    name: str,
    description: ServerDescription | None,
    versions: Mapping[str, str],
    failure: Failure,
    watcher: Watcher,
) -> Ready:
    say = watcher.not_built if failure.step == "build" else watcher.skipped
    say(name, failure.message)
    return Ready(description, versions, None, failure)
