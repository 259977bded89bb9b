"""Puts the loads of a diagnosis on, each once more if others used the machine meanwhile."""

from collections.abc import Callable

from crumple.contract import TrialRecord
from crumple.diagnose.time_left import Part, TimeLeft
from crumple.record.disturbance import disturbance

# Once so many loads were put on again in vain, the machine is not calm, and none is put on again.
IN_VAIN_MAX = 2
AGAIN: Part = "loads that others disturbed, once more"

# The record of a load, and that of the light requests beside it.
Records = tuple[TrialRecord, TrialRecord | None]


class Calmly:
    """Puts loads on. One diagnosis has one of these, so that the bound is of all its loads."""

    def __init__(self, time_left: TimeLeft | None = None) -> None:
        self._in_vain = 0
        self._time = time_left or TimeLeft()

    def put_on(
        self, load: Callable[[], Records], settle: Callable[[], object] = lambda: None
    ) -> tuple[TrialRecord, str]:
        """Put a load on, once more if others used the machine; return its record and who used it then.

        `settle`: wait between the two until the server has done what it was asked.
        """
        record, beside = load()
        is_disturbed = disturbance(record, beside).disturbed
        if is_disturbed and self._in_vain < IN_VAIN_MAX and self._time.has(AGAIN):
            settle()
            record, beside = load()
            self._in_vain += disturbance(record, beside).disturbed
        return record, disturbance(record, beside).why
