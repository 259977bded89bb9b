"""Faults of a load that comes from another host: what ends then, how soon, and what is said of it.

with loading_host(folder) as there:
    for name in FAULTS:
        print(name, suffer(there, name))

The lab, ssh, sshd and the engine are processes of their own, and the server is in this one: it notes when the
last request came.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import other_hosts
import scripted_engine
import secure_shell
from crumple.contract import TrialSpec
from other_hosts import Host, Link
from secure_shell import Shell

ROOT = Path(__file__).parents[3]
SPEC = ROOT / "contract" / "golden" / "spec.json"
# The load: so many requests a second, for longer than any fault takes to end it.
RATE_PER_S, LOAD_S = 200.0, 60.0
# A load begins, and is looked at before the fault, for so long.
LOADED_S = 0.5
# No request for so long: the load is over. What has not ended after WITHIN_S stays.
OVER_S, WITHIN_S = 1.5, 12.0
# A lab that is stopped goes on after so long.
STOPPED_S = 6.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# What the lab does: arguments are where, the engine's program, and the spec.
LAB = """
import json, sys
from pathlib import Path
from crumple.errors import EngineFailed
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
try:
    with LoadHost(where.read(sys.argv[1]), Path(sys.argv[2])) as host, host.link() as link:
        link.load(sys.argv[3])
        assert link.listen(lambda line: None, 60)
        link.go()
        print("loads", flush=True)
        link.listen(lambda line: None, 120)
except EngineFailed as failed:
    print(json.dumps({"how": getattr(failed, "how", type(failed).__name__), "said": str(failed)}))
"""


class Server:
    """Answers all requests; `last_s`: when the last one came."""

    def __init__(self, address: str) -> None:
        self.last_s = 0.0
        self._listens = socket.create_server((address, 0))
        self.port = self._listens.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listens.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listens.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while connection.recv(1 << 16):
                self.last_s = time.monotonic()
                connection.sendall(ANSWER)


@dataclass(frozen=True)
class There:
    """A load host with an sshd, this host's server, and the engine's program."""

    host: Host
    link: Link
    shell: Shell
    server: Server
    engine: Path

    def engines(self) -> list[int]:
        """The engines there: that which serves, and that which loads."""
        return [pid for pid, command in self.host.processes().items() if "/crumple/engine-" in command]

    def engine_of(self, command: str) -> list[int]:
        """The engine there that runs this command."""
        named = self.host.processes()
        return [pid for pid in self.engines() if f" {command}" in named.get(pid, "")]


@contextmanager
def loading_host(folder: Path, engine: Path) -> Iterator[There]:
    """Make a load host until the `with` ends."""
    with (
        other_hosts.started("loader", other_hosts.WITH_HOME) as host,
        other_hosts.joined(None, host) as link,
        secure_shell.serving(host, link.addresses[1], folder) as shell,
    ):
        server = Server(link.addresses[0])
        try:
            yield There(host, link, shell, server, engine)
        finally:
            server.close()


@dataclass(frozen=True)
class Suffered:
    """What came of a fault. `over_s`: from it to the last request; `gone_s`: to the end of the last engine.

    `how`: as the lab called it, empty if it was killed; `left`: how many engines have not ended.
    """

    how: str
    said: str
    over_s: float
    gone_s: float
    left: int


@dataclass(frozen=True)
class Fault:
    """A fault. `hurt` brings it about once the load is on, or before the lab begins; `heal` undoes it."""

    hurt: Callable[[There, int], None]
    how: str
    where: str = "loader"
    is_before: bool = False
    heal: Callable[[There, int], None] = lambda _there, _lab: None


def _send(number: int, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _client(lab: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{lab}/task/{lab}/children").read_text().split()]


def _resize(there: There, size: str) -> None:
    for folder in ("/tmp", str(Path.home())):
        there.host.run("mount", "-o", f"remount,size={size}", folder)


def _fill(there: There, _lab: int) -> None:
    there.host.run("sh", "-c", "rm -rf /tmp/crumple-* ~/.cache/crumple")
    _resize(there, "1m")


def _replace(there: There, _lab: int) -> None:
    """Put another program under the engine's name there."""
    other = scripted_engine.ENGINE.replace("@FACTS@", '{"engine_version":"0.0.0","contract_version":1}')
    put = (
        'for file in ~/.cache/crumple/engine-*; do cp /dev/stdin "$file.new" && mv "$file.new" "$file"; done'
    )
    there.host.run("sh", "-c", f"{put} && chmod 700 ~/.cache/crumple/*", input=other)


def _stop_lab(_there: There, lab: int) -> None:
    os.kill(lab, signal.SIGSTOP)
    wakes = threading.Timer(STOPPED_S, lambda: _send(signal.SIGCONT, [lab]))
    wakes.daemon = True
    wakes.start()


