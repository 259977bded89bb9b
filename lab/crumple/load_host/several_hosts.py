"""Several load hosts as one source of loads: each trial goes to all of them at once, each with its part.

A trial that cannot be parted (one connection, or an end by number) goes to the first alone.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

from crumple.contract import TrialSpec
from crumple.engine import Engine, Loading, OnProgress
from crumple.load_host import parted_trial, remote_trial
from crumple.load_host.load_host import LoadHost
from crumple.load_host.parted_trial import PartedTrial, ReadyHost
from crumple.record import together


class SeveralHosts:
    """Where the load comes from (`engine.LoadSource`), as long as the contexts of the hosts last."""

    def __init__(self, hosts: Sequence[LoadHost]) -> None:
        """`hosts`: two or more."""
        self.each = tuple(hosts)

    @property
    def name(self) -> str:
        """As results say it: "a and b"."""
        return together.named([host.name for host in self.each])

    @contextmanager
    def started(self, loader: Engine, spec: TrialSpec, on_progress: OnProgress) -> Iterator[Loading]:
        """Start an engine on each, and one here that watches the server. Raises EngineFailed."""
        if not parted_trial.can_be_parted(spec, len(self.each)):
            with self.each[0].started(loader, spec, on_progress) as trial:
                yield trial
            return
        with ExitStack() as stack:
            ready = self._ready(stack)
            watch = stack.enter_context(remote_trial.watching(loader, spec))
            yield PartedTrial(ready, watch, spec, on_progress)

    def _ready(self, stack: ExitStack) -> list[ReadyHost]:
        """Open a link to each, all at once. Raises LoadHostFailed, LoadHostLost, EngineFailed."""

        def ready(host: LoadHost) -> ReadyHost:
            # Before the link is taken, as these may need one.
            is_here = host.is_this_kernel
            kernel = "this" if is_here else host.facts.boot_id
            link = stack.enter_context(host.link())
            return ReadyHost(host.name, link, kernel, is_here, partial(host.clock, link))

        with ThreadPoolExecutor(len(self.each)) as pool:
            return list(pool.map(ready, self.each))
