"""The worker on a host of a cluster: `crumple cluster worker`.

`crumple cluster up` starts it through a shell. Then it says which crumple is there, reads how it is to join
as one line, and ends when its input closes: so no worker outlives its cluster. In Kubernetes or Slurm it is
started with the scheduler's address, and Dask's configuration says which certificates it has.
"""

import asyncio
import json
import os
import sys

from distributed import Security
from distributed.comm import get_address_host
from distributed.utils import get_ip

from crumple import project
from crumple.cluster import cluster_file, cluster_hosts, dask_settings
from crumple.cluster.cluster_file import Pass
from crumple.cluster.dask_settings import RESOURCE, SilentWorker
from crumple.contract_base import Frozen
from crumple.machine.leftovers import ScratchFolder

# Each line that the keeper is to read begins so: a shell's start-up files may write others.
MARK = "crumple-cluster"
# Seconds to reach the scheduler.
JOIN_S = 15.0


class Joining(Frozen):
    """How a worker is to join a cluster."""

    scheduler: str
    name: str
    key_to_it: Pass


def told() -> None:
    """Join as the input says, and work until it closes or the scheduler is lost. It does not return."""
    _tell(cluster_hosts.programs_here(project.root(), ()))
    if line := sys.stdin.readline():
        joining = Joining.model_validate_json(line)
        asyncio.run(_work(joining.scheduler, joining.name, joining.key_to_it.security, told=True))


def joined(scheduler: str) -> None:
    """Join the cluster at this address as Dask is set, and work until it ends. It does not return.

    Raises UsageError.
    """
    cluster_file.refuse_without_tls(scheduler)
    security = cluster_file.of_dask()
    cluster_file.refuse_without_certificate(scheduler, security, "worker")
    asyncio.run(_work(scheduler, os.uname().nodename, security, told=False))


async def _work(scheduler: str, name: str, security: Security, *, told: bool) -> None:
    dask_settings.settle()
    # It listens at the address by which it reaches the scheduler, and at no other.
    own, folder = get_ip(get_address_host(scheduler)), ScratchFolder.made()
    worker = SilentWorker(
        scheduler,
        name=name,
        host=own,
        security=security,
        nthreads=1,
        resources={RESOURCE: 1},
        memory_limit=0,
        local_directory=str(folder.path),
        death_timeout=JOIN_S,
    )
    try:
        await worker
        _tell({"listens": worker.address})
        over = [asyncio.ensure_future(worker.finished())]
        if told:
            over.append(asyncio.ensure_future(_input_over()))
        await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        await worker.close()
        why = ""
    except (OSError, TimeoutError, RuntimeError) as error:
        why = f"{name} cannot join {scheduler}: {error.__cause__ or error}"
    finally:
        folder.remove()
    if why:
        os.write(sys.stderr.fileno(), f"{why}\n".encode())
    # A thread may still read the input, and Python would wait for it.
    os._exit(1 if why else 0)


async def _input_over() -> None:
    await asyncio.to_thread(sys.stdin.read)


def _tell(what: object) -> None:
    os.write(sys.stdout.fileno(), f"{MARK} {json.dumps(what)}\n".encode())
