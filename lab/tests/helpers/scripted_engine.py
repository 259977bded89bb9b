"""A program that speaks as `crumple-engine serve` does: what its spec holds says how the trial goes."""

from pathlib import Path

ENGINE = """#!/bin/sh
over() { printf '{"ended":{"code":%s,"why":null}}\\n' "$1"; }
[ "$1" = --version ] && exit
while read -r line; do
  case "$line" in
    facts) echo '{"facts":{"cores":[0,1]}}' ;;
    '"held"') echo '{"held":0}' ;;
    go) echo '{"elapsed_s":1}'; echo '{"record":{"kept":1}}'; over 0 ;;
    '"refused"') echo '{"error":"no such rate","remedy":"take another"}'; over 2 ;;
    '"flood"') tr '\\0' x </dev/zero ;;
    '"killed"') kill -KILL $$ ;;
    '"silent"') kill -STOP $$ ;;
  esac
done
"""


def written(folder: Path) -> Path:
    """Write the program into a folder."""
    program = folder / "engine"
    program.write_text(ENGINE, encoding="utf-8")
    program.chmod(0o755)
    return program
