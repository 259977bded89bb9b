"""How long does it take from Enter to the first request, to the end of the help, and from a Tab to its words?
`crumple load URL -n 1` on a terminal is timed from its start to the first byte that the server sees;
`crumple --help`, and what a shell calls at a Tab, to their ends.

    python bench/start.py --rounds 20

The start is warm: the program has run before, so its files are in memory and the machine's facts are known.
The medians over the rounds are judged, by their intervals. Exits 1 if one is above its bound.
"""

import argparse
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import load
import options
import terminal
from bounds import Bounds, run, skip
from crumple.machine import load_machine
from intervals import median_interval

FIRST_REQUEST_MAX_S = 0.5
HELP_MAX_S = 0.25
TAB_MAX_S = 0.1
# Done; and done, but not valid: one request may be too few to tell, which does not matter here.
MEASURED = (0, 3)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


def main() -> None:
    arguments = parse()
    if not terminal.CRUMPLE.is_file():
        skip(f"no crumple beside {sys.executable} (to install: {terminal.INSTALL})")
    bounds = Bounds(judging=not arguments.shortest)
    with server() as (address, came_s):
        if not arguments.shortest:
            first_request_s(address, came_s)
            tab_s()
        took_s = [(first_request_s(address, came_s), help_s(), tab_s()) for _ in range(arguments.rounds)]
    requests_s, helps_s, tabs_s = zip(*took_s, strict=True)
    for what, until, each_s, most_s in (
        ("crumple load URL -n 1", "first request", requests_s, FIRST_REQUEST_MAX_S),
        ("crumple --help", "end", helps_s, HELP_MAX_S),
        ("a Tab after crumple verify", "end", tabs_s, TAB_MAX_S),
    ):
        interval = median_interval(each_s)
        print(
            f"{what}, {arguments.rounds} rounds: {until} after {interval.estimate:.2f} s "
            f"({interval.low:.2f} to {interval.high:.2f}, 95 % interval)   "
            f"{bounds.at_most(f'Enter to the {until} of {what}', interval, most_s, ' s')}"
        )
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 15)
    return options.parse(parser, rounds=1)


def first_request_s(address: str, came_s: list[float]) -> float:
    """One load. Raises LoadError if it fails, or if the server saw nothing."""
    came_s.clear()
    said = terminal.call("load", f"http://{address}/", "-n", "1", "--no-store")
    if said.code not in MEASURED or not came_s:
        raise load.LoadError(f"crumple load ended with {said.code}: {said.screen[-300:].strip()}")
    return came_s[0] - said.entered_s


def help_s() -> float:
    """The help of all commands, once. Raises LoadError if it fails."""
    said = terminal.call("--help")
    took_s = time.monotonic() - said.entered_s
    if said.code:
        raise load.LoadError(f"crumple --help ended with {said.code}: {said.screen[-300:].strip()}")
    return took_s


def tab_s() -> float:
    """What may follow `crumple verify`, once. Raises LoadError if it fails."""
    began_s = time.monotonic()
    done = subprocess.run(
        [terminal.CRUMPLE, "--complete", "bash", "verify", ""], capture_output=True, text=True, check=False
    )
    took_s = time.monotonic() - began_s
    if done.returncode or not done.stdout:
        raise load.LoadError(f"crumple --complete ended with {done.returncode}: {done.stderr[-300:].strip()}")
    return took_s


@contextmanager
def server() -> Iterator[tuple[str, list[float]]]:
    """A server in this process. Yields its address, and the times of the first bytes of all connections."""
    came_s: list[float] = []
    with socket.create_server((load_machine.HOST, 0)) as listener:
        threading.Thread(target=_accept, args=(listener, came_s), daemon=True).start()
        yield f"{load_machine.HOST}:{listener.getsockname()[1]}", came_s
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, came_s: list[float]) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:  # The listener was closed.
            return
        threading.Thread(target=_answer, args=(peer, came_s), daemon=True).start()


def _answer(peer: socket.socket, came_s: list[float]) -> None:
    """Serves one connection. A request is short, so it comes in one piece."""
    with peer:
        if not peer.recv(65536):
            return
        came_s.append(time.monotonic())
        peer.sendall(ANSWER)
        while peer.recv(65536):
            peer.sendall(ANSWER)


if __name__ == "__main__":
    run(main)
