"""The other load generators as tests call them: with the same words as `crumple load --like` takes.

A tool that is not installed skips the test, with the reason.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from crumple.habits.tools import TOOLS

SCRIPT = "import http from 'k6/http';\nexport default function () { http.get(__ENV.TARGET); }\n"
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Peer:
    """One tool, and words for it.

    `bare`: its default load, ended within a second; `few`: two requests; `some`: seven requests of three
    connections; both empty where it takes no number; `short`: a second of four connections. `says`: what it
    prints of answers of status 500. `body`: it then sends the three bytes of the file BODY.
    """

    name: str
    bare: tuple[str, ...]
    few: tuple[str, ...]
    some: tuple[str, ...]
    short: tuple[str, ...]
    says: str
    insecure: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    help_on_timeout: str = ""

    def installed(self) -> str:
        """Return the program; skips where it is not."""
        found = shutil.which(self.name)
        if found is None:
            pytest.skip(f"{self.name} is not installed")
        # Debian has a game that is called bombardier.
        if self.name == "bombardier" and "HTTP" not in self.help(found):
            pytest.skip(f"{found} is another program of this name")
        return found

    def help(self, program: str) -> str:
        """Return its help."""
        words = {"vegeta": ["attack", "-h"], "ab": ["-h"], "hey": ["-h"], "k6": ["run", "-h"]}.get(
            self.name, ["--help"]
        )
        ended = subprocess.run([program, *words], capture_output=True, text=True, timeout=20, check=False)
        return ended.stdout + ended.stderr

    def run(self, words: Sequence[str], url: str, folder: Path) -> str:
        """Run it and return what it prints."""
        program = self.installed()
        call = [program, *TOOLS[self.name].command.split()[1:], *words]
        environment, given = dict(os.environ), None
        if self.name == "vegeta":
            given = f"GET {url}\n".encode()
        elif self.name == "k6":
            (folder / "script.js").write_text(SCRIPT)
            environment["TARGET"] = url
            call += ["--no-usage-report", "--no-color", str(folder / "script.js")]
        else:
            call.append(url)
        sent = subprocess.run(
            call, input=given, capture_output=True, env=environment, cwd=folder, timeout=60, check=False
        )
        if self.name == "vegeta":
            report = [program, "report"]
            sent = subprocess.run(report, input=sent.stdout, capture_output=True, timeout=60, check=False)
        return _COLOURS.sub(b"", sent.stdout + sent.stderr).decode(errors="replace")


SEVEN = ("-n", "7", "-c", "3")
PEERS = (
    Peer("wrk", ("-d", "1s"), (), (), ("-d", "1s", "-c", "4"), r"Non-2xx or 3xx responses: \d+"),
    Peer(
        "ab", (), ("-n", "2"), SEVEN, ("-t", "2", "-c", "4"), r"Failed requests:\s+0\n",
        body=("-p", "BODY"), help_on_timeout=r"-s timeout[^-]*Default is 30 seconds",
    ),
    Peer(
        "hey", (), ("-n", "2", "-c", "1"), SEVEN, ("-z", "1s", "-c", "4"), r"\[500\]\s+2 responses",
        body=("-d", "abc"), help_on_timeout=r"-t  Timeout for each request in seconds\. Default is 20",
    ),
    Peer(
        "oha", (), ("-n", "2"), SEVEN, ("-z", "1s", "-c", "4"), r"Success rate:\s+100\.00%",
        ("--insecure",), ("-d", "abc"), "Default to infinite",
    ),
    Peer(
        "k6", (), ("-i", "2"), ("--vus", "3", "--iterations", "7"), ("--vus", "4", "--duration", "1s"),
        r"http_req_failed\W+100\.00%", ("--insecure-skip-tls-verify",),
    ),
    Peer(
        "vegeta", ("-duration=500ms",), (), (), ("-duration=1s", "-rate=4"), r"Success\s+\[ratio\]\s+0\.00%",
        ("-insecure",), help_on_timeout=r"-timeout duration\s+[^\n]*default 30s",
    ),
    Peer(
        "bombardier", ("-d", "1s"), ("-n", "2"), SEVEN, ("-d", "1s", "-c", "4"),
        r"5xx - 2\n\s+others - 0\n\s+Throughput", ("-k",), ("-b", "abc"), "--timeout=2s",
    ),
    Peer(
        "autocannon", ("-d", "1"), ("-a", "2", "-c", "1"), ("-a", "7", "-c", "3"), ("-d", "1", "-c", "4"),
        "2 non 2xx responses", body=("-b", "abc"), help_on_timeout=r"-t/--timeout NUM\s+[^\n]*default: 10",
    ),
    Peer(
        "h2load", (), ("-n", "2"), SEVEN, ("-D", "1", "-c", "4"), "2 failed, 0 errored",
        body=("-d", "BODY"), help_on_timeout=r"keep a\s+connection open\s+indefinitely",
    ),
)  # fmt: skip
