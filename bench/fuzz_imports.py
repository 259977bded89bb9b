"""Does `crumple import` end every file with requests or with a sentence, and does its memory stay bounded?
Documents and lines of each format are changed at random and imported, both as that format and by their
structure.

    python bench/fuzz_imports.py --minutes 10

For each reader it prints how many files it tried, how many became requests, the longest time for one, and the
most memory. Exits 1 for a traceback, for an error of several lines, for a file that took longer than
SECONDS_MAX, or for more memory than MEMORY_MAX_MIB. The file is then kept, and named.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import options
from crumple.errors import CrumpleError
from crumple.importing import conversion
from crumple.load import request, request_file
from crumple.load.typed_request import TypedRequest

# Of CPU time, for a file of BYTES_MAX at most.
SECONDS_MAX, BYTES_MAX, MEMORY_MAX_MIB = 10.0, 256 << 10, 400

SENT = {
    "mimeType": "application/x-www-form-urlencoded",
    "params": [{"name": "a", "value": "b%5B"}],
    "text": "a=b",
}
ASKED = {
    "method": "POST", "url": "http://a/b?c=d#e", "headers": [{"name": "Content-Length", "value": "3"}],
    "bodySize": 3,
    "postData": SENT, "queryString": [{"name": "q", "value": "1 2"}],
    "cookies": [{"name": "s", "value": "t"}],
}  # fmt: skip
ANSWER = {
    "status": 200,
    "statusText": "OK",
    "_transferSize": 0,
    "content": {"size": 9},
    "_error": "net::ERR_ABORTED",
}
ENTRIES = [
    {"request": ASKED, "response": {"status": 200}},
    {"request": ASKED | {"method": "GET", "postData": {}}, "response": ANSWER, "_fetchType": "Disk Cache"},
]
HAR = {"log": {"version": "1.2", "entries": ENTRIES}}
ITEM = {
    "name": "n", "auth": {"type": "bearer"}, "event": [{"script": {"exec": ["a"]}}],
    "request": {
        "method": "POST", "header": [{"key": "A", "value": "{{v}}"}],
        "url": {"raw": "{{u}}/:id?q=1", "variable": [{"key": "id", "value": "1"}]},
        "body": {"mode": "raw", "raw": "{}", "urlencoded": [{"key": "a"}], "graphql": {"query": "{a}"}},
    },
}  # fmt: skip
POSTMAN = {
    "info": {"name": "n"}, "item": [{"name": "f", "item": [ITEM, ITEM]}, ITEM],
    "variable": [{"key": "u", "value": "http://a/{{v}}"}, {"key": "v", "value": "w"}],
}  # fmt: skip
LINE = '10.0.0.1 - - [21/Nov/2026:06:30:00 +0000] "GET /a?b=1 HTTP/1.1" 404 512 "-" "curl/8.0"\n'
LOGS = [
    LINE, f"web-1  | a.b:80 {LINE}", f"Nov 21 06:30:00 h nginx[1]: {LINE}", f"[pod/a/b] {LINE}",
    '{"request": {"method": "GET", "uri": "/a", "host": "b"}, "status": 200}\n',
    '{"log": "10.0.0.1 - - [a] \\"GET / HTTP/1.1\\" 200 5\\n", "stream": "stdout"}\n',
    '[2026-11-21T06:30:00Z] "GET /a HTTP/2" 404 - 154 0 226 100 "10.0.3.2" "ua" "id" "host" "10.0.2.1:80"\n',
    '10.0.1.2:33317 [21/Nov/2026:06:30:00.655] in static/srv1 10/0/30/69/109 404 2750 - - ---- 1/1/1/1/0 0/0 '
    '{a} {} "GET /a HTTP/1.1"\n',
    "http 2026-11-21T06:30:00.123456Z app/lb/5 192.0.2.1:2817 10.0.0.1:80 0.0 0.1 0.0 404 404 34 366 "
    '"GET http://a:80/a HTTP/1.1" "curl/8.0" - -\n',
    "#Fields: date cs-method cs-uri-stem cs-uri-query sc-status x-edge-location\n2026 GET /a b=1 200 L\n",
    'at=info method=GET path="/a" host=b status=200\n', '[{"method": "GET", "path": "/a"}, {"a": [1]}]',
]  # fmt: skip
OPENAPI = {
    "openapi": "3.0.0", "servers": [{"url": "http://a/v1"}],
    "paths": {"/a/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "example": 1}]}}},
}  # fmt: skip
TARGETS = "GET http://:8080/a\nX-A: b\n\nPOST http://a/b\n@/dev/null\n"
OTHER = [
    "openapi: 3.0.0\npaths: {/a: {get: {}}}\n", "import http from 'k6/http'\n",
    "### a\nGET http://{{a}}/b HTTP/1.1\n",
    "GET http://a/b\nHTTP 200\n[Asserts]\n", "config:\n  target: a\nscenarios: []\n",
    "<?xml?>\n<jmeterTestPlan/>",
]  # fmt: skip
SEEDS = {
    "har": [json.dumps(HAR), json.dumps(HAR, indent=1)],
    "access-log": LOGS,
    "postman": [json.dumps(POSTMAN), json.dumps({"collection": POSTMAN}, indent=1)],
    "vegeta": [TARGETS],
    "vegeta-json": ['{"method": "GET", "url": "http://a/", "header": {"A": ["b"]}, "body": "aGk="}\n'],
    "urls": ["http://a/b\n/c?d\n:80/e\n"],
    "openapi": [json.dumps(OPENAPI)],
}
# What is put between, beside pieces of all seeds.
PIECES = [
    b"{", b"}", b"[", b"]",
    b'"', b"\\", b"\n", b",", b":", b"\x00", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"1e400", b"-1",
    b"null", b"true", b'"log"', b'"entries"', b'"openapi"', b'"item"', b"{{a}}", b"{seq}", b"http://",
    b"://", b"%",
    b"[a] ", b'"GET / HTTP/1.1" 200 5',
    b"\x1b[31m", b"#Fields: ", b"\t", b" | ", b"&a ", b"*a", b"<<: ", b"\xef\xbb\xbf",
]  # fmt: skip


@dataclass
class Seen:
    """What became of the files for one reader."""

    tried: int = 0
    imported: int = 0
    longest_s: float = 0.0
    faults: int = 0


def main() -> None:
    arguments = parse()
    formats = options.words(arguments.formats)
    if len(formats) > 1:
        # Each in a process of its own, so that its memory is its own.
        own = ["--minutes", str(arguments.minutes), "--seed", str(arguments.seed)]
        sys.exit(max(called(["--formats", each, *own]) for each in formats))
    seen, memory_mib = tried(formats[0], arguments.minutes * 60, arguments.seed)
    print(
        f"{formats[0]}: {seen.tried:,} files, {seen.imported:,} became requests; "
        f"longest {seen.longest_s:.2f} s; most memory {memory_mib:.0f} MiB; {seen.faults} faults",
        flush=True,
    )
    sys.exit(1 if seen.faults or memory_mib > MEMORY_MAX_MIB else 0)


def called(flags: list[str]) -> int:
    """Call this script with these flags, and print what it does."""
    with subprocess.Popen([sys.executable, __file__, *flags], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
    return process.returncode


def parse() -> argparse.Namespace:
    made = options.parser(__doc__)
    made.add_argument("--minutes", type=float, default=10.0, help="for each format")
    made.add_argument("--formats", default=",".join(SEEDS))
    made.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    return options.parse(made, minutes=0.005)


def tried(format_: str, seconds: float, seed: int) -> tuple[Seen, float]:
    """Import files for so long; return what became of them, and the most memory in MiB."""
    rng, seen, end_s = random.Random(f"{seed} {format_}"), Seen(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end_s:
            content = changed(rng, format_)
            one(content, format_ if rng.random() < 0.5 else None, Path(folder), seen)
    # Not ru_maxrss, which a program takes over from the one that it replaces.
    (peak_kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return seen, int(peak_kib) / 1024


def changed(rng: random.Random, format_: str) -> bytes:
    """Return a file of a format with some changes."""
    every = [text.encode() for texts in SEEDS.values() for text in texts] + [text.encode() for text in OTHER]
    content = bytearray(b"".join(rng.choice(SEEDS[format_]).encode() for _ in range(rng.randint(1, 3))))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 9))):
        begin = rng.randrange(len(content) + 1)
        end = min(len(content), begin + rng.choice((1, 1, 4, 16, 200)))
        change = rng.randrange(6)
        if change == 0:
            del content[begin:end]
        elif change == 1:
            content[begin:begin] = rng.choice(PIECES)
        elif change == 2:
            other = rng.choice(every)
            at = rng.randrange(len(other))
            content[begin:end] = other[at : at + rng.choice((4, 40, 400))]
        elif change == 3 and begin < len(content):
            content[begin] = rng.randrange(256)
        elif change == 4:
            content[begin:begin] = bytes(content[begin:end]) * rng.choice((1, 3, 50, 1_000))
        elif change == 5 and rng.random() < 0.2:
            del content[begin:]
        del content[BYTES_MAX:]
    return bytes(content)


def one(content: bytes, named: str | None, folder: Path, seen: Seen) -> None:
    """Import one file. A fault is printed, and the file kept."""
    file, made = folder / "given", folder / "made.toml"
    file.write_bytes(content)
    began_s = time.process_time()
    why = ""
    try:
        found = conversion.convert(file, named, None, 100)
        seen.imported += 1
        made.write_bytes(found.toml("made.toml").encode())
        if any("\n" in line for line in found.summary()):
            why = "a line of the summary holds several"
    except CrumpleError as error:
        why = f"several lines: {error}" if "\n" in str(error) else ""
    except Exception:  # whatever it is, it is a fault
        why = traceback.format_exc()
    else:
        why = why or unread(made)
    took_s = time.process_time() - began_s
    seen.tried += 1
    seen.longest_s = max(seen.longest_s, took_s)
    if why or took_s > SECONDS_MAX:
        seen.faults += 1
        with tempfile.NamedTemporaryFile(prefix="crumple-fuzz-", delete=False) as kept:
            kept.write(content)
        print(f"{kept.name} (--from {named}), {took_s:.1f} s: {why}", flush=True)


def unread(made: Path) -> str:
    """Return what is wrong with a request file, unless it is a body's file that is not there."""
    try:
        request.make_all(request_file.read(made, TypedRequest(path="/")))
    except CrumpleError as error:
        return "" if "cannot read the body file" in str(error) else str(error)
    except Exception:  # whatever it is, it is a fault
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    main()
