"""A load host and the links that are open to it, so that a trial need not wait for a new connection."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from crumple.contract import TrialSpec
from crumple.engine import Engine, OnProgress
from crumple.load_host import host_errors, remote_trial
from crumple.load_host.link import ASKED_S, Link
from crumple.load_host.remote_trial import RemoteTrial
from crumple.load_host.sent_engine import SentEngine
from crumple.load_host.where import Where
from crumple.machine import facts


class LoadHost:
    """Where the load comes from. Use it as a context: it ends all that it has started, here and there."""

    def __init__(self, where: Where, program: Path, name: str = "") -> None:
        """`program`: the engine's, on this machine; `name`: as results say it. Nothing is opened yet."""
        self.where = where
        self.name = name or where.text
        self._engine = SentEngine.of(program)
        self._idle: list[Link] = []
        # One link at a time finds or sends the engine.
        self._opening = threading.Lock()

    @contextmanager
    def link(self) -> Iterator[Link]:
        """A link for one trial at a time: an open one that is idle, or else a new one.

        It is kept for the next trial, if this one is over and has not raised. Raises LoadHostFailed.
        """
        link = self._taken()
        try:
            yield link
        except BaseException:
            link.close()
            raise
        if link.is_free:
            self._idle.append(link)
        else:
            link.close()

    def ask(self, line: str, within_s: float = ASKED_S) -> Any:
        """What the engine there answers to a command. Raises LoadHostFailed, LoadHostLost, EngineFailed."""
        with self.link() as link:
            said = link.ask(line, within_s)
        try:
            return json.loads(said)
        except ValueError:
            raise host_errors.not_understood(self.where, said) from None

    @cached_property
    def is_here(self) -> bool:
        """Whether its kernel is this machine's: it is a container, or a network namespace, of it."""
        boot_id = self.ask("facts").get("boot_id")
        return boot_id is not None and boot_id == facts.text(facts.SYSCTLS / "kernel/random/boot_id")

    @contextmanager
    def started(self, engine: Engine, spec: TrialSpec, on_progress: OnProgress) -> Iterator[RemoteTrial]:
        """Start an engine there, and one here that watches the server (`engine.LoadSource`).

        Raises EngineFailed.
        """
        is_here = spec.probe.server_pid is not None and self.is_here
        with (
            self.link() as link,
            remote_trial.started(link, engine, spec, on_progress, name=self.name, is_here=is_here) as trial,
        ):
            yield trial

    def __enter__(self) -> Self:
        """Return it as it is: a link is opened when the first is needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all idle links."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self) -> Link:
        with self._opening:
            while self._idle:
                link = self._idle.pop()
                if link.is_free:
                    return link
                link.close()
            return Link(self.where, self._engine)
