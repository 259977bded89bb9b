"""A server in a thread of the test that does on each connection what its script says, over TCP or TLS."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator

Script = Callable[[socket.socket], None]


@contextlib.contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Play the script on every connection until the `with` ends; gives HOST:PORT."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        threading.Thread(target=_accept, args=(listener, script, tls), daemon=True).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, script: Script, tls: ssl.SSLContext | None) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_play, args=(connection, script, tls), daemon=True).start()


def _play(connection: socket.socket, script: Script, tls: ssl.SSLContext | None) -> None:
    with contextlib.suppress(OSError), connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is None:
            script(connection)
            return
        with tls.wrap_socket(connection, server_side=True) as secured:
            script(secured)


def asked(connection: socket.socket) -> bytes:
    """Read one request without a body; empty when the client has closed."""
    came = b""
    while not came.endswith(b"\r\n\r\n"):
        if not (piece := connection.recv(65_536)):
            return b""
        came += piece
    return came


def answering(answer: bytes, *, closes: bool = False) -> Script:
    """A script that answers each request with these bytes. `closes`: it closes after the first."""

    def script(connection: socket.socket) -> None:
        while asked(connection):
            connection.sendall(answer)
            if closes:
                return

    return script


def reset(connection: socket.socket) -> None:
    """Let the connection end with a reset when it is closed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
