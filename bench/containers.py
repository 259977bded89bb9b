"""Does a container hide what limits a server? Servers of the corpus with a planted cause are diagnosed by
their URL alone: beside crumple, and in a network and process namespace of their own behind docker-proxy.

    python bench/containers.py --results containers.jsonl            # 40 by lot: about an hour
    python bench/containers.py --servers go-lock,c-pool     # these
    python bench/containers.py --again --results containers.jsonl    # and beside it once more

The first finding must be the same for 95 %. With --again each is diagnosed beside crumple a second time: so
often a diagnosis agrees with itself. Rows that are in the file of --results are not measured again. It takes
root and docker-proxy, which is fetched from Debian's package, and is skipped without.
"""

import argparse
from pathlib import Path

import asked_corpus
import options
import other_hosts  # type: ignore[import-not-found]
import published_port  # type: ignore[import-not-found]
import same_findings
from asked_corpus import Row, Rows
from bounds import Bounds, run
from same_findings import AGAIN, BESIDE

SEED, LOT = 42, 40


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(published_port.why_not())
    names = arguments.servers or asked_corpus.lot(arguments.lot, arguments.seed)
    bounds = Bounds(judging=not arguments.shortest)
    places = {BESIDE: diagnosed_beside, "behind": diagnosed_behind}
    if arguments.again:
        places[AGAIN] = diagnosed_beside
    print(f"seed {arguments.seed}", end=": ")
    same_findings.compare(names, places, Rows(arguments.results), bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--servers", type=options.words, help="these instead of a lot")
    parser.add_argument("--lot", type=int, default=LOT, help="so many, drawn by lot from those that run here")
    parser.add_argument("--seed", type=int, default=SEED, help="of the lot")
    parser.add_argument("--again", action="store_true", help="diagnose beside crumple once more")
    parser.add_argument("--results", type=Path, help="append each row to this file, and continue it")
    return options.parse(parser, servers=["c-pool"])


def diagnosed_beside(name: str) -> Row:
    """Diagnose a server by its URL alone, beside crumple. Raises NotServed."""
    with asked_corpus.served(name, all_addresses=False) as port:
        return same_findings.diagnosed(name, f"127.0.0.1:{port}")


def diagnosed_behind(name: str) -> Row:
    """The same in namespaces of its own, at the port that docker-proxy publishes. Raises NotServed."""
    with (
        # On the disk of this host, as that of a container is: what is planted may be to wait for it.
        other_hosts.started(name[:60], own_folders=()) as host,
        other_hosts.joined(None, host) as link,
        asked_corpus.served(name, host) as port,
        published_port.published(link.addresses[1], port) as published,
    ):
        return same_findings.diagnosed(name, f"127.0.0.1:{published}")


if __name__ == "__main__":
    run(main)
