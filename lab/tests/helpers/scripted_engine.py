"""A program that speaks as `crumple-engine serve` does: what its spec holds says how the trial goes."""

import json
from pathlib import Path

from crumple import release
from crumple.contract import CONTRACT_VERSION

ENGINE = """#!/bin/sh
over() { printf '{"ended":{"code":%s,"why":null}}\\n' "$1"; }
[ "$1" = --version ] && exit
while read -r line; do
  case "$line" in
    facts) echo '{"facts":@FACTS@}' ;;
    '"held"') echo '{"held":0}' ;;
    go) echo '{"elapsed_s":1}'; echo '{"record":{"kept":1}}'; over 0 ;;
    '"refused"') echo '{"error":"no such rate","remedy":"take another"}'; over 2 ;;
    unknown) echo '{"error":"this is no line","remedy":"take another"}' ;;
    '"flood"') tr '\\0' x </dev/zero ;;
    '"child killed"') over -9 ;;
    '"child stopped"') echo '{"error":"it wrote nothing for 3.0 s","remedy":""}'; over -9 ;;
    '"killed"') kill -KILL $$ ;;
    '"silent"') kill -STOP $$ ;;
  esac
done
"""


FACTS = {
    "engine_version": release.VERSION,
    "contract_version": CONTRACT_VERSION,
    "kernel": "6.1.0",
    "boot_id": "of another machine",
    "network_namespace": "net:[1]",
    "cpu_model": "A CPU",
    "cores": [0, 1, 2, 5],
    "physical_cores": [[0, 1], [2, 5]],
    "cpu_quota_cores": None,
    "governor": None,
    "open_files_hard": 5_000,
    "port_range": [32_768, 60_999],
    "memory_bytes": 1 << 32,
    "memory_available_bytes": 1 << 30,
    "addresses": ["127.0.0.1", "10.0.0.7", "fd00::7"],
    "lab_address": "10.0.0.1",
}


def written(folder: Path, facts: object = FACTS) -> Path:
    """Write the program into a folder. `facts`: what it says of itself."""
    program = folder / "engine"
    program.write_text(ENGINE.replace("@FACTS@", json.dumps(facts)), encoding="utf-8")
    program.chmod(0o755)
    return program
