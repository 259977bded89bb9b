"""A search as documents have it: its levels, and what they came to. It reads what `find_output` writes."""

import dataclasses
from typing import Any, get_type_hints

from pydantic import create_model

from crumple.contract_base import Lenient
from crumple.find.level import Level
from crumple.find.search import Ending, Found, Guess
from crumple.find.seen import Base
from crumple.load.report.parts_of_documents import TimeData, time
from crumple.record.loss import Lost
from crumple.stats.interval import Interval

_TYPES = get_type_hints(Level)
# The time is written by `time_sentences`; all else as it is.
_OWN = [each.name for each in dataclasses.fields(Level) if each.name != "time"]
_FIELDS: Any = {**{name: (_TYPES[name], ...) for name in _OWN}, "time": (TimeData | None, ...)}
# A level, as documents have it.
LevelData: Any = create_model("LevelData", __base__=Lenient, __doc__=Level.__doc__, **_FIELDS)


class SearchData(Lenient):
    """A search for the breaking point: its levels in the order of trying, and what they came to."""

    ending: Ending
    """Why it ended."""
    breaking_point: Interval | None
    """The highest load that lasts, with its 95 % interval; null: the levels do not show it."""
    breaks_by: str | None
    """The part of the objective that breaks there."""
    queue: bool
    """Whether its slow answers came out of a queue."""
    guess: Guess | None
    """What some connections without pauses got, before the first level."""
    calm: Base | None
    """Response times of requests that were sent one by one."""
    took_s: float
    """How long it took."""
    lost: Lost | None = None
    """How the server was lost, if it was: then the search ended with that."""
    lost_at: float | None = None
    """The load at which it was lost; null: before the first level, or between levels."""
    levels: tuple[LevelData, ...]
    """Each load that was tried."""

    def found(self) -> Found:
        """Return what the search found."""
        return Found(
            ending=self.ending,
            levels=tuple(level(each) for each in self.levels),
            point=self.breaking_point,
            breaks_by=self.breaks_by,
            queue=self.queue,
            guess=self.guess,
            calm=self.calm,
            took_s=self.took_s,
            lost=self.lost,
            lost_at=self.lost_at,
        )


def level(data: Any) -> Level:
    """Return a level."""
    return Level(time=time(data.time), **{name: getattr(data, name) for name in _OWN})
