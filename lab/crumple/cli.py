"""The command line: one function per command with its flags, its help and an example. No logic.

The work of a command is in `commands`, which is imported only when the command is called, so that help
appears at once.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import CommandFunctionType

from crumple import extras, start
from crumple.diagnose import diagnose_flags
from crumple.errors import EXIT_NO, EXIT_USAGE, CrumpleError, UsageError
from crumple.find import find_flags
from crumple.interrupt import interruptible
from crumple.load import habits, load_flags, saved_command
from crumple.versus import versus_flags

if TYPE_CHECKING:
    from crumple.shell.described import Described


@contextmanager
def _aborting() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        # Otherwise Typer exits with 130 and prints nothing.
        raise typer.Abort from None


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_help(self, ctx))

    def invoke(self, ctx: Any) -> Any:
        extras.check(self.name or "", page=bool(ctx.params.get("html")))
        return super().invoke(ctx)


class _Commands(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_help(self, ctx))

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with _aborting():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _aborting():
            return super().invoke(ctx)


def _help(command: TyperCommand | TyperGroup, context: Any) -> str:
    # Imported here because only help needs it.
    from crumple.commands import help_text

    return help_text.page(command, context)


class _App(typer.Typer):
    def command(
        self, name: str | None = None, **described: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(name, cls=_Command, **described)


app = _App(
    name="crumple",
    cls=_Commands,
    epilog="Begin with: crumple try",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # Typer's completion takes as long as help, and knows no servers, studies or runs: see `shell`.
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(asked: bool) -> None:
    if asked:
        from crumple.commands import version

        print(version.told(), end="")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_tell_version, is_eager=True, help="Show lab, engine and commit."
        ),
    ] = False,
) -> None:
    """Finds the load at which a server crumples, and says why."""


def _named(param: typer.CallbackParam, value: Any) -> Any:
    """Return the value; raise UsageError if it is blank, as from an unset variable of a shell."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str) and not each.strip(" ,"):
            is_option = param.param_type_name == "option"
            what = max(param.opts, key=len) if is_option else (param.metavar or "").strip("…")
            remedy = "give it a value" if param.required else "give it a value, or leave it out"
            raise UsageError(f"{what} is empty", remedy)
    return value


Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON on stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Install without asking.")]
Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SERVER…",
        help="A server's name, a variant such as name[key=value], or a folder such as ./name. "
        "Default: all servers.",
        callback=_named,
    ),
]


def _example(*lines: str) -> str:
    return "Example: " + "\n".join(lines)


@app.command("try", epilog=_example("crumple try --no-open"))
def try_(
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the report in a browser.")] = False,
    json: Json = False,
) -> None:
    """Set up the servers, run every article's study at its shortest scale, and open the verdicts."""
    from crumple.commands import run

    raise typer.Exit(run.tour(open_it=not no_open, as_json=json))


@app.command(epilog=_example("crumple setup go-nethttp node-http"))
def setup(servers: Servers = None, yes: Yes = False, json: Json = False) -> None:
    """Show what the servers need, then install and build it."""
    from crumple.commands import setup

    raise typer.Exit(setup.make_ready(servers or [], yes, json))


@app.command(epilog=_example("crumple costs --json"))
def costs(json: Json = False) -> None:
    """Measure what system calls, context switches, threads and processes cost on this machine.

    This takes about two seconds.
    """
    from crumple.commands import lists

    raise typer.Exit(lists.list_costs(json))


@app.command(epilog=_example("crumple servers --json"))
def servers(json: Json = False) -> None:
    """List the servers: version, I/O model, workloads, settings with defaults, and whether they can run."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_servers(json))


@app.command(epilog=_example("crumple workloads"))
def workloads(json: Json = False) -> None:
    """List the workloads: the request of each, and the size of its answer."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_workloads(json))


