"""A cluster of real hosts: namespaces with an sshd each, a project with two tiny servers, and a study.

with made_cluster.made(folder, engine) as cluster:
    cluster.bring_up()
    cluster.crumple("run", "demo", "--cluster", cluster.address)

One of the servers takes 40 ms longer for a request, so the study's verdict is known.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import other_hosts
import secure_shell
import stand_ins
import tiny_servers
from crumple.run.store import RunStore
from other_hosts import Host, Link

ROOT = Path(__file__).parents[3]
NAMES = ("loader-a", "loader-b", "loader-c")
# Not its own: the home, where Python may be, and /tmp, where the project is.
OWN_FOLDERS = ("/run",)
STUDY = """
title = "Two servers"
question = "Which of them is faster?"
[experiments.one]
title = "One"
servers = ["tiny", "slow"]
twin = "tiny"
workload = "hello"
placement = "shared"
shape = {{ kind = "closed", connections = 2 }}
[experiments.one.scales.quick]
blocks = {blocks}
warm_up = {{ duration_s = 0.1 }}
stop = {{ duration_s = {measured_s} }}
[[claims]]
id = "X-1"
text = "The tiny one is faster."
kind = "order"
experiment = "one"
metric = "throughput"
tiers = [["tiny"], ["slow"]]
"""
STUDY_NAME = "demo"
# What makes a tiny server slow.
SLOW = """
def late(handle):
    def handled(self):
        time.sleep(0.04)
        handle(self)
    return handled
