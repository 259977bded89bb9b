"""crumple export: writes a stored result or run for other programs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.errors import CrumpleError, UsageError
from crumple.exports import history, measured, openmetrics, percentile_file, result_tables, table_files
from crumple.exports.measured import Measured
from crumple.load import flag_files
from crumple.load.report import load_files
from crumple.parsing import did_you_mean
from crumple.results import restored, selection
from crumple.results.selection import StoredEntry

ENDINGS = (".parquet", ".csv", ".hgrm", ".hlog")
Export = Callable[[Measured, str | None], str]
FORMATS: dict[str, Export] = {
    "bencher": history.bencher,
    "github-action-benchmark": partial(history.github_action_benchmark, better="lower"),
    "github-action-benchmark-bigger": partial(history.github_action_benchmark, better="higher"),
    "openmetrics": lambda found, _: openmetrics.text(found),
}


def export(what: str, to: Path | None, as_: str | None, table: str | None, benchmark: str | None) -> int:
    """Write the result in a format, or as what the ending of the file says."""
    _check(to, as_, table, benchmark)
    entry = selection.one(what, Project.here().runs)
    flag_files.refuse([("--to", to)], [(entry.name, entry.path)])
    with selection.whole(entry):
        _write(entry, to, as_, table, benchmark)
    return 0


def _write(
    entry: StoredEntry, to: Path | None, as_: str | None, table: str | None, benchmark: str | None
) -> None:
    if as_ is not None:
        text = FORMATS[as_](measured.measure(entry), benchmark)
        if to is None:
            output.plain(text)
        else:
            _save(to, text)
    elif to is not None and to.suffix in (".hgrm", ".hlog"):
        _save(to, _percentiles(entry, to.suffix))
    elif to is not None:
        _tables(measured.measure(entry), to, table)


def _check(to: Path | None, as_: str | None, table: str | None, benchmark: str | None) -> None:
    if as_ is not None and as_ not in FORMATS:
        raise UsageError(f'no format is called "{as_}"', did_you_mean(as_, FORMATS))
    if as_ is None and to is None:
        raise UsageError(
            "nothing says what to write", "name a file: --to a.parquet, or a format: --as bencher"
        )
    if as_ is None and to is not None and to.suffix not in ENDINGS:
        raise UsageError(f"--to {to}: the ending says no format", f"end it with {', '.join(ENDINGS)}")
    if table is not None and (as_ is not None or (to is not None and to.suffix not in (".parquet", ".csv"))):
        raise UsageError("--table is for .parquet and .csv", "leave it out")
    if benchmark is not None and as_ in (None, "openmetrics"):
        raise UsageError("--benchmark names what a history tool tracks", "leave it out, or say --as bencher")
    if str(to) == "-":
        raise UsageError("--to -: that names no file", "leave it out to write to stdout")


def _percentiles(entry: StoredEntry, ending: str) -> str:
    if entry.is_run or entry.document["kind"] != "load":
        raise UsageError(f"{entry.name} is no load", "percentile files are of one load; write .csv instead")
    load = restored.read(entry.document, entry.name)
    if ending == ".hlog":
        return load_files.hdr_log(load)
    return percentile_file.percentiles(load.record.histograms.response_time)


def _tables(found: Measured, to: Path, table: str | None) -> None:
    made = result_tables.tables(found)
    if not any(each and each[0].values for each in made.values()):
        raise CrumpleError(f"{found.name} has no table", "export a load, a search or a run")
    if table is not None and table not in made:
        raise UsageError(f'{found.name} has no table called "{table}"', did_you_mean(table, made))
    for name, each in made.items():
        if table not in (None, name):
            continue
        # One table has the name of the file; of several each has its own beside it.
        path = to if table is not None else to.with_suffix(f".{name}{to.suffix}")
        if to.suffix == ".csv":
            _save(path, table_files.as_csv(each))
        else:
            table_files.write_parquet(each, path)
            output.say(f"wrote {path}")


def _save(path: Path, text: str) -> None:
    output.save(path, text)
    output.say(f"wrote {path}")
