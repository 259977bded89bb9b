"""What --curl sends is what bash and curl send, for a thousand commands.

Each is run against a server on loopback, and what arrives is compared.

A load's request is rendered as the engine lays it out; `test_curl_command` sends some with the engine.
"""

import re
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import curl_commands
import pytest
from crumple.errors import UsageError
from crumple.experiment import request_bytes
from crumple.load import load_plan
from crumple.load.load_flags import LoadFlags
from crumple.typed import curl_command, curl_here, curl_options

pytestmark = [
    pytest.mark.starts,
    pytest.mark.parallel,
    pytest.mark.skipif(shutil.which("curl") is None, reason="compares with curl, which is not installed"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="runs commands in bash, which is not installed"),
]
# Of the commands of which curl makes one request, at least these are asked the same; the others are refused.
LEAST_SAME = 0.97
# A method that foresees a body has a length here, also without one (docs/load.md).
FORESEES = (b"POST", b"PUT", b"PATCH")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Recorder:
    """A server that keeps the bytes of what it is asked."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.asked: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    self.asked.append(self._read(connection))
                    connection.sendall(ANSWER)
                except OSError:
                    continue

    def _read(self, connection: socket.socket) -> bytes:
        text = b""
        while b"\r\n\r\n" not in text:
            text += _more(connection)
        head, _, body = text.partition(b"\r\n\r\n")
        if b"100-continue" in head:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head)
        while len(body) < (int(length[1]) if length else 0):
            body += _more(connection)
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        self._listener.close()


def _more(connection: socket.socket) -> bytes:
    read = connection.recv(65_536)
    if not read:
        raise ConnectionResetError
    return read


def _alike(asked: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return the request line, the sorted headers and the body, without what may differ."""
    head, _, body = asked.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    if separator := re.search(rb"; boundary=([\w-]{40})(?:\r\n|$)", head):
        body = body.replace(separator[1], b"SEPARATOR")
        headers = [each.replace(separator[1], b"SEPARATOR") for each in headers]
    left_out = {b"Expect: 100-continue"}
    if line.split(b" ")[0] in FORESEES and not body:
        left_out.add(b"Content-Length: 0")
    stripped = [re.sub(rb":[ \t]*(.*?)[ \t]*$", rb": \1", each, count=1) for each in headers]
    return line, sorted(each for each in stripped if each not in left_out), body


def _by_curl(command: str, recorder: Recorder) -> list[bytes]:
    """Return what curl asks when bash runs the command."""
    del recorder.asked[:]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    subprocess.run(
        ["bash", "-c", f"{command}\nwait"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    return list(recorder.asked)


def _by_load(command: str) -> tuple[bytes, bool]:
    """Return what a load asks, and whether it says that it asks otherwise. Raises UsageError."""
    curl = curl_command.command(command, curl_here.installed_curl())
    flags = curl_command.beside(LoadFlags(no_watch=True), curl, "load")
    (request,) = (plan := load_plan.plan(curl.url, flags)).spec.requests
    return request_bytes.whole(plan.spec.target.host, request), any(
        "beyond ASCII" in each for each in curl.notes
    )


def compared(commands: Sequence[str], recorder: Recorder) -> tuple[Counter[str], list[str]]:
    """Return how many commands came to what, and those that are asked differently."""
    counts: Counter[str] = Counter()
    different = []
    for command in commands:
        host = f"127.0.0.1:{recorder.port}"
        text = (
            command.replace("URL", f"http://{host}/")
            .replace("HOST", host)
            .replace("PORT", str(recorder.port))
        )
        # A load is asked first: the command may write files, of which it is not to see the new text.
        curl_commands.write_files(Path.cwd())
        try:
            by_load, is_said = _by_load(text)
        except UsageError as mistake:
            by_curl = _by_curl(text, recorder)
            assert str(mistake).count("\n") == 0, mistake
            counts["refused" if len(by_curl) == 1 else "refused, as no or several requests"] += 1
            if len(by_curl) == 1:
                different.append(f"refused: {command}\n    {mistake}")
            continue
        # Where others use up what a connection needs, curl may ask nothing.
        by_curl = _by_curl(text, recorder) or _by_curl(text, recorder)
        if len(by_curl) == 1 and _alike(by_curl[0]) == _alike(by_load):
            counts["same"] += 1
        elif is_said:
            counts["said"] += 1
        else:
            counts["different"] += 1
            different.append(f"different: {command}\n    {by_curl}\n    {by_load!r}")
    return counts, different


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    monkeypatch.chdir(tmp_path)
    made = Recorder()
    yield made
    made.close()


KINDS = {
    "generated": curl_commands.generated(bases=2, pairs=100),
    "pasted": curl_commands.whole("pasted"),
    "documented": curl_commands.whole("documented"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_load_asks_what_bash_and_curl_ask(kind: str, recorder: Recorder) -> None:
    counts, different = compared(KINDS[kind], recorder)
    said = "\n".join(different)
    print(f"{kind}: {dict(counts)}\n{said}")
    assert counts["different"] == 0, said
    assert counts["same"] >= LEAST_SAME * (counts["same"] + counts["said"] + counts["refused"]), said


def test_what_a_load_does_not_send_is_refused_in_a_sentence(recorder: Recorder) -> None:
    counts, different = compared(curl_commands.refused(), recorder)
    assert counts == {"refused": len(curl_commands.refused())}, "\n".join(different)


def test_every_option_of_this_curl_is_known() -> None:
    listed = subprocess.run(["curl", "--help", "all"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ *(?:-(\S), )?--(\S+)( [<\[])?", listed, re.MULTILINE)
    assert len(names) > 200
    for letter, name, has_value in names:
        option = curl_options._KNOWN.get(f"--{name}") or curl_options._KNOWN[f"--{name.removeprefix('no-')}"]
        assert (option.letter, option.has_value) == (letter, bool(has_value)), name


def test_the_comparison_sees_a_difference() -> None:
    asked = b"GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\nbody"
    assert _alike(asked) == _alike(
        b"GET /a HTTP/1.1\r\nA:  b \r\nHost: h\r\nExpect: 100-continue\r\n\r\nbody"
    )
    changes = ((b"/a", b"/b"), (b"A: b", b"a: b"), (b"body", b"bodx"), (b"A: b\r\n", b""))
    for other in (asked.replace(*change) for change in changes):
        assert _alike(other) != _alike(asked)
