"""Runs a server of the corpus, or of the project, until its standard input ends.

    python corpus/serve.py NAME [--everywhere]

It prints one line of JSON: the address at which the server listens on its host. --everywhere: it listens
at all addresses, as servers in containers do. Whoever wants it in a namespace starts this there.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crumple.commands.project_files import Project
from crumple.errors import CrumpleError
from crumple.subject import servers

import corpus

sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "tests" / "helpers"))
import everywhere


@contextmanager
def running(name: str) -> Iterator[str]:
    """Run the server until the `with` ends; yield its address."""
    own = Project.here().servers
    if name in own:
        with servers.start(servers.build(own[name]), cores=(), settings={}) as started:
            yield started.address
        return
    entries = corpus.read()
    if name not in entries:
        sys.exit(f"no server is called {name}")
    with corpus.running(entries[name], entries) as subject:
        yield subject.address


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--everywhere", action="store_true", help="listen at all addresses of the host")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if asked.everywhere:
            if why := everywhere.why_not():
                sys.exit(why)
            stack.enter_context(everywhere.listening())
        try:
            address = stack.enter_context(running(asked.name))
        except (CrumpleError, corpus.Skipped) as failed:
            sys.exit(f"{asked.name}: {failed}")
        print(json.dumps({"address": address}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
