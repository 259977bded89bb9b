"""Writes h11_readings.json: how h11, which follows the standard to the letter, reads the stored corpus.

Run it when files were added to the corpus: uv run --with h11==0.16.0 engine/tests/parser/h11_readings.py
"""

import json
from pathlib import Path

import h11

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "fuzz" / "corpus" / "named"
LONGEST_HEAD_BYTES = 64 * 1024
END_OF_STREAM = ("peer closed", "peer unexpectedly closed", "can't handle event type ConnectionClosed")


def read(answer: bytes, method: str) -> list[str | int]:
    """The status and body of the answer as `["whole", status, body]`, or `["cut-short"]`, or
    `["malformed"]`."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=LONGEST_HEAD_BYTES)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "peer.test")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(answer)
    status, body = 0, b""
    try:
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            match event:
                case h11.Response():
                    status = event.status_code
                case h11.Data():
                    body += event.data
                case h11.NEED_DATA:
                    connection.receive_data(b"")
    except h11.RemoteProtocolError as error:
        return ["cut-short" if str(error).startswith(END_OF_STREAM) else "malformed"]
    return ["whole", status, body.decode("latin-1")]


def main() -> None:
    lines = []
    for file in sorted(CORPUS.iterdir()):
        readings = {method: read(file.read_bytes(), method) for method in ("GET", "HEAD")}
        lines.append(f"{json.dumps(file.name)}: {json.dumps(readings)}")
    (HERE / "h11_readings.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