Handler.do_GET = late(Handler.do_GET)
"""
# What measures on a host: a worker's process for blocks, engines, and servers with their guards.
MEASURES = ("blocks_there", "crumple-engine", "server.py")
# Seconds within which what has no business on a host any more must be gone.
GONE_S = 20.0


@dataclass
class MadeCluster:
    """The hosts, and crumple as it is called here. `root`: the project; `link_of`: host → the way to it.

    `settings`: the environment in which crumple runs for this project, here and on the hosts.
    """

    root: Path
    hosts: tuple[Host, ...]
    link_of: dict[str, Link]
    program: Path
    environment: dict[str, str]
    settings: dict[str, str]
    address: str = ""

    def words(self, *words: str) -> list[str]:
        return [str(self.program), *words]

    def crumple(self, *words: str, code: int | None = 0) -> str:
        """Run crumple here to its end, and return all that it printed. `code`: what it must exit with."""
        ended = subprocess.run(
            self.words(*words), env=self.environment, capture_output=True, text=True, check=False
        )
        said = ended.stdout + ended.stderr
        assert code is None or ended.returncode == code, said
        return said

    def running(self, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
        """Run crumple here until the `with` ends."""
        return self._running(self.words(*words), self.environment)

    def running_python(self, text: str, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
        """Run a program here that imports crumple, until the `with` ends."""
        return self._running([sys.executable, "-c", text, *words], {**self.environment, **self.settings})

    @contextmanager
    def _running(self, words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(words, env=environment, **how) as process:
            try:
                yield process
            finally:
                process.kill()

    def bring_up(self) -> str:
        """Bring the cluster up, and return what that said."""
        said = self.crumple(
            "cluster", "up", *(host.name for host in self.hosts), "--crumple", str(self.program)
        )
        self.address = said.rpartition("--cluster ")[2].split()[0]
        return said

    def bring_down(self) -> None:
        self.crumple("cluster", "down")

    @property
    def keeper(self) -> int:
        """The process that holds the cluster."""
        return int(json.loads((self.root / "cache" / "crumple" / "cluster.json").read_text())["keeper"])

    def run_of(self, name: str = STUDY_NAME) -> RunStore:
        """The one run of the study."""
        (folder,) = (self.root / "runs").glob(f"{name}-quick-*")
        return RunStore(folder)

    def forget(self) -> None:
        """Remove all runs."""
        shutil.rmtree(self.root / "runs", ignore_errors=True)

    def measuring(self, host: Host) -> list[int]:
        """The processes that measure on a host."""
        return [pid for pid, command in host.processes().items() if any(map(command.__contains__, MEASURES))]

    def engines(self, host: Host) -> list[int]:
        """The engines that load on a host now."""
        return [pid for pid, command in host.processes().items() if "crumple-engine run" in command]

    def workers(self, host: Host) -> list[int]:
        """The worker of a host: Python, and no process for blocks."""
        return [
            pid
            for pid, command in host.processes().items()
            if command.endswith("cluster worker") and "python" in command.split()[0]
        ]

    def send(self, number: signal.Signals, pids: Sequence[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def is_quiet(self, hosts: Sequence[Host] | None = None) -> bool:
        """Whether nothing measures on the hosts any more, at the latest after GONE_S."""
        asked = self.hosts if hosts is None else hosts
        return other_hosts.at_last(lambda: not any(map(self.measuring, asked)), GONE_S)


@contextmanager
def made(
    folder: Path, engine: Path, *, blocks: int = 6, measured_s: float = 0.3, hosts: Sequence[str] = NAMES
) -> Iterator[MadeCluster]:
    """Make hosts and project in a folder until the `with` ends. Nothing is up yet."""
    root = stand_ins.project(folder / "project")
    tiny_servers.write(root, "tiny")
    tiny_servers.write(root, "slow", here=SLOW)
    (root / "studies" / f"{STUDY_NAME}.toml").write_text(STUDY.format(blocks=blocks, measured_s=measured_s))
    settings = _settings(root, engine)
    program = _program(root, settings)
    with ExitStack() as held:
        there = tuple(held.enter_context(other_hosts.started(each, OWN_FOLDERS)) for each in hosts)
        links = [held.enter_context(other_hosts.joined(None, each)) for each in there]
        shells = [
            held.enter_context(secure_shell.serving(host, link.addresses[1], folder))
            for host, link in zip(there, links, strict=True)
        ]
        # All hosts reach this one at the address that the first sees.
        for host, link in zip(there[1:], links[1:], strict=True):
            host.run("ip", "route", "add", links[0].addresses[0], "via", link.addresses[0])
        path = _one_ssh(folder, [shell.folder for shell in shells])
        environment = {**os.environ, "PATH": path, "COLUMNS": "200"}
        link_of = {host.name: link for host, link in zip(there, links, strict=True)}
        cluster = MadeCluster(root, there, link_of, program, environment, settings)
        try:
            yield cluster
        finally:
            cluster.crumple("cluster", "down", code=None)


def _settings(root: Path, engine: Path) -> dict[str, str]:
    settings = {
        "CRUMPLE_ROOT": root,
        "CRUMPLE_RUNS": root / "runs",
        "CRUMPLE_ENGINE": engine,
        "XDG_CACHE_HOME": root / "cache",
        "PYTHONPATH": ROOT / "lab",
    }
    return {name: str(value) for name, value in settings.items()}


def _program(root: Path, settings: dict[str, str]) -> Path:
    """What runs crumple for this project, here and on all hosts."""
    program = root / "crumple"
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
    program.write_text(f'#!/bin/sh\nexec env {words} {shlex.quote(sys.executable)} -m crumple "$@"\n')
    program.chmod(0o755)
    return program


def _one_ssh(folder: Path, of: Sequence[Path]) -> str:
    """A PATH in which `ssh` reaches all hosts."""
    whole = folder / "ssh"
    (whole / "bin").mkdir(parents=True)
    (whole / "config").write_text("".join((each / "config").read_text() for each in of))
    own = whole / "bin" / "ssh"
    own.write_text(secure_shell.OWN_SSH.format(ssh=shutil.which("ssh"), folder=whole))
    own.chmod(0o755)
    return f"{whole / 'bin'}:{os.environ['PATH']}"
