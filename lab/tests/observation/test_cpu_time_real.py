"""A server that computes in a function of a known name: its samples are found in that function."""

import json
import shutil
import subprocess
from pathlib import Path

import documents
import pytest
from crumple import contract, engine
from crumple.observation import cpu_time

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) unsigned compute_in_a_known_function(unsigned rounds) {
    volatile unsigned sum = 1;
    for (unsigned each = 0; each < rounds; each++) sum = sum * 31 + each;
    return sum;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char asked[65536];
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 8);
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("{\"port\": %d}\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int connection = accept(listener, 0, 0);
        while (read(connection, asked, sizeof asked) > 0) {
            compute_in_a_known_function(3000000);
            if (write(connection, answer, sizeof answer - 1) < 0) break;
        }
        close(connection);
    }
}
"""


def spent(folder: Path, *flags: str) -> cpu_time.CpuTime:
    """What a server that was compiled with these flags spends its CPU time on in a load of two seconds."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    program = folder / "computes"
    subprocess.run(
        [compiler, "-O1", "-x", "c", "-o", program, *flags, "-"], input=PROGRAM.encode(), check=True
    )
    process = subprocess.Popen([program], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        address = f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        expected = contract.ExpectSpec(status=200, body_bytes=5, body_sha256=None, hash_one_in=0)
        asked = documents.spec(
            target=contract.Target(address=address, host=address),
            requests=(documents.request(5, path="/", expect=expected),),
            shape=contract.ClosedShapeSpec(connections=1),
            warm_up=contract.WarmUpSpec(
                connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=1.5)
            ),
            stop=contract.DurationStopSpec(duration_s=0.5),
            cores=(),
            probe=contract.ProbeSpec(interval_ms=100, server_pid=process.pid, tasks=True),
        )
        record = engine.run(engine.load(ROOT), asked, lambda _: None)
    finally:
        process.kill()
        process.communicate()
    found = cpu_time.spent(record)
    assert found is not None
    if not found.samples:
        assert "perf_event" in found.why
        pytest.skip(found.why)
    return found


def test_the_function_that_computes_is_found(tmp_path: Path) -> None:
    found = spent(tmp_path)
    first = found.functions[0]
    assert (first.name, first.file) == ("compute_in_a_known_function", "computes")
    assert first.samples > 0.8 * found.samples
    assert [each.name for each in found.threads] == ["computes"]


def test_without_symbols_the_file_is_found_and_no_function(tmp_path: Path) -> None:
    found = spent(tmp_path, "-s")
    assert found.files[0].name == "computes" and found.files[0].samples > 0.8 * found.samples
    assert sum(each.named for each in found.files) < 0.2 * found.samples
    assert not any(each.file == "computes" for each in found.functions)
