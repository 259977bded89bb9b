"""The table of `load`. It has a module of its own, as a load is to begin at once."""

import typer

from crumple.commands.spread_flags import spread
from crumple.commands.table import LOAD, CommandTable, example
from crumple.load import load_flags

TABLE = CommandTable(LOAD)


@TABLE.command(
    epilog=example(
        "crumple load http://localhost:8080/",
        "crumple load http://localhost:8080/ --rate 5000 -z 1m --fail-if 'p99>250ms'",
        "crumple load --curl @copied.txt -c 20",
        "crumple load http://localhost:8080/ --from loader",
    )
)
@spread
def load(url: load_flags.Url = None, *, flags: load_flags.LoadFlags) -> None:
    """Put a load on a URL, by default 50 connections for 10 seconds.

    Exit code 1: a --fail-if holds, or no request was answered as expected; 3: the server was lost,
    the load is not valid, or whether a --fail-if holds is not known; 130: interrupted.
    """
    from crumple.commands import load

    raise typer.Exit(load.put_on(url, flags))
