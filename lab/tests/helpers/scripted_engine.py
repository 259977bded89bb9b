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


FACTS = {"engine_version": release.VERSION, "contract_version": CONTRACT_VERSION}


def written(folder: Path, facts: object = FACTS) -> Path:
    """Write the program into a folder. `facts`: what it says of itself."""
    program = folder / "engine"
    program.write_text(ENGINE.replace("@FACTS@", json.dumps(facts)), encoding="utf-8")
    program.chmod(0o755)
    return program