@app.command(epilog=_example("crumple studies"))
def studies(json: Json = False) -> None:
    """List the studies and their questions."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_studies(json))


@app.command(
    epilog=_example("crumple verify node-http", "crumple verify 'node-cluster[workers=2]' ./my-server")
)
def verify(servers: Servers = None, json: Json = False) -> None:
    """Check every answer of every server against the contract.

    Exit code 1: a check failed, or a server did not start.
    """
    from crumple.commands import verify

    raise typer.Exit(verify.check(servers or [], json))


@app.command("new-server", epilog=_example("crumple new-server my-server", "crumple verify ./my-server"))
def new_server(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The folder to write. Its name is the server's name.", callback=_named
        ),
    ],
    language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="The language that reports will show.")
    ] = "Python",
    json: Json = False,
) -> None:
    """Write the folder of a new server: a server.toml and a small program that works, for you to replace."""
    from crumple.commands import setup

    raise typer.Exit(setup.write_server(name, language, json))


@app.command(
    epilog=_example(
        "crumple run todo-json --scale quick", "crumple run --resume todo-json-quick-20261121-063012"
    )
)
def run(
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="STUDY…", help="A study's name, or its TOML file.", callback=_named),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="SCALE",
            help="How much of each study to run: tour, quick, full or published. Default: quick.",
            callback=_named,
        ),
    ] = None,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Run only these servers or variants, such as 'php-apache[workers=150]'.",
            callback=_named,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|URL",
            help="Also run this server of yours: a folder, whose commands run as you, or http://… "
            "May be repeated.",
            callback=_named,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run the studies of all articles.")] = False,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Use your MariaDB instead of a private one.", callback=_named),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="The seed of the order of trials and of the load. Default: random."
        ),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue this run.", callback=_named)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: also repeat trials that failed.")
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
        str | None, typer.Option(metavar="TRIAL", help="Run only the trial with this id.", callback=_named)
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if this condition holds: 'contradicted>0', 'undecided>3'. May be repeated.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write claims and conditions as JUnit XML, which CI platforms read.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run studies and judge their claims.

    Exit code 1: a --fail-if holds, or a server was skipped; 3: a trial failed or is not valid; 130:
    interrupted.
    """
    from crumple.commands import run

    asked = run.Asked(
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
        fail_if=fail_if or [],
        junit=junit,
    )
    raise typer.Exit(run.new(asked, json) if resume is None else run.resume(resume, asked, json))


@app.command(
    epilog=_example(
        "crumple report --open",
        "crumple report --format md todo-json-full-20261121-063012 noise-full-20261121-065500",
    )
)
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN…",
            help="A run's name or folder. Default: the latest run. With several runs, the claims of all.",
            callback=_named,
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="The report's format: text, html, md or json."),
    ] = "text",
    open_it: Annotated[
        bool, typer.Option("--open", help="Write the report as HTML and open it in a browser.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to this file.")] = None,
    json: Json = False,
) -> None:
    """Show the report of a stored run, or the claims of several runs."""
    from crumple.commands import report

    raise typer.Exit(report.show(names or (), "json" if json else format_, open_it, out))


