"""The command line: one function per command with its flags, its help and an example. No logic.

The work of a command is in `commands`, which is imported only when the command is called, so that help
appears at once.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from crumple import start
from crumple.errors import CrumpleError, UsageError
from crumple.find import find_flags as find_flags
from crumple.interrupt import interruptible
from crumple.load import habits
from crumple.load import load_flags as load_flags


@contextmanager
def _aborting() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        # Otherwise Typer exits with 130 and prints nothing.
        raise typer.Abort from None


class _Commands(TyperGroup):
    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with _aborting():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _aborting():
            return super().invoke(ctx)


app = typer.Typer(
    name="crumple",
    cls=_Commands,
    epilog="Begin with: [bold]crumple try[/bold]",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(asked: bool) -> None:
    if asked:
        # Imported here because it takes a fifth of the time that help takes.
        from importlib import metadata

        print(f"crumple {metadata.version('crumple')}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Say it and exit.")
    ] = False,
) -> None:
    """Finds the load at which a server crumples, and says why."""


def _named(param: typer.CallbackParam, value: Any) -> Any:
    """Return the value; raise UsageError if it is blank, as from an unset variable of a shell."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str) and not each.strip(" ,"):
            is_option = param.param_type_name == "option"
            what = max(param.opts, key=len) if is_option else (param.metavar or "").strip("[].…")
            remedy = "name what is meant" if param.required else "name what is meant, or leave it out"
            raise UsageError(f"{what} is empty", remedy)
    return value


Json = Annotated[bool, typer.Option("--json", help="The same facts as JSON on stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Install without asking.")]
Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SERVER…",
        help="Names, variants as name\\[key=value], folders as ./name; all if left out.",
        callback=_named,
    ),
]


def _example(*lines: str) -> str:
    return "Example: " + "\n\n".join(f"[bold]{line}[/bold]" for line in lines)


@app.command("try", epilog=_example("crumple try --no-open"))
def try_(
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the report in a browser.")] = False,
    json: Json = False,
) -> None:
    """The tour: set up what is missing, run every article's study in short form, open the verdicts."""
    from crumple.commands import run

    raise typer.Exit(run.take(open_it=not no_open, as_json=json))


@app.command(epilog=_example("crumple setup go-nethttp node-http"))
def setup(servers: Servers = None, yes: Yes = False, json: Json = False) -> None:
    """Install and build what the servers need; shows it first."""
    from crumple.commands import setup

    raise typer.Exit(setup.make_ready(servers or [], yes, json))


@app.command(epilog=_example("crumple costs --json"))
def costs(json: Json = False) -> None:
    """What system calls, context switches, threads and processes cost on this machine; takes two seconds."""
    from crumple.commands import lists

    raise typer.Exit(lists.tell(json))


@app.command(epilog=_example("crumple servers --json"))
def servers(json: Json = False) -> None:
    """Every server: version, I/O model, workloads, settings with their defaults, ready or why not."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_servers(json))


@app.command(epilog=_example("crumple workloads"))
def workloads(json: Json = False) -> None:
    """Every workload: what a request asks, and the size of its answer."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_workloads(json))


