"""The table of the commands that run studies and report runs, and of the tour."""

from pathlib import Path
from typing import Annotated

import typer

from crumple.commands.table import STUDIES, CommandTable, Json, example, refuse_blank

TABLE = CommandTable(STUDIES)
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Exit with 1 if this condition holds: 'contradicted>0', 'undecided>3'. May be repeated.",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write claims and conditions as JUnit XML, which CI platforms read."),
]
OpenIt = Annotated[bool, typer.Option("--open", help="Write the report as HTML and open it in a browser.")]


@TABLE.command("try", epilog=example("crumple try --no-open"))
def try_(
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the report in a browser.")] = False,
    json: Json = False,
) -> None:
    """Set up the servers, run every article's study at its shortest scale, and open the verdicts."""
    from crumple.commands import run

    raise typer.Exit(run.tour(open_it=not no_open, as_json=json))


@TABLE.command(
    epilog=example(
        "crumple run todo-json --scale quick", "crumple run --resume todo-json-quick-20261121-063012"
    )
)
def run(
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="STUDY…", help="A study's name, or its TOML file.", callback=refuse_blank),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="SCALE",
            help="How much of each study to run: tour, quick, full or published. Default: quick.",
            callback=refuse_blank,
        ),
    ] = None,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Run only these servers or variants, such as 'php-apache[workers=150]'.",
            callback=refuse_blank,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|URL",
            help="Also run this server of yours: a folder, whose commands run as you, or http://… "
            "May be repeated.",
            callback=refuse_blank,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run the studies of all articles.")] = False,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Use your MariaDB instead of a private one.", callback=refuse_blank),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="The seed of the order of trials and of the load. Default: random."
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Continue this run, or several with commas between them.",
            callback=refuse_blank,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Run the I-th of N parts of a run, on a host of its own: 2/5. All parts need the same "
            "--seed; crumple join makes one run of them.",
            callback=refuse_blank,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the hosts of this cluster measure, each a block at a time: see crumple cluster.",
            callback=refuse_blank,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="With --resume: also repeat trials that failed or were disturbed."
        ),
    ] = False,
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed", help="With --resume: continue although programs changed, and mark the new trials."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Decide as many claims as this time allows, such as 30m, at the scale that fits into it.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="TRIAL", help="Run only the trial with this id.", callback=refuse_blank),
    ] = None,
    fail_if: FailIf = None,
    junit: JUnit = None,
    open_it: OpenIt = False,
    json: Json = False,
) -> None:
    """Run studies and judge their claims.

    Exit code 1: a --fail-if holds; 3: a trial failed; 130: interrupted.
    """
    from crumple.commands import run

    asked = run.RunArguments(
        studies=studies or [],
        scale=scale,
        servers=servers or [],
        own=server or [],
        seed=seed,
        only=only,
        everything=everything,
        database=database,
        retry_failed=retry_failed,
        mixed=mixed,
        budget=budget,
        shard=shard,
        cluster=cluster,
        fail_if=fail_if or [],
        junit=junit,
    )
    raise typer.Exit(
        run.new(asked, json, open_it) if resume is None else run.resume(resume, asked, json, open_it)
    )


@TABLE.command(epilog=example("crumple join shards/*", "crumple join shards/* --fail-if 'contradicted>0'"))
def join(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…",
            help="The shards of one run: the names or folders of runs with --shard.",
            callback=refuse_blank,
        ),
    ],
    fail_if: FailIf = None,
    junit: JUnit = None,
    open_it: OpenIt = False,
    json: Json = False,
) -> None:
    """Make one stored run of the shards that several hosts ran, and judge its claims.

    Exit code 1: a --fail-if holds; 3: a trial failed.
    """
    from crumple.commands import join

    raise typer.Exit(join.shards(names, fail_if or [], junit, json, open_it))


@TABLE.command(
    epilog=example(
        "crumple report --open",
        "crumple report --format md todo-json-full-20261121-063012 noise-full-20261121-065500",
        "crumple report --site public",
    )
)
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN…",
            help="A run's name or folder. Default: the latest run. With several runs, the claims of all.",
            callback=refuse_blank,
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="The report's format: text, html, md or json."),
    ] = "text",
    open_it: OpenIt = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to this file.")] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write all results and runs to this folder, as pages with an index. What has not changed is "
            "not drawn again. The pages need no server: they open from the folder, too.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the report of a stored run, or the claims of several runs."""
    from crumple.commands import report

    if site is not None:
        report.refuse_beside_site(names or (), format_, out, as_json=json)
        from crumple.commands import report_site

        raise typer.Exit(report_site.write(site, open_it))
    raise typer.Exit(report.show(names or (), "json" if json else format_, open_it, out))


@TABLE.command(
    "map",
    epilog=example("crumple map --wait 80ms --compute 3ms --users 500", "crumple map --users 2000"),
)
def map_(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="A run of wait-or-compute, or the file of a kept map. Default: the latest run, else "
            "studies/wait-or-compute.json if there is one.",
            callback=refuse_blank,
        ),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a request waits for something else, such as 80ms."),
    ] = None,
    compute: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The CPU time that a request computes for, such as 3ms."),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(metavar="N", help="How many users ask at once, each again as soon as it is answered."),
    ] = None,
    json: Json = False,
) -> None:
    """Say which I/O model serves your requests best, by how much, and what limits the others.

    Without --wait and --compute it shows the map for all requests. Nothing is measured: crumple run
    wait-or-compute does that.
    """
    from crumple.commands import which_model

    raise typer.Exit(which_model.say(run, wait, compute, users, json))
