"""Adds a server to those whose observations are stored among the tests.

    crumple diagnose URL --json > seen.json
    python corpus/store.py seen.json --name shop-puma --cause gate --framework Puma --runtime Ruby

`--cause` is what limits it: say it before you look at the answer, and once more for each that is as right.
`--report`: the public report of an incident that it was rebuilt from. What names this machine, its files and
other programs on it is taken out. Then: make judged.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "tests" / "helpers"))

import stored_servers
from crumple.errors import CrumpleError
from crumple.limit.finding import Cause

# An address of a socket of the server's own machine, or of another.
ADDRESS = re.compile(r"unix:[^\s;,)\x22]+|\b\d{1,3}(?:\.\d{1,3}){3}:\d+\b|\[[0-9a-f:]+\]:\d+")
# Who else used the machine, by name.
OTHERS = re.compile(r"other programs \(.*?\) took")
FIRST_PORT = 9001


def scrubbed(observed: dict[str, Any]) -> dict[str, Any]:
    """Return what was observed, without names of this machine: addresses are numbered."""
    text = OTHERS.sub("other programs took", json.dumps(observed, ensure_ascii=False))
    for at, address in enumerate(dict.fromkeys(ADDRESS.findall(text))):
        other = f"unix:/run/{at + 1}.sock" if address.startswith("unix:") else f"127.0.0.1:{FIRST_PORT + at}"
        # No address is found in what was put in for another.
        text = re.sub(rf"{re.escape(address)}(?!\d)", other.replace(":", "\0"), text)
    found: dict[str, Any] = json.loads(text.replace("\0", ":"))
    return found


def paths_in(value: object) -> Iterator[str]:
    """The texts in a JSON value that look like the path of a file, but for sockets."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths_in(key)
            yield from paths_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from paths_in(each)
    elif isinstance(value, str) and re.search(
        r"(?<!unix:)/(home|root|tmp|work|usr|var|opt|srv|proc)/", value
    ):
        yield value


def observed_in(document: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored of the JSON of a diagnosis, or of an answer that confusion.py stored."""
    said = document.get("said", document)
    if not said or said.get("observed") is None or said.get("facts") is None:
        raise CrumpleError("it holds no load beyond the limit: store the JSON of a diagnosis that has one")
    if disturbed := said["facts"]["beyond"]["disturbed"]:
        raise CrumpleError(f"its load was disturbed: {disturbed}; diagnose it again on a calm machine")
    observed = scrubbed({"observed": said["observed"], "facts": said["facts"]})
    if found := next(paths_in(observed), None):
        raise CrumpleError(f"a path of this machine is left in it: {found!r}; replace it by another name")
    return observed


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path, help="the JSON of the diagnosis")
    parser.add_argument("--name", required=True)
    parser.add_argument("--cause", required=True, action="append", choices=get_args(Cause))
    parser.add_argument(
        "--framework", required=True, help="what is left out as a whole where weights are fitted"
    )
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--report", default="", help="OWNER/NAME#NUMBER; without it, the cause was planted")
    asked = parser.parse_args()
    try:
        observed = observed_in(json.loads(asked.file.read_text(encoding="utf-8")))
    except (OSError, ValueError, CrumpleError) as error:
        print(f"{asked.file}: {error}", file=sys.stderr)
        return 1
    truth = {"causes": asked.cause, "framework": asked.framework, "runtime": asked.runtime}
    truth["source"] = "incident" if asked.report else "planted"
    if asked.report:
        truth["report"] = asked.report
    stored_servers.write(
        {**stored_servers.read_truths(), asked.name: truth},
        {**stored_servers.read_observed(), asked.name: observed},
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
