#!/bin/sh
# Installs crumple for the steps that follow: the wheel that the action was given, or this checkout.
set -eu

if [ -n "${WHEEL-}" ]; then
    python3 -m venv "$RUNNER_TEMP/crumple"
    "$RUNNER_TEMP/crumple/bin/python" -m pip install --quiet --disable-pip-version-check \
        "crumple${EXTRAS:+[$EXTRAS]} @ $(python3 -c '
import pathlib, sys
given = sys.argv[1]
print(given if "://" in given else pathlib.Path(given).resolve().as_uri())' "$WHEEL")"
    folder=$RUNNER_TEMP/crumple/bin
else
    folder=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
fi
"$folder/crumple" --version
printf '%s\n' "$folder" >>"$GITHUB_PATH"
