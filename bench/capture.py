"""Is the engine's service time that of the wire? The script compares it with a packet capture of the same
load on loopback, at half of what the server can take. In the capture, a service time runs, for each
connection, from the first segment of a request to the last segment of its answer.

    python bench/capture.py --rounds 5

With the kernel's receive timestamps, median and p99 of both must agree within 10 µs. Loads without these
timestamps are shown for comparison. The median over the rounds is judged, by its interval. The script needs
tcpdump or dumpcap (from tshark) and the right to capture. Exits 1 if the two are further apart.
"""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import load
import options
import pcap
import targets
from bounds import Bounds, run, skip
from crumple import contract
from crumple.record import histogram
from intervals import median_interval

APART_AT_MOST_US = 10
# The least share of the requests that the engine counted. If there are fewer, packets were lost.
PAIRED_AT_LEAST = 0.999
QUANTILES = {"median": 0.5, "p99": 0.99}
# Link, internet and TCP headers with every option. The payload is only counted.
HEADER_BYTES = 128
BUFFER_MIB = 256
WARM_UP_S = 1.0
INSTALL = "apt-get install tcpdump"


class CaptureRefusedError(Exception):
    """The capturing program refused. The text is its reason."""


@dataclass(frozen=True)
class Compared:
    """One load: quantile → service time by engine and by capture, in µs; the share of paired requests."""

    engine_us: dict[str, float]
    capture_us: dict[str, float]
    paired: float

    def apart_us(self, quantile: str) -> float:
        return self.engine_us[quantile] - self.capture_us[quantile]


def main() -> None:
    arguments = parse()
    if not (shutil.which("tcpdump") or shutil.which("dumpcap")):
        skip(f"neither tcpdump nor dumpcap is installed (to install: {INSTALL})")
    bounds = Bounds(judging=not arguments.shortest)
    servers = targets.installed()
    try:
        for name in list(servers)[: 1 if arguments.shortest else None]:
            with servers[name](arguments.server_core) as address:
                compare(name, address, arguments, bounds)
    except CaptureRefusedError as error:
        skip(f"no capture on loopback: {error} (it needs root)")
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 6, 3.0)
    options.cores(parser)
    parser.add_argument("--connections", type=int, default=64)
    return options.parse(parser, rounds=1, seconds=1.0, connections=4)


def compare(name: str, address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Finds the most that the server can take, runs the rounds at half of it, and prints the table."""
    seconds = min(2.0, arguments.seconds)
    at_most = load.with_engine(
        load.spec(address, load.closed(arguments.connections), seconds, arguments.load_core)
    )
    rate_per_s = at_most.throughput_per_s / 2
    seen: dict[str, list[Compared]] = {"kernel": [], "engine": []}
    for number, clock in enumerate(load.interleaved(seen, arguments.rounds)):
        spec = load.spec(
            address,
            load.poisson(rate_per_s, arguments.connections, arguments.seconds),
            arguments.seconds,
            arguments.load_core,
            warm_up_s=min(WARM_UP_S, arguments.seconds),
            kernel_timestamps=clock == "kernel",
            seed=number,
        )
        seen[clock].append(once(spec, arguments.server_core))
    print(
        f"\n{name}, Poisson, {rate_per_s:,.0f} requests/s (half of what it takes) on {arguments.connections} "
        f"connections, {arguments.rounds} rounds of {arguments.seconds:g} s; service time in µs"
    )
    print(f"{'arrivals by':14}{'':10}{'engine':>10}{'capture':>10}{'apart':>10}")
    for clock, rounds in seen.items():
        for q in QUANTILES:
            print(line(name, clock, q, rounds, bounds), flush=True)
    paired = min(compared.paired for rounds in seen.values() for compared in rounds)
    print(f"requests in the capture: at least {paired:.2%} of those the engine counted")
    if paired < PAIRED_AT_LEAST:
        bounds.miss(f"packets captured, {name}")


def line(name: str, clock: str, quantile: str, rounds: list[Compared], bounds: Bounds) -> str:
    engine_us = load.middle([compared.engine_us[quantile] for compared in rounds])
    capture_us = load.middle([compared.capture_us[quantile] for compared in rounds])
    apart = median_interval([compared.apart_us(quantile) for compared in rounds])
    word = ""
    if clock == "kernel":
        where = f"{quantile} against the capture, {name}"
        word = bounds.within(where, apart, -APART_AT_MOST_US, APART_AT_MOST_US, " µs")
    row = f"the {clock:10}{quantile:10}{engine_us:10.1f}{capture_us:10.1f}{apart.estimate:+10.1f}"
    return f"{row}  ({apart.low:+.1f} to {apart.high:+.1f})   {word}".rstrip()


def once(spec: contract.TrialSpec, core: int) -> Compared:
    """One load, while all packets of the server's port are captured on `core`."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "load.pcap"
        port = int(spec.target.address.rsplit(":", 1)[1])
        with capture(file, port, core):
            record, _ = load.measured(spec)
        times_ns = pcap.service_times_ns(file, port, *measured_phase(record))
    if not times_ns:
        raise load.LoadError("the capture holds no answer of the measured phase")
    assert record.histograms.service_time is not None  # An open shape has it.
    engine = histogram.decode(record.histograms.service_time.encoded)
    return Compared(
        {name: engine.quantile_ns(q) / 1e3 for name, q in QUANTILES.items()},
        {name: times_ns[int(q * (len(times_ns) - 1))] / 1e3 for name, q in QUANTILES.items()},
        len(times_ns) / record.outcomes.ok,
    )


def measured_phase(record: contract.TrialRecord) -> tuple[int, int]:
    """Beginning and end of the measured phase in ns, by the wall clock, which a capture uses."""
    begins_ns = record.began_unix_ns + record.warm_up_ns
    return begins_ns, begins_ns + record.measured_ns


def _apart(core: int) -> None:
    os.sched_setaffinity(0, {core})
    os.nice(10)


@contextmanager
def capture(file: Path, port: int, core: int) -> Iterator[None]:
    """Captures the headers of one port on loopback. Raises CaptureRefusedError if that is not allowed."""
    says = file.with_suffix(".said")
    with says.open("w") as told:
        # The capture writes its buffer when it gets CPU time, as it must not disturb the server.
        process = subprocess.Popen(
            command(file, port),
            stdout=subprocess.DEVNULL,
            stderr=told,
            preexec_fn=partial(_apart, core),
        )
        try:
            while not any(word in says.read_text() for word in ("File:", "listening on")):
                if process.poll() is not None:
                    raise CaptureRefusedError((says.read_text().strip().splitlines() or ["it ended"])[-1])
                time.sleep(0.05)
            yield
            await_written(file)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def command(file: Path, port: int) -> list[str]:
    if shutil.which("tcpdump"):
        precise = ["--time-stamp-precision=nano", "-B", str(BUFFER_MIB * 1024)]
        return ["tcpdump", "-i", "lo", "-s", str(HEADER_BYTES), *precise, "-w", str(file), f"tcp port {port}"]
    # -P: write pcap and not pcapng.
    sized = ["-s", str(HEADER_BYTES), "-B", str(BUFFER_MIB)]
    return ["dumpcap", "-q", "-P", "-i", "lo", *sized, "-w", str(file), "-f", f"tcp port {port}"]


def await_written(file: Path) -> None:
    """Waits until the file has not grown for a second."""
    size, seen_at = -1, time.monotonic()
    while time.monotonic() - seen_at < 1.0:
        now = file.stat().st_size
        if now != size:
            size, seen_at = now, time.monotonic()
        time.sleep(0.1)


if __name__ == "__main__":
    run(main)
