"""A bench for tests of experiments: the real engine, and a small server that is started for the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import documents
import real_engine
from crumple import contract
from crumple.diagnose import observe, running
from crumple.experiment import bench as benches
from crumple.experiment.bench import Bench
from crumple.experiment.subject import Subject
from crumple.load.load_options import Options
from crumple.observation.outcome import LoadPairs
from made_observations import Silent
from tried import SpoiledError

SERVER = Path(__file__).with_name("limited_server.py")
# What is expected lies within this multiple of the standard error. With four pairs that a busy machine makes
# differ, it does not in one case of a hundred and fifty; if they are alike, hardly ever.
ERRORS = 6
# Pairs that differ by more tell the rivals of these tests apart no longer.
SD_MAX = 0.035


def asked(path: str = "/", **given: Any) -> contract.RequestSpec:
    """A request for a path, whose answer may be of any length."""
    return documents.request(path=path, body_bytes=None, **given)


@contextmanager
def served(kind: str, work: contract.RequestSpec | None = None, **given: Any) -> Iterator[Bench]:
    """Start a server of this kind (`limited_server`), and give a bench for it.

    `given`: what `at` takes.
    """
    words = [sys.executable, str(SERVER), kind]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        try:
            assert server.stdout is not None
            yield at(int(server.stdout.readline()), work or asked(), pid=server.pid, **given)
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def at(
    port: int,
    work: contract.RequestSpec,
    *,
    pid: int | None,
    slow: contract.RequestSpec | None = None,
    light: contract.RequestSpec | None = None,
    alone_s: float | None = None,
    connections: int = 32,
    load_s: float | None = None,
) -> Bench:
    """A bench for the server at a port. `alone_s`: what the work takes alone; None: it is measured."""
    address = f"127.0.0.1:{port}"
    subject = Subject(
        target=contract.Target(address=address, host=address),
        work=(work,),
        light=light or work,
        slow=slow,
        heavy=None,
        options=Options(seed=3, server_pid=pid),
        cores=2,
    )
    runs = running.runner(real_engine.loaded(), lambda _: None)
    put_on = observe.Observation(subject, runs, Silent())._put_on
    if alone_s is None:
        stop = contract.RequestsStopSpec(requests=20, within_s=2.0)
        mean_ns = put_on((work,), 1, stop).histograms.response_time.mean_ns
        assert mean_ns is not None
        alone_s = mean_ns / 1e9
    return Bench(subject, put_on, alone_s, connections, load_s or benches.lasting_s(alone_s))


def agrees(paired: LoadPairs | None, predicted: float, sd_max: float = SD_MAX) -> bool:
    """Whether the ratio is the one predicted, within its error. Raises SpoiledError if that is too large.

    `sd_max`: how large it may be. It may be larger where the rival predicts far more or less.
    """
    assert paired is not None
    if paired.sd > sd_max:
        raise SpoiledError(f"the pairs differ: {paired}")
    return abs(paired.ratio - predicted) <= ERRORS * paired.sd