@app.command(
    epilog=_example(
        "crumple compare before after",
        "crumple compare last --last 5 --metric response_p99",
        "crumple compare baseline.json todo-json-full-20261122-063509 --format md",
    )
)
def compare(
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="BEFORE",
            help="The earlier load, search or run, as crumple show finds it, or the JSON file of a run's "
            "report; several with commas, or tag:TAG. Without AFTER: the later one, to compare with earlier "
            "ones.",
            callback=_named,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(metavar="AFTER", help="The later one, named in the same ways.", callback=_named),
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


@app.command(
    epilog=_example(
        "crumple load http://localhost:8080/",
        "crumple load http://localhost:8080/ --rate 5000 -z 1m --watch :8080 --fail-if 'p99>250ms'",
        "crumple load --curl @copied.txt -c 20",
    )
)
@load_flags.spread
def load(url: load_flags.Url = None, *, flags: load_flags.LoadFlags) -> None:
    """Put a load on a URL, by default 50 connections for 10 seconds.

    Exit code 1: a --fail-if holds, or no request was answered as expected; 3: the load is not valid; 130:
    interrupted.
    """
    from crumple.commands import load

    raise typer.Exit(load.put_on(url, flags))


@app.command(
    epilog=_example(
        "crumple find go-nethttp",
        "crumple find http://localhost:8080/ --objective 'p99<100ms, failed<0.1%' --watch :8080",
    )
)
@load_flags.spread
def find(what: find_flags.What = None, *, flags: find_flags.FindFlags) -> None:
    """Find the highest load of a URL or a server at which an objective still holds, with its 95 % interval.

    Exit code 1: it does not hold even at the lowest load, or a --fail-if holds; 3: the engine was the limit,
    the budget was too short, or it is not known whether a --fail-if holds; 130: interrupted.
    """
    from crumple.commands import find

    raise typer.Exit(find.breaking_point(what, flags))


@app.command(
    epilog=_example(
        "crumple diagnose http://localhost:8080/ --slow '/wait?ms=100' --heavy '/compute?ms=20'",
        "crumple diagnose go-nethttp",
        "crumple diagnose -- ./my-server --port {port}",
    )
)
@load_flags.spread
def diagnose(what: diagnose_flags.What = None, *, flags: diagnose_flags.DiagnoseFlags) -> None:
    """Find out how a server on this machine waits, how much it holds, and where its time goes.

    This takes about a minute. Exit code 1: a --fail-if holds; 3: whether one holds is not known; 130:
    interrupted.
    """
    from crumple.commands import diagnose

    raise typer.Exit(diagnose.server(what or [], flags))


@app.command(
    epilog=_example(
        "crumple versus http://localhost:8080/ http://localhost:8081/",
        "crumple versus php-apache 'php-apache[workers=20]'",
        "crumple versus ./my-server@main ./my-server",
        "crumple versus -- ./old --port {port} -- ./new --port {port}",
    )
)
@load_flags.spread
def versus(what: versus_flags.What = None, *, flags: versus_flags.VersusFlags) -> None:
    """Compare two or more versions of a service: which is faster, and by how much, with intervals.

    Exit code 1: a --fail-if holds; 3: nothing was compared, a version was lost, or it is not known whether a
    --fail-if holds; 130: interrupted.
    """
    from crumple.commands import versus

    raise typer.Exit(versus.versions(what or [], flags))


@app.command(
    "import",
    epilog=_example(
        "crumple import shop.har --out shop.toml",
        "crumple load http://shop.localhost:8080 --request-file shop.toml",
        "tail -n 100000 access.log | crumple import - --most 20",
    ),
)
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A HAR, an OpenAPI document (JSON or YAML), a list of URLs, targets of vegeta (text or "
            "JSON), or an access log (common or combined); - for stdin. It may be compressed by gzip.",
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="What FILE is: har, openapi, urls, vegeta, vegeta-json or access-log. Default: guessed.",
            callback=_named,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Take the requests to this host, such as example.org or http://example.org:8080. Default: "
            "the host with the most requests.",
            callback=_named,
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(metavar="N", help="Take the N most frequent different requests. Default: 100."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the request file here, as JSON if FILE ends with .json."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the request file as JSON.")] = False,
) -> None:
    """Write a request file for load --request-file, from what another program recorded or described.

    Requests that were recorded several times have that as their weight. Nothing is sent.
    """
    from crumple.commands import import_file

    raise typer.Exit(import_file.bring(file, from_, host, most, out, json))


@app.command("list", epilog=_example("crumple list --tag main", "crumple list --verb load --url :8080"))
def list_(
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only results with this tag. May be repeated.")
    ] = None,
    verb: Annotated[
        str | None, typer.Option(metavar="VERB", help="Only results of load, find or diagnose, or runs.")
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
    json: Json = False,
) -> None:
    """List the results and runs that are stored, the latest first."""
    from crumple.commands import kept_results
    from crumple.results.listing import Wanted

    wanted = Wanted(tuple(tag or ()), verb, url)
    raise typer.Exit(kept_results.show_list(wanted, limit, json, prune))


