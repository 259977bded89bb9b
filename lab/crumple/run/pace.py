"""How long trials take, learned as they end: a server's start, a load that its requests end, the lab around.

Pure but for what it remembers; what is shown of it is `live`'s.
"""

from collections.abc import Collection, Iterable
from statistics import fmean, median

from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import ScaleName, Study, Until

# Until it is known: a start, and what the lab does around a load.
START_S = 0.5
LAB_S = 1.0
NS_PER_S = 1e9


class Pace:
    """Seconds of trials to come. Of runs that follow each other one learns for the next."""

    def __init__(self) -> None:
        self._start_s: dict[str, float] = {}
        self._lab_s: dict[tuple[str, str], float] = {}
        self._phase_s: dict[tuple[str, str, str], float] = {}
        self._failed_s: dict[tuple[str, str], float] = {}

    def ended(self, stored: StoredTrial) -> None:
        """Learn from a trial."""
        place = (stored.trial.experiment, stored.trial.server)
        self._failed_s.pop(place, None)
        if stored.record is None:
            # One that is refused takes no time; one that fails will fail as slowly again.
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
        """What these trials take; None while that depends on the speed of servers nobody has seen as yet."""
        total_s = 0.0
        for trial in trials:
            each_s = self.of(study, scale, trial)
            if each_s is None:
                return None
            total_s += each_s
        return total_s

    def of(self, study: Study, scale: ScaleName, trial: TrialIdentity) -> float | None:
        """What one trial takes."""
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
        """What the lab does around a load: as before, as at other servers of the experiment, or as usual."""
        if place in self._lab_s:
            return self._lab_s[place]
        alike = [seconds for (experiment, _), seconds in self._lab_s.items() if experiment == place[0]]
        return _usual(alike or self._lab_s.values(), LAB_S)

    def _until_s(self, place: tuple[str, str], phase: str, until: Until) -> float | None:
        """By the clock it is known; by requests it is as long as before, or as at the other servers."""
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
    """The median: one server that takes a minute to work off its load is not what others will do."""
    return median(known) if known else otherwise