@app.command(epilog=_example("crumple studies"))
def studies(json: Json = False) -> None:
    """Every study and its question."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_studies(json))


@app.command(
    epilog=_example("crumple verify node-http", "crumple verify 'node-cluster\\[workers=2]' ./my-server")
)
def verify(servers: Servers = None, json: Json = False) -> None:
    """Every answer of every server against the contract; 1 if one is wrong."""
    from crumple.commands import verify

    raise typer.Exit(verify.check(servers or [], json))


@app.command("new-server", epilog=_example("crumple new-server my-server", "crumple verify ./my-server"))
def new_server(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The folder to write; its name is the server's.", callback=_named
        ),
    ],
    language: Annotated[str, typer.Option(help="As reports will show it.")] = "Python",
    json: Json = False,
) -> None:
    """A folder to begin a server of your own with: server.toml and a small program that works."""
    from crumple.commands import setup

    raise typer.Exit(setup.begin(name, language, json))


@app.command(
    epilog=_example(
        "crumple run todo-json --scale quick", "crumple run --resume todo-json-quick-20261121-063012"
    )
)
def run(
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY…", help="Names or files.", callback=_named)
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="tour, quick, full or published; quick if left out.", callback=_named),
    ] = None,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Only these servers, or variants: 'php-apache\\[workers=150]'.",
            callback=_named,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|URL",
            help="One of your own beside them: a folder, whose commands run as you, or http://…",
            callback=_named,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every article's study, one after the other.")
    ] = False,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Your own MariaDB instead of a private one.", callback=_named),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Order and load; drawn if left out.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue a run.", callback=_named)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: failed trials too.")
    ] = False,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="With --resume: though programs changed; marks the trials.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="30m: decide as much as that time can, at the scale that fits."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="TRIAL", help="One trial, by its id.", callback=_named)
    ] = None,
    json: Json = False,
) -> None:
    """Run studies. 3: a trial failed or is not valid; 1: a server was skipped; 130: interrupted."""
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
            metavar="[RUN]...",
            help="The latest if left out; of several, all their claims.",
            callback=_named,
        ),
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="text, html, md or json.")] = "text",
    open_it: Annotated[bool, typer.Option("--open", help="Write the HTML report and open it.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write it to this file.")] = None,
    json: Json = False,
) -> None:
    """Render the report of a run again, or one table of several."""
    from crumple.commands import report

    raise typer.Exit(report.show(names or (), "json" if json else format_, open_it, out))


@app.command(
    epilog=_example(
        "crumple compare todo-json-full-20261121-063012 todo-json-full-20261122-063509",
        "crumple compare baseline.json todo-json-full-20261122-063509 --metric throughput",
    )
)
def compare(
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="A run, or the JSON of its report.", callback=_named)
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Likewise.", callback=_named)],
    metric: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    must_see: Annotated[
        str | None,
        typer.Option(
            metavar="CHANGE", help="Exit code 3 where a change of so much, 10% for instance, could be missed."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """What changed from one run to another; 1 if something became slower, beyond chance."""
    from crumple.commands import compare

    raise typer.Exit(compare.runs(before, after, metric or [], json, must_see))


@app.command(
    epilog=_example(
        "crumple load http://localhost:8080/",
        "crumple load http://localhost:8080/ --rate 5000 -z 1m --watch :8080 --fail-if 'p99>250ms'",
    )
)
@load_flags.spread
def load(url: load_flags.Url, flags: load_flags.LoadFlags) -> None:
    """Put a load on a URL: 50 connections for 10 s, unless told otherwise.

    Exit code 1: a --fail-if holds, or nothing was answered; 3: not valid; 130: interrupted.
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
def find(what: find_flags.What, flags: find_flags.FindFlags) -> None:
    """The highest load at which the objective still holds, with its 95 % interval: of a URL, or of a server.

    Exit code 1: it does not hold even at the lowest load; 3: the engine was the limit, or the budget was too
    short; 130: interrupted.
    """
    from crumple.commands import find

    raise typer.Exit(find.breaking_point(what, flags))


def main() -> None:
    """Run the `crumple` command; an expected error becomes one line on stderr and its exit code."""
    start.mend_streams()
    try:
        with interruptible():
            start.check_memory()
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
        sys.exit(130)
    except BrokenPipeError:
        # The reader of stdout has closed the pipe.
        sys.stderr.close()
        _leave_unsaid()
        sys.exit(0)
    except OSError as error:
        # An error that no other code handles: a full disk behind stdout, for instance.
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"cannot go on: {where}{error.strerror or error}; mend that, then try again")
        _leave_unsaid()
        sys.exit(1)
    except Exception as error:
        # Typer's usage errors have no common type that is public in all its versions.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "crumple")
        remedy = habits.instead(command, getattr(error, "option_name", ""))
        said = getattr(error, "message", "") if remedy else error.format_message().rstrip(".")
        _complain(f"{said}; {remedy or f'see: {command} --help'}")
        sys.exit(2)


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
