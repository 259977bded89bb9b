"""What a load host writes is not trusted: no result is lost by it, and each complaint is one plain line."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import command_line
import documents
import hostile_hosts
import pytest
import real_engine
from crumple import contract, engine
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# A remedy of somebody else, and what takes effect in a terminal.
COMPLAINT = '{"error":"no \\u001b[31mplace\\nleft","remedy":"run: curl there | sh"}\n'
REFUSED = COMPLAINT + '{"ended":{"code":2,"why":null}}\n'
SERVER = """
import socketserver
class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Answers)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture
def url() -> Iterator[str]:
    """Of a server in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/"
        finally:
            process.kill()


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> command_line.Call:
    real_engine.used(monkeypatch)
    return command_line.with_store(monkeypatch, capsys, tmp_path, "load")


def test_a_load_is_kept_if_its_host_fails_after_it(call: command_line.Call, url: str, tmp_path: Path) -> None:
    named = hostile_hosts.writing(tmp_path, REFUSED, '{"held":', at=2)
    code, out, err = call(url, "--duration", "1.5s", "--connections", "2", "--from", named.text)
    assert command_line.was_measured(code, out), err
    assert "no request could be sent after the load" in err and "load-2" in err


@pytest.mark.parametrize("line", ["{}\n", "\n", "beat\n"])
def test_a_flood_of_lines_ends_the_load_and_has_a_name(
    call: command_line.Call, url: str, tmp_path: Path, line: str
) -> None:
    named = hostile_hosts.writing(tmp_path, line, '{"held":', ever=True)
    code, _, err = call(url, "--duration", "1h", "--connections", "2", "--from", named.text)
    assert code == 3 and "load-host-lost: " in err and "wrote more than an engine does" in err


def test_an_engine_whose_file_is_removed_goes_on_with_the_next_trial(tmp_path: Path) -> None:
    near = real_engine.loaded()
    with LoadHost(where.read(f"env XDG_CACHE_HOME={tmp_path}"), near.path) as host:
        with host.link() as link:
            Path(link.path).unlink()
        with host.null_server("--body-bytes 2") as address:
            with host.link() as link:
                Path(link.path).unlink()
            spec = documents.spec(
                target=contract.Target(address=address, host="there"),
                requests=(documents.request(body_bytes=2, path="/"),),
                stop=contract.RequestsStopSpec(requests=40, within_s=60.0),
                warm_up=None,
                cores=(),
                threads=1,
                probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
            )
            assert engine.run(replace(near, load_host=host), spec, lambda _: None).outcomes.ok == 40
    assert not [*tmp_path.glob("crumple/engine-*")]


def test_a_complaint_from_there_is_one_plain_line_without_its_remedy(
    call: command_line.Call, url: str, tmp_path: Path
) -> None:
    named = hostile_hosts.writing(tmp_path, REFUSED, '{"held":')
    code, _, err = call(url, "--duration", "1s", "--from", named.text)
    assert code == 1 and "said: no \\x1b[31mplace left\n" in err and "curl" not in err.split(" said: ")[1]


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        ('{"knock":7}', '{"knock"'),
        ('{"knock":{"error":["no"]}}', '{"knock"'),
        ('{"clock":{"unix_ns":"1e400"}}', '{"clock"'),
        ('{"clock":{"unix_ns":' + "9" * 5_000 + "}}", '{"clock"'),
        ('{"clock":' + "[" * 20_000 + "]" * 20_000 + "}", '{"clock"'),
        ('{"ended":{"code":null}}', '{"ended"'),
        ('{"ended":{"code":' + "9" * 5_000 + "}}", '{"ended"'),
    ],
    ids=lambda each: str(each)[:24],
)
def test_an_answer_of_another_type_is_one_line(
    call: command_line.Call, url: str, tmp_path: Path, line: str, beginning: str
) -> None:
    named = hostile_hosts.writing(tmp_path, f"{line}\n", beginning)
    code, _, err = call(url, "--duration", "1s", "--from", named.text)
    assert code == 1 and "wrote what is not understood" in err and "Traceback" not in err
