"""A report of more blocks is no longer to read: what is more is folded."""

import re
from collections.abc import Callable

import pytest
import synthetic_run
from crumple.run.report.run_report import html, markdown
from crumple.run.report.view import RunView, view


@pytest.mark.parametrize("written", [html, markdown])
def test_twice_as_many_blocks_make_a_report_no_longer_to_read(written: Callable[[RunView], str]) -> None:
    trials = [each for each in synthetic_run.trials() if each.record is not None and not each.problems]
    run, blocks = synthetic_run.run_file(), max(each.trial.block for each in trials)
    later = []
    for each in trials:
        changed = {"block": each.trial.block + blocks, "id": f"{each.trial.id}-later"}
        later.append(each.model_copy(update={"trial": each.trial.model_copy(update=changed)}))
    few, many = (len(unfolded(written(view(run, each))).split()) for each in (trials, trials + later))
    assert many < 1.1 * few


def unfolded(text: str) -> str:
    """Return what a reader sees of a page or of Markdown before anything is unfolded."""
    for hidden in ("details", "style", "svg"):
        text = re.sub(rf"<{hidden}\b.*?</{hidden}>", " ", text, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)
