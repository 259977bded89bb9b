"""The chart of a diagnosis on its page: the mean response time by stages. Pure."""

import altair as alt

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.drawing.page import Chart
from crumple.load.report import time_chart
from crumple.record.stages import Budget


def time_by_stages(diagnosis: Diagnosis, width_px: int) -> alt.TopLevelMixin | None:
    """A bar for each load, a piece of it for each part."""
    found = say.budgets(diagnosis)
    bars = [(say.load(record), budget) for _, record, budget in found if isinstance(budget, Budget)]
    return time_chart.bars(bars, width_px)


CHARTS = (Chart("time-by-stages", "Where the time goes", time_chart.ABOUT, time_by_stages),)
