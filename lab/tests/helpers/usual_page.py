"""The page of the synthetic run, for tests that look at it, as drawing takes seconds. Not a test itself."""

from functools import cache

import synthetic_run
from crumple.run.report.run_report import html
from crumple.run.report.view import RunView, view


@cache
def seen() -> RunView:
    """The report's view of the run."""
    return view(synthetic_run.run_file(), synthetic_run.trials())


@cache
def page() -> str:
    """The page with its charts."""
    return html(seen())
