"""Tables as CSV, as Parquet, and as data frames of polars, which Parquet needs too."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crumple.errors import CrumpleError
from crumple.exports.result_tables import Table

if TYPE_CHECKING:
    import polars as pl

# It is not installed with crumple, because it takes as much room as all the rest.
REMEDY = "install it beside crumple: pip install polars; or write CSV"


def as_csv(table: Table) -> str:
    """Return the table as CSV with a head; an empty cell: no value."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(each.name for each in table)
    writer.writerows(zip(*(each.values for each in table), strict=True))
    return written.getvalue()


def frame(table: Table) -> "pl.DataFrame":
    """Return the table as a data frame. Raises CrumpleError without polars."""
    polars = _polars()
    types = {
        "text": polars.String, "whole": polars.Int64, "number": polars.Float64, "yes or no": polars.Boolean,
    }  # fmt: skip
    made: pl.DataFrame = polars.DataFrame(
        {
            each.name: polars.Series(each.name, list(each.values), types[each.type_], strict=False)
            for each in table
        }
    )
    return made


def write_parquet(table: Table, path: Path) -> None:
    """Write the table to a Parquet file. Raises CrumpleError without polars, or if it cannot be written."""
    made = frame(table)
    try:
        with path.open("wb") as file:
            made.write_parquet(file)
    except OSError as error:
        raise CrumpleError(f"cannot write {path}: {error.strerror}", "name another file") from None


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise CrumpleError(f"polars is needed for this, and cannot be imported: {error}", REMEDY) from None
    return polars
