"""The table of the commands about servers, workloads and the machine."""

from typing import Annotated

import typer

from crumple.commands.table import MACHINE, STUDIES, CommandTable, Json, Servers, Yes, example, refuse_blank

TABLE = CommandTable(MACHINE)


@TABLE.command(epilog=example("crumple servers --json"))
def servers(json: Json = False) -> None:
    """List the servers: version, I/O model, workloads, settings with defaults, and whether they can run."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_servers(json))


@TABLE.command(epilog=example("crumple workloads"))
def workloads(json: Json = False) -> None:
    """List the workloads: the request of each, and the size of its answer."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_workloads(json))


@TABLE.command(group=STUDIES, epilog=example("crumple studies"))
def studies(json: Json = False) -> None:
    """List the studies and their questions."""
    from crumple.commands import lists

    raise typer.Exit(lists.list_studies(json))


@TABLE.command(epilog=example("crumple setup go-nethttp node-http"))
def setup(servers: Servers = None, yes: Yes = False, json: Json = False) -> None:
    """Show what the servers need, install it if you agree, and build them."""
    from crumple.commands import setup

    raise typer.Exit(setup.make_ready(servers or [], yes, json))


@TABLE.command(
    epilog=example("crumple verify node-http", "crumple verify 'node-cluster[workers=2]' ./my-server")
)
def verify(servers: Servers = None, json: Json = False) -> None:
    """Check every answer of every server against the contract.

    Exit code 1: a check failed, or a server did not start.
    """
    from crumple.commands import verify

    raise typer.Exit(verify.check(servers or [], json))


@TABLE.command("new-server", epilog=example("crumple new-server my-server", "crumple verify ./my-server"))
def new_server(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The folder to write. Its name is the server's name.", callback=refuse_blank
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


@TABLE.command(epilog=example("crumple costs --json"))
def costs(json: Json = False) -> None:
    """Measure what system calls, context switches, threads and processes cost on this machine.

    This takes about two seconds.
    """
    from crumple.commands import lists

    raise typer.Exit(lists.list_costs(json))


@TABLE.command(epilog=example("crumple fleet check --from loader --from 'kubectl exec -i load-pod --'"))
def fleet(
    what: Annotated[str, typer.Argument(metavar="check", help="What to do.", callback=refuse_blank)],
    from_: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="A machine that loads are to come from, as in crumple load. May be repeated.",
            callback=refuse_blank,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Look at load hosts: whether each is reached, how far away it is, what it has, and what it lacks.

    This takes a few seconds. Exit code 1: one of them is not reached.
    """
    from crumple.commands import fleet

    raise typer.Exit(fleet.run(what, from_ or [], json))


@TABLE.command(
    epilog=example(
        "crumple cluster up loader-a loader-b",
        "crumple run todo-json --cluster tls://10.0.0.1:8786",
        "crumple cluster down",
    )
)
def cluster(
    what: Annotated[str, typer.Argument(metavar="up|down|worker", help="What to do.", callback=refuse_blank)],
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="HOST…|ADDRESS",
            help="up: hosts, each an ssh destination, or a command that gives a shell there. worker: the "
            "address of a scheduler, which Dask's own settings say how to reach.",
            callback=refuse_blank,
        ),
    ] = None,
    crumple: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="up: what starts crumple on the hosts. Default: what starts it here.",
            callback=refuse_blank,
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="up: the address of this machine at which the hosts reach it. Default: the one at which the "
            "first host sees it.",
            callback=refuse_blank,
        ),
    ] = None,
) -> None:
    """Let several hosts measure a study: start a worker on each, and end them.

    Exit code 1: one of the hosts did not join.
    """
    from crumple.commands import cluster

    raise typer.Exit(cluster.run(what, named or [], crumple, listen))
