"""What is lost when a study runs on a cluster and a host of it is lost, or its scheduler?

    python bench/lost_cluster_hosts.py --rounds 20 --results lost.jsonl     # about 40 min
    python bench/lost_cluster_hosts.py --only cut-off,worker-frozen

Three hosts in namespaces of their own, each with an sshd, are a cluster that `crumple cluster up` has
started, and measure a study of two servers, of which one is slower by far. Once trials are stored, the worker
of a host that measures is killed, frozen or cut off, or the scheduler is killed; then the run is resumed on a
new cluster. All trials of the plan must be stored in the end, those from before unchanged, no verdict wrong,
and nothing may be left that measures on any host. Rows in the file of --results are not made again. It takes
root and sshd, and is skipped without.
"""

import argparse
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

import asked_corpus
import options
import other_hosts  # type: ignore[import-not-found]
import secure_shell  # type: ignore[import-not-found]
from asked_corpus import Row, Rows
from bounds import Bounds, run
from cluster_faults import FAULTS, Suffered, suffer  # type: ignore[import-not-found]
from crumple import engine, project
from made_cluster import MadeCluster, made  # type: ignore[import-not-found]


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(other_hosts.why_not() or secure_shell.why_not())
    rows, bounds = Rows(arguments.results), Bounds(judging=not arguments.shortest)
    keys = [(fault, round_) for round_ in range(1, arguments.rounds + 1) for fault in arguments.only]
    program = engine.find(project.root()).resolve()
    with (
        tempfile.TemporaryDirectory() as folder,
        made(Path(folder), program, blocks=arguments.blocks, measured_s=arguments.seconds) as cluster,
    ):
        for far, key in asked_corpus.counted(keys, rows.has):
            row = rows.once(key, partial(suffered, cluster, key[0]))
            found = Suffered(**row["said"])
            print(
                f"{far:22} {key[0]:17} {found.before} stored before, {found.lost} lost; "
                f"gone after {found.gone_s:4.1f} s, {found.left} left; {found.missing} missing",
                flush=True,
            )
            for fault in found.faults:
                print(f"{'':22} {fault}: {found.said[-300:]}")
                bounds.miss(f"{key[0]}: {fault}")
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    options.rounds(parser, 20)
    parser.add_argument("--only", type=options.words, default=list(FAULTS), help="these faults")
    parser.add_argument("--blocks", type=int, default=8, help="of the study")
    help_ = "of one trial; with 8, a fault comes in the middle of a block"
    parser.add_argument("--seconds", type=float, default=0.3, help=help_)
    parser.add_argument("--results", type=Path, help="append each row to this file, and continue it")
    return options.parse(parser, rounds=1, only=["worker-killed"])


def suffered(cluster: MadeCluster, fault: str) -> Row:
    """A row of the results."""
    return {"said": asdict(suffer(cluster, fault)), "error": ""}


if __name__ == "__main__":
    run(main)