@app.command(epilog=_example("crumple show last", "crumple show main --html --out main.html"))
def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="last, a number in crumple list, a name, tag:TAG for the latest with that tag, or a file "
            "that --json wrote. A run is shown as crumple report shows it.",
            callback=_named,
        ),
    ] = "last",
    html: Annotated[bool, typer.Option("--html", help="Write the page of the result.")] = False,
    open_it: Annotated[bool, typer.Option("--open", help="Write the page and open it in a browser.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file.")] = None,
    json: Json = False,
) -> None:
    """Show a stored result again: the same screen, page or JSON."""
    from crumple.commands import kept_results

    raise typer.Exit(kept_results.show(what, html=html, open_it=open_it, out=out, as_json=json))


@app.command(
    epilog=_example(
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
            callback=_named,
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
            help="Write what another tool reads: bencher, github-action-benchmark (the figures of which "
            "less is better), github-action-benchmark-bigger (the others), or openmetrics. To stdout, or "
            "--to FILE.",
            callback=_named,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Write only this table, to FILE itself: trials, series, quantiles, or levels of a search.",
            callback=_named,
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What a history tool tracks. Default: what was asked.", callback=_named
        ),
    ] = None,
) -> None:
    """Write a stored result for other programs: tables, percentile files, or what history tools read."""
    from crumple.commands import export

    raise typer.Exit(export.export(what, to, as_, table, benchmark))


@app.command(epilog=_example("crumple completion zsh > ~/.zfunc/_crumple"))
def completion(
    shell: Annotated[
        str, typer.Argument(metavar="bash|zsh|fish", help="The shell to complete in.", callback=_named)
    ],
) -> None:
    """Print the completion of a shell, for its folder of completions.

    In bash, this line in ~/.bashrc will do: eval "$(crumple completion bash)"
    """
    from crumple.commands import completion

    raise typer.Exit(completion.show(shell))


def described() -> "Described":
    """Return all commands as plain data, for completion and the manual."""
    from crumple.commands import describe

    return describe.described(get_command(app))


# The commands that --save keeps as a file, with their flags.
SAVED = {
    "load": load_flags.LoadFlags,
    "find": find_flags.FindFlags,
    "diagnose": diagnose_flags.DiagnoseFlags,
    "versus": versus_flags.VersusFlags,
}


def main() -> None:
    """Run the `crumple` command; an expected error becomes one line on stderr and its exit code."""
    start.mend_streams()
    try:
        with interruptible():
            start.check_memory()
            sys.argv[1:] = saved_command.expanded(sys.argv[1:], SAVED)
            habits.check(sys.argv[1:])
            code = app(sys.argv[1:] or ["--help"], prog_name="crumple", standalone_mode=False)
            # Flush here, where a failed write can still be reported.
            sys.stdout.flush()
        sys.exit(code)
    except CrumpleError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        sys.exit(start.INTERRUPTED)
    except ModuleNotFoundError as error:
        if (why := extras.missing(error.name or "")) is None:
            raise
        _complain(str(why))
        sys.exit(why.exit_code)
    except BrokenPipeError:
        # The reader of stdout has closed the pipe.
        sys.stderr.close()
        _leave_unsaid()
        sys.exit(0)
    except OSError as error:
        # An error that no other code handles: a full disk behind stdout, for instance.
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"cannot continue: {where}{error.strerror or error}; fix that, then try again")
        _leave_unsaid()
        sys.exit(EXIT_NO)
    except Exception as error:
        # Typer's usage errors have no common type that is public in all its versions.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "crumple")
        remedy = habits.instead(command, getattr(error, "option_name", ""))
        said = getattr(error, "message", "") if remedy else error.format_message().rstrip(".")
        _complain(f"{said}; {remedy or f'see: {command} --help'}")
        sys.exit(EXIT_USAGE)


def _complain(line: str) -> None:
    # Imported here because help needs no rich, and it takes as long to import as all else.
    from crumple.drawing.terminal import shown_text

    print(shown_text(line), file=sys.stderr)


def _leave_unsaid() -> None:
    """Discard what stdout could not take: otherwise Python writes it again at exit, and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
