"""crumple new-server: a folder to begin with, and what to do next."""

import os
from pathlib import Path

from crumple.commands import output
from crumple.server import new_server

PROGRAM = "Python"


def begin(name: str, language: str, as_json: bool) -> int:
    """Write the folder `name`, here or where its path says."""
    folder = Path(name)
    files = new_server.write(Path(os.path.normpath(folder)), language)
    if as_json:
        output.as_json({"folder": str(folder), "files": [str(file) for file in files]})
        return 0
    shown = str(folder) if folder.is_absolute() or str(folder).startswith(".") else f"./{folder}"
    for file in files:
        output.say(f"wrote {file}")
    if language != PROGRAM:
        output.say(f"the program is in {PROGRAM} until you replace it")
    output.say(f"next: crumple verify {shown}")
    output.say(f"      crumple run todo-json --server {shown}")
    return 0
