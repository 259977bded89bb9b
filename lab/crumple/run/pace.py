"""Predict how long trials take, from the trials that ended: a server's start, its load, the lab's own time.

Does no I/O; `run_live` shows the predictions.
"""

from collections.abc import Collection, Iterable
from statistics import fmean, median

from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.claim import ScaleName
from crumple.study.study import Study
from crumple.study.study_load import Until

# A server is assumed to take half a second to start, until one was measured.
START_S = 0.5
# The lab is assumed to take a second around a load, for checks and stopping, until that was measured.
LAB_S = 1.0
# Nanoseconds in a second.
NS_PER_S = 1e9


class TrialPace:
    """Predicts the duration of trials, in seconds. All runs of a session share one."""

    def __init__(self) -> None:
        self._start_s: dict[str, float] = {}
        self._lab_s: dict[tuple[str, str], float] = {}
        self._phase_s: dict[tuple[str, str, str], float] = {}
        self._failed_s: dict[tuple[str, str], float] = {}

    def ended(self, stored: StoredTrial) -> None:
        """Learn from a trial that ended."""
        place = (stored.trial.experiment, stored.trial.server)
        self._failed_s.pop(place, None)
        if stored.record is None:
            # A refused trial takes no time. A trial that failed will take as long to fail again.
            refused = stored.failure is not None and stored.failure.step in ("setup", "build")
            self._failed_s[place] = 0.0 if refused else stored.overhead_s
            return
        start_s = stored.server.start_s or 0.0
        self._start_s[stored.trial.server] = start_s
        phases = {"warm-up": stored.record.warm_up_ns, "measured": stored.record.measured_ns}
        for name, ns in phases.items():
            self._phase_s[(*place, name)] = ns / NS_PER_S
        self._lab_s[place] = stored.overhead_s

    def left_s(self, study: Study, scale: ScaleName, trials: Iterable[TrialIdentity]) -> float | None:
        """Return how long these trials take; None if that depends on servers whose speed is not known yet."""
        total_s = 0.0
        for trial in trials:
            each_s = self.of(study, scale, trial)
            if each_s is None:
                return None
            total_s += each_s
        return total_s

    def of(self, study: Study, scale: ScaleName, trial: TrialIdentity) -> float | None:
        """Return how long one trial takes; None if that depends on a server whose speed is not known yet."""
        place = (trial.experiment, trial.server)
        if place in self._failed_s:
            return self._failed_s[place]
        meant = study.experiments[trial.experiment].scales[scale]
        load_s = self._until_s(place, "measured", meant.stop)
        warm_up = meant.warm_up_for(trial.server)
        warm_up_s = self._until_s(place, "warm-up", warm_up) if warm_up else 0.0
        if load_s is None or warm_up_s is None:
            return None
        start_s = self._start_s.get(trial.server, _usual(self._start_s.values(), START_S))
        return start_s + warm_up_s + load_s + self._around_s(place)

    def _around_s(self, place: tuple[str, str]) -> float:
        """Return the lab's own time: this server's, else the median of the experiment's, else of all."""
        if place in self._lab_s:
            return self._lab_s[place]
        alike = [seconds for (experiment, _), seconds in self._lab_s.items() if experiment == place[0]]
        return _usual(alike or self._lab_s.values(), LAB_S)

    def _until_s(self, place: tuple[str, str], phase: str, until: Until) -> float | None:
        """Return the length of a phase: as configured, else as measured, else the mean of other servers.

        A phase that ends after a number of requests has no configured length.
        """
        if until.duration_s is not None:
            return until.duration_s
        known = self._phase_s.get((*place, phase))
        if known is not None:
            return known
        alike = [
            seconds
            for (experiment, _, name), seconds in self._phase_s.items()
            if (experiment, name) == (place[0], phase)
        ]
        return fmean(alike) if alike else None


def _usual(known: Collection[float], otherwise: float) -> float:
    """Return the median, or `otherwise` if nothing is known.

    The mean would let one server that takes a minute to finish its load distort the prediction for others.
    """
    return median(known) if known else otherwise
