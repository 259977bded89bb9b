"""The table of the commands about stored results, and of `completion`."""

from pathlib import Path
from typing import Annotated

import typer

from crumple.commands.table import COMPARE, MACHINE, RESULTS, Color, CommandTable, Json, example, refuse_blank

TABLE = CommandTable(RESULTS)


@TABLE.command("list", epilog=example("crumple list --tag main", "crumple list --verb load --url :8080"))
def list_(
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only results with this tag. May be repeated.")
    ] = None,
    verb: Annotated[
        str | None,
        typer.Option(
            metavar="VERB", help="Only results of this command: load, find, diagnose, versus or run."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only results whose URL or server has this in it.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most this many.")] = 30,
    prune: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="First remove all results but the latest N. Those with a name or a tag of yours stay, and "
            "so do runs.",
        ),
    ] = None,
    color: Color = None,
    json: Json = False,
) -> None:
    """List the results and runs that are stored, the latest first."""
    from crumple.commands import kept_results
    from crumple.results.listing import Wanted

    wanted = Wanted(tuple(tag or ()), verb, url)
    raise typer.Exit(kept_results.show_list(wanted, limit, json, prune))


@TABLE.command(epilog=example("crumple show last", "crumple show main --html --out main.html"))
def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="last, a number in crumple list, a name, tag:TAG for the latest with that tag, or a file "
            "that --json or --html wrote. A run is shown as crumple report shows it.",
            callback=refuse_blank,
        ),
    ] = "last",
    html: Annotated[bool, typer.Option("--html", help="Write the page of the result.")] = False,
    open_it: Annotated[bool, typer.Option("--open", help="Write the page and open it in a browser.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file.")] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option(
            "--if",
            metavar="PART=VALUE",
            help="For a diagnosis: also compute what the server would answer with workers=16, for instance; "
            "as crumple diagnose --if. May be repeated.",
        ),
    ] = None,
    color: Color = None,
    json: Json = False,
) -> None:
    """Show a stored result again: the same screen, page or JSON."""
    from crumple.commands import kept_results

    code = kept_results.show(what, html=html, open_it=open_it, out=out, as_json=json, changed=changed or ())
    raise typer.Exit(code)


@TABLE.command(
    group=COMPARE,
    epilog=example(
        "crumple compare before after",
        "crumple compare last --last 5 --metric response_p99",
        "crumple compare baseline.json todo-json-full-20261122-063509 --format md",
    ),
)
def compare(
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="BEFORE",
            help="The earlier load, search or run, as crumple show finds it, or the JSON or page of a run's "
            "report; several with commas, or tag:TAG. Without AFTER: the later one, to compare with earlier "
            "ones.",
            callback=refuse_blank,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(metavar="AFTER", help="The later one, named in the same ways.", callback=refuse_blank),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=1,
            help="Compare with the latest K earlier results that asked the same on this machine. Default: 1.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="Compare only this metric. May be repeated."),
    ] = None,
    must_see: Annotated[
        str | None,
        typer.Option(
            metavar="CHANGE",
            help="Exit with 3 if a change of this size, such as 10%, could have been missed.",
        ),
    ] = None,
    any_machine: Annotated[
        bool,
        typer.Option("--any-machine", help="Judge although the machine, its kernel or its clock is another."),
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="The format: text, html, md or json.")
    ] = "text",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison to this file.")
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Write a page with overlaid quantiles and open it in a browser.")
    ] = False,
    color: Color = None,
    json: Json = False,
) -> None:
    """Show what changed from one load, search or run to another, or from several to one.

    Exit code 1: a figure became slower, beyond chance; 3: nothing could be judged, or see --must-see.
    """
    from crumple.commands import compare

    shown = compare.Shown(format_, out, open_it)
    code = compare.runs(
        before, after, metric or [], json, must_see, last=last, any_machine=any_machine, shown=shown
    )
    raise typer.Exit(code)


@TABLE.command(
    epilog=example(
        "crumple export last --to last.parquet",
        "crumple export last --to last.hgrm",
        "crumple export last --as bencher --benchmark 'GET /orders'",
    )
)
def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="A result or run, as crumple show finds it. Default: last.",
            callback=refuse_blank,
        ),
    ] = "last",
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write this file. Its ending says what: .parquet or .csv for tables, each in a file of its "
            "own such as a.series.csv; .hgrm or .hlog for the response times of a load.",
        ),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORMAT",
            help="Write what another tool reads: bencher, github-action-benchmark, "
            "github-action-benchmark-bigger or openmetrics. The second has the figures of which less is "
            "better, the third the others. To stdout, or --to FILE.",
            callback=refuse_blank,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Write only this table, to FILE itself: trials, series, quantiles, levels, turns or ratios. "
            "A search has levels, a comparison of versions turns and ratios.",
            callback=refuse_blank,
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What a history tool tracks. Default: what was asked.", callback=refuse_blank
        ),
    ] = None,
) -> None:
    """Write a stored result for other programs: tables, percentile files, or what history tools read."""
    from crumple.commands import export

    raise typer.Exit(export.export(what, to, as_, table, benchmark))


@TABLE.command(group=MACHINE, epilog=example("crumple completion zsh > ~/.zfunc/_crumple"))
def completion(
    shell: Annotated[
        str, typer.Argument(metavar="bash|zsh|fish", help="The shell to complete in.", callback=refuse_blank)
    ],
) -> None:
    """Print the completion of a shell, for its folder of completions.

    In bash, this line in ~/.bashrc will do: eval "$(crumple completion bash)"
    """
    from crumple.commands import completion

    raise typer.Exit(completion.show(shell))
