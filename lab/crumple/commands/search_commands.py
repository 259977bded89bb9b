"""The table of the commands that put several loads on servers, and of `import`, which writes what is sent."""

from pathlib import Path
from typing import Annotated

import typer

from crumple.commands.spread_flags import spread
from crumple.commands.table import COMPARE, LOAD, CommandTable, example, refuse_blank
from crumple.diagnose import diagnose_flags
from crumple.find import find_flags
from crumple.versus import versus_flags

TABLE = CommandTable(LOAD)


@TABLE.command(
    epilog=example(
        "crumple find go-nethttp",
        "crumple find http://localhost:8080/ --objective 'p99<100ms, failed<0.1%'",
        "crumple find http://localhost:8080/ --from loader",
    )
)
@spread
def find(what: find_flags.What = None, *, flags: find_flags.FindFlags) -> None:
    """Find the highest load of a URL or a server at which an objective still holds, with its 95 % interval.

    Exit code 1: it does not hold even at the lowest load, or a --fail-if holds; 3: the server was lost, the
    engine was the limit, the budget was too short, or it is not known whether a --fail-if holds; 130:
    interrupted.
    """
    from crumple.commands import find

    raise typer.Exit(find.breaking_point(what, flags))


@TABLE.command(
    epilog=example(
        "crumple diagnose http://localhost:8080/ --slow '/wait?ms=100' --heavy '/compute?ms=20'",
        "crumple diagnose go-nethttp",
        "crumple diagnose http://localhost:8080/ --from loader",
        "crumple diagnose -- ./my-server --port {port}",
    )
)
@spread
def diagnose(what: diagnose_flags.What = None, *, flags: diagnose_flags.DiagnoseFlags) -> None:
    """Find out what limits a server on this machine, and what a change would give.

    This takes about a minute. Exit code 1: a --fail-if holds; 3: the server was lost, or whether a --fail-if
    holds is not known; 130: interrupted.
    """
    from crumple.commands import diagnose

    raise typer.Exit(diagnose.server(what or [], flags))


@TABLE.command(
    group=COMPARE,
    epilog=example(
        "crumple versus http://localhost:8080/ http://localhost:8081/",
        "crumple versus php-apache 'php-apache[workers=20]'",
        "crumple versus ./my-server@main ./my-server",
        "crumple versus -- ./old --port {port} -- ./new --port {port}",
    ),
)
@spread
def versus(what: versus_flags.What = None, *, flags: versus_flags.VersusFlags) -> None:
    """Compare two or more versions of a service: which is faster, and by how much, with intervals.

    Exit code 1: a --fail-if holds; 3: nothing was compared, a version was lost, or it is not known whether a
    --fail-if holds; 130: interrupted.
    """
    from crumple.commands import versus

    raise typer.Exit(versus.versions(what or [], flags))


@TABLE.command(
    "import",
    epilog=example(
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
            help="A HAR, an OpenAPI document (JSON or YAML), a collection of Postman, a list of URLs, "
            "targets of vegeta (text or JSON), or an access log; - for stdin. It may be compressed by gzip.",
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="What FILE is: har, openapi, postman, urls, vegeta, vegeta-json or access-log. "
            "Default: as its structure says.",
            callback=refuse_blank,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Take the requests to this host, such as example.org or http://example.org:8080. Default: "
            "the host with the most requests.",
            callback=refuse_blank,
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
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Write nothing, with exit code 1, if a request would hold what no document gave."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Write the request file as JSON.")] = False,
) -> None:
    """Write a request file for load --request-file, from what another program recorded or described.

    Requests that were recorded several times have that as their weight. Nothing is sent.
    """
    from crumple.commands import import_file

    raise typer.Exit(import_file.bring(file, from_, host, most, out, json, strict))
