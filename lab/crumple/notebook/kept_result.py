"""A result as Python code has it: its document, its figures, its tables, and how a notebook shows it."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crumple.errors import NotFound
from crumple.parsing import did_you_mean
from crumple.results.selection import StoredEntry

if TYPE_CHECKING:
    import polars as pl

    from crumple.drawing.report_parts import Report
    from crumple.exports.measured import Measured
    from crumple.exports.result_tables import Table


class KeptResult:
    """A load, search, diagnosis, comparison of versions or run. A notebook shows its answer.

    `code`: the exit code of the command, if it was measured now; `said`: its messages. `code` 1: a --fail-if
    holds, for instance, or no request was answered as expected; 3: it is not valid. `page`: the file that
    --html wrote, which a notebook links to.
    """

    def __init__(
        self, entry: StoredEntry, code: int | None = None, said: tuple[str, ...] = (), page: str = ""
    ) -> None:
        self._entry = entry
        self._page = page
        self.code = code
        self.said = said

    @property
    def name(self) -> str | None:
        """The name in the store; None if it is not stored."""
        return self._entry.name if self._entry.is_run else self.document.get("name")

    @property
    def kind(self) -> str:
        """The command that measured it: load, find, diagnose, versus, or run."""
        return self._entry.verb

    @property
    def document(self) -> Mapping[str, Any]:
        """What --json prints; of a run, its run.json. docs/reference/json.md says what it holds."""
        return self._entry.document

    @property
    def headline(self) -> str:
        """What it came to, in a line."""
        if self._entry.is_run:
            return self._measured.asked
        from crumple.results import shown_again

        return shown_again.headline(self.document)

    @cached_property
    def tables(self) -> Mapping[str, "Table"]:
        """The tables by their names.

        A search has levels; a comparison of versions turns and ratios; all else trials, series and quantiles.
        """
        from crumple.exports import result_tables

        return result_tables.tables(self._measured)

    def to_polars(self, table: str | None = None) -> "pl.DataFrame":
        """Return a table as a data frame; by default the first: trials, levels, or turns.

        Raises NotFound if there is no such table, and CrumpleError without polars.
        """
        from crumple.exports import table_files

        name = next(iter(self.tables)) if table is None else table
        if name not in self.tables:
            raise NotFound(f'there is no table called "{name}"', did_you_mean(name, self.tables))
        return table_files.frame(self.tables[name])

    def quantiles_ns(self, time: str = "response_time", trial: str | None = None) -> dict[float, float]:
        """Return quantile → ns of the ok answers, as far as there are enough; 1: the longest.

        `time`: a histogram of the record, such as service_time. `trial`: of a run or a diagnosis; None: the
        first. Raises NotFound.
        """
        columns = {each.name: each.values for each in self.tables.get("quantiles", ())}
        rows = list(
            zip(*(columns.get(name, ()) for name in ("trial", "time", "quantile", "value_ns")), strict=True)
        )
        wanted = trial or (rows[0][0] if rows else None)
        found = {q: ns for of, what, q, ns in rows if (of, what) == (wanted, time)}
        if not found:
            raise NotFound(
                f"there are no quantiles of {time}{f' in {trial}' if trial else ''}", "see .tables"
            )
        return found

    def screen(self) -> str:
        """Return what the command printed."""
        if self._entry.is_run:
            from crumple.run.report import run_report

            return run_report.text(self._view)
        from crumple.results import shown_again

        return shown_again.text(self.document, self._entry.name)

    def html(self) -> str:
        """Return the whole page, with charts, which loads nothing else."""
        if self._entry.is_run:
            from crumple.run.report import run_report

            return run_report.html(self._view)
        from crumple.results import shown_again

        return shown_again.html(self.document, self._entry.name)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"<crumple {self.kind} {self.name or 'not stored'}: {self.headline}>"

    def _repr_html_(self) -> str:
        from crumple.drawing import report_notebook

        return report_notebook.html(self._report, self._page)

    def _repr_markdown_(self) -> str:
        from crumple.drawing import report_notebook

        return report_notebook.markdown(self._report)

    @property
    def _report(self) -> "Report":
        if self._entry.is_run:
            from crumple.run.report import run_report

            return run_report.report(self._view)
        from crumple.results import shown_again

        return shown_again.report(self.document, self._entry.name)

    @cached_property
    def _measured(self) -> "Measured":
        from crumple.exports import measured

        return measured.measure(self._entry)

    @cached_property
    def _view(self) -> Any:
        from crumple.run import run_file
        from crumple.run.report.view import view
        from crumple.run.store import RunStore

        store = RunStore(self._entry.path)
        return view(run_file.read(store), store.trials())