FAULTS = {
    "ssh client killed": Fault(lambda _, lab: _send(signal.SIGKILL, _client(lab)), "client-ended"),
    "engine killed": Fault(lambda there, _: _send(signal.SIGKILL, there.engine_of("run")), "engine-ended"),
    "serving engine killed": Fault(
        lambda there, _: _send(signal.SIGKILL, there.engine_of("serve")), "engine-ended"
    ),
    "engine frozen": Fault(lambda there, _: _send(signal.SIGSTOP, there.engine_of("run")), "frozen"),
    "serving engine frozen": Fault(
        lambda there, _: _send(signal.SIGSTOP, there.engine_of("serve")), "frozen"
    ),
    "both frozen": Fault(lambda there, _: _send(signal.SIGSTOP, there.engines()), "frozen"),
    "link cut": Fault(lambda there, _: there.link.cut(), "link-cut", heal=lambda there, _: there.link.mend()),
    "disk full there": Fault(
        _fill, "LoadHostFailed", is_before=True, heal=lambda there, _: _resize(there, "1g")
    ),
    "other version there": Fault(
        _replace,
        "LoadHostFailed",
        is_before=True,
        heal=lambda there, _: there.host.run("sh", "-c", "rm -rf ~/.cache/crumple") and None,
    ),
    "a shell between, client killed": Fault(
        lambda _, lab: _send(signal.SIGKILL, _client(lab)), "client-ended", "ssh loader 'sh; true'"
    ),
    "lab killed": Fault(lambda _, lab: os.kill(lab, signal.SIGKILL), ""),
    "lab frozen": Fault(_stop_lab, "crumple-stopped"),
}


def spec(there: There) -> str:
    """The load, as one line."""
    golden = json.loads(SPEC.read_text(encoding="utf-8"))
    address = f"{there.link.addresses[0]}:{there.server.port}"
    golden["target"] |= {"address": address, "host": address}
    golden["requests"][0]["expect"] |= {"status": 200, "body_bytes": None, "body_sha256": None}
    stop = {"kind": "duration", "duration_s": LOAD_S}
    shape = {"kind": "closed", "connections": 4, "pause_ms": 4e3 / RATE_PER_S, "pause": "fixed"}
    probe = {"interval_ms": 100, "server_pid": None, "stages": False, "tasks": False, "dependencies": False}
    changed = {
        "shape": shape,
        "warm_up": None,
        "stop": stop,
        "begins": "told",
        "silence_s": 3.0,
        "threads": 1,
    }
    return TrialSpec.model_validate({**golden, **changed, "probe": probe}).model_dump_json()


def suffer(there: There, name: str) -> Suffered:
    """Put the load on, bring the fault about, and see what comes of it."""
    fault = FAULTS[name]
    words = [sys.executable, "-c", LAB, fault.where, str(there.engine), spec(there)]
    environment = {**os.environ, "PATH": there.shell.path, "PYTHONPATH": str(ROOT / "lab")}
    began_s = time.monotonic()
    if fault.is_before:
        if not there.host.run("sh", "-c", "ls ~/.cache/crumple || true").stdout:
            _sent(there, environment)
        fault.hurt(there, 0)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as lab:
        assert lab.stdout is not None
        first = lab.stdout.readline()
        if not fault.is_before:
            assert first == "loads\n", first
            assert other_hosts.at_last(lambda: there.server.last_s > began_s)
            time.sleep(LOADED_S)
            fault_s = time.monotonic()
            fault.hurt(there, lab.pid)
        else:
            fault_s = time.monotonic()
        gone_s = _gone(there, fault_s)
        while time.monotonic() < max(fault_s, there.server.last_s) + OVER_S:
            time.sleep(0.05)
        over_s, left = max(there.server.last_s - fault_s, 0.0), len(there.engines())
        ended = first if fault.is_before else lab.communicate(timeout=60)[0]
    fault.heal(there, lab.pid)
    _send(signal.SIGKILL, there.engines())
    said = json.loads(ended) if ended.strip() else {"how": "", "said": ""}
    return Suffered(said["how"], said["said"], over_s, gone_s, left)


def _sent(there: There, environment: dict[str, str]) -> None:
    """Have the engine sent there."""
    asks = LAB.replace("link.load(sys.argv[3])", "raise SystemExit")
    words = [sys.executable, "-c", asks, "loader", str(there.engine)]
    subprocess.run(words, env=environment, check=True)


def _gone(there: There, fault_s: float) -> float:
    """Wait until there is no engine, at most WITHIN_S; how long after the fault that was."""
    while there.engines() and time.monotonic() < fault_s + WITHIN_S:
        time.sleep(0.02)
    return time.monotonic() - fault_s
