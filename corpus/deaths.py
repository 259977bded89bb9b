#!/usr/bin/env python3
"""Does any figure rest on requests that a lost server did not answer, and is the cause named?

A server in Python (lab/tests/helpers/dying_servers.py) is lost in each way, at each time, under each
of four verbs. For each the script prints "ok", or what is wrong with what crumple said. `--verbs`,
`--ways` and `--times` select some. All of them take some forty minutes.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "lab" / "tests" / "helpers"))

import dying_servers  # noqa: E402  (it lies with the tests)
from dying_servers import WAYS  # noqa: E402

# When the server is lost, in seconds after its first request; "idle": between two loads; -1: before all.
TIMES = {
    "load": {"before": "-1", "warm-up": "0.4", "measured": "1.8", "last 10 %": "2.7"},
    "find": {
        "before": "-1",
        "warm-up": "0.6",
        "guess": "2.5",
        "level": "5.0",
        "late": "8.5",
        "between": "idle:4",
    },
    "versus": {"before": "-1", "calibrated": "0.8", "turn": "6.5", "late": "18", "between": "idle:5"},
    "diagnose": {"before": "-1", "first": "0.3", "loads": "3", "late": "8", "between": "idle:2"},
}
WITHIN_S = 150.0


def main() -> int:
    """Try all that was asked for; return 1 if anything is wrong."""
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--verbs", default=",".join(TIMES), help="of load, find, versus, diagnose")
    read.add_argument("--ways", default=",".join(WAYS), help="how the server is lost")
    read.add_argument("--times", default="", help="when it is lost; empty: always")
    asked = read.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for verb in asked.verbs.split(","):
            for how in asked.ways.split(","):
                for when, at in TIMES[verb].items():
                    if asked.times and when not in asked.times.split(","):
                        continue
                    if how == "crawls" and at.startswith("-"):
                        continue  # It is slow from the beginning, and not lost.
                    found = tried(verb, how, at, Path(folder))
                    wrong += bool(found)
                    print(f"{verb:9} {how:16} {when:10} {'; '.join(found) or 'ok'}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


def tried(verb: str, how: str, at: str, folder: Path) -> list[str]:
    """Let the verb meet a server that is lost so; return what is wrong with what it says."""
    with dying_servers.serving("lives") as other, dying_servers.serving(how, at) as served:
        words = [sys.executable, "-m", "crumple", *dying_servers.words(verb, served.url, other.url)]
        ran = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "CRUMPLE_RUNS": str(folder), "XDG_CACHE_HOME": str(folder)},
        )
    was_up = not at.startswith("-")
    return dying_servers.faults(verb, WAYS[how], ran.returncode, ran.stdout, ran.stderr, was_up=was_up)


if __name__ == "__main__":
    sys.exit(main())
