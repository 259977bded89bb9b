"""How Dask is set here: silent beside a measured block, told soon that a host is lost, and without a page.

Only scheduler and workers that crumple starts are set so; another worker is refused (`cluster_hosts`).
"""

import logging

import dask
from distributed import Scheduler, Worker

# What a worker must have so that a block is dealt to it. It has one, so it measures one block at a time.
RESOURCE = "crumple"
# For what Dask does of itself and nobody reads here: longer than any study.
NEVER = "1000h"
SETTINGS = {
    # By default a worker wakes up more than 150 times a second: it profiles itself, looks how late its loop
    # is, and reads the machine. Two heartbeats a second remain, which show that it lives.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": NEVER,
    "distributed.admin.tick.cycle": NEVER,
    "distributed.admin.system-monitor.interval": NEVER,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    # A worker without a heartbeat for ten of their intervals, 5 s, is lost; the scheduler looks as often. So
    # one that is frozen is noticed after 5 to 10 s.
    "distributed.scheduler.worker-ttl": "5s",
    # A connection whose other end is silent is closed: the shortest time that Dask allows.
    "distributed.comm.timeouts.tcp": "11s",
    "distributed.comm.timeouts.connect": "10s",
}


def settle() -> None:
    """Set Dask in this process, and keep what it logs from the terminal: what matters is raised or seen."""
    dask.config.set(SETTINGS)
    logging.disable(logging.CRITICAL)


class SilentScheduler(Scheduler):
    """A scheduler without a page, which would be another listener, and without TLS."""

    def start_http_server(self, *_: object, **__: object) -> None: ...


class SilentWorker(Worker):
    """A worker without a page."""

    def start_http_server(self, *_: object, **__: object) -> None: ...
