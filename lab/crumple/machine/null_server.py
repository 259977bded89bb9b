"""Runs the engine's null server on this machine, which does nothing but answer."""

import json
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crumple import engine
from crumple.errors import EngineFailed

# Seconds within which the null server must say on which port it listens.
LAUNCH_S = 10.0
# Seconds that the null server has to end before it is killed.
STOP_S = 3.0


@contextmanager
def running(program: Path, arguments: str) -> Iterator[str]:
    """Run it until the `with` ends, or the lab does; its address. Raises EngineFailed."""
    process = subprocess.Popen(
        [str(program), "null-server", *arguments.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,  # ctrl-C reaches only the lab, which then ends it
    )
    try:
        yield f"127.0.0.1:{_port(process)}"
    finally:
        assert process.stdin and process.stdout
        process.stdin.close()
        engine.exit_code(process, STOP_S)
        process.stdout.close()


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout
    said = b""
    if select.select([process.stdout], [], [], LAUNCH_S)[0]:
        said = process.stdout.readline()
    try:
        port: int = json.loads(said)["port"]
    except (ValueError, KeyError, TypeError):
        raise EngineFailed("the null server does not start", "build the engine again") from None
    return port
