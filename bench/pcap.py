"""Reads service times from a packet capture in the pcap format (pcap-savefile(5)) of TCP over IPv4 in
Ethernet frames, as on loopback. It reads only the headers of each packet, and captures nothing.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_HEADER, PACKET_HEADER = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
# The magic number says in what unit the fraction of a second is counted.
NS_PER_FRACTION = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}
ETHERNET = 1
ETHERNET_BYTES = 14


@dataclass(frozen=True)
class Segment:
    """A TCP segment that carries payload, and when it came by the wall clock."""

    at_ns: int
    source_port: int
    destination_port: int


def service_times_ns(file: Path, port: int, from_ns: int, to_ns: int) -> list[int]:
    """Service times, from the first segment of each request to `port` to the last of its answer, sorted.

    They are of requests that were sent since `from_ns` and answered until `to_ns`. An answer ends when the
    connection's next request begins, or at the end of the capture.
    """
    exchanges: list[tuple[int, int]] = []
    # By the client's port: when its request was sent, and when the last segment of the answer so far came.
    open_exchanges: dict[int, tuple[int, int | None]] = {}
    for segment in segments(file):
        if segment.source_port == port:
            client = segment.destination_port
            if client in open_exchanges:
                open_exchanges[client] = (open_exchanges[client][0], segment.at_ns)
            continue
        sent_ns, answered_ns = open_exchanges.get(segment.source_port, (segment.at_ns, None))
        if answered_ns is not None:
            exchanges.append((sent_ns, answered_ns))
            sent_ns = segment.at_ns
        open_exchanges[segment.source_port] = (sent_ns, None)
    exchanges += [(sent_ns, last_ns) for sent_ns, last_ns in open_exchanges.values() if last_ns is not None]
    return sorted(
        last_ns - sent_ns for sent_ns, last_ns in exchanges if from_ns <= sent_ns and last_ns <= to_ns
    )


def segments(file: Path) -> Iterator[Segment]:
    """The segments with payload, in the order of the file. Raises ValueError if it is no such capture."""
    data = file.read_bytes()
    magic, _, _, _, _, _, link = FILE_HEADER.unpack_from(data)
    if magic not in NS_PER_FRACTION or link != ETHERNET:
        raise ValueError(f"a capture of another kind: magic {magic:#x}, link type {link}")
    place = FILE_HEADER.size
    while place + PACKET_HEADER.size <= len(data):
        seconds, fraction, captured, _ = PACKET_HEADER.unpack_from(data, place)
        ip = place + PACKET_HEADER.size + ETHERNET_BYTES
        place += PACKET_HEADER.size + captured
        if place > len(data):
            return  # The capture ended within this packet.
        tcp = ip + 4 * (data[ip] & 0x0F)
        source_port, destination_port = struct.unpack_from(">HH", data, tcp)
        (ip_bytes,) = struct.unpack_from(">H", data, ip + 2)
        if ip_bytes > tcp - ip + 4 * (data[tcp + 12] >> 4):
            at_ns = seconds * 1_000_000_000 + fraction * NS_PER_FRACTION[magic]
            yield Segment(at_ns, source_port, destination_port)
