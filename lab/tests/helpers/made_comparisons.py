"""The document of a comparison of two runs."""

import json
from typing import Any

import synthetic_run
from crumple.run.report.report_document import as_json
from crumple.run.report.view import view


def document(factor: float = 1.0) -> dict[str, Any]:
    """Return the report of the made-up run, with its Node server slower by `factor`."""
    written = json.loads(as_json(view(synthetic_run.run_file(), synthetic_run.trials())))
    for trial in written["trials"]:
        if trial["server"] == "node-http" and trial["figures"]:
            trial["figures"]["throughput"] /= factor
    return dict(written)
