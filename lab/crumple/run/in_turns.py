"""Execute trials in turns: one part of each per round, in an order drawn anew for each round.

The first part starts a server, each of the next ones is a turn of load: a part of its warm-up, or a slice. A
trial without slices has only one part.
"""

from collections.abc import Generator, Sequence
from itertools import count
from typing import Protocol

from crumple.contract import ProgressLine
from crumple.engine import Engine
from crumple.run import slices
from crumple.run.slices import Turns
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.run.trial import Job, TrialInProgress
from crumple.stats.shuffling import shuffle


class TurnWatcher(Protocol):
    """Receives the events of trials."""

    def began(self, trial: TrialIdentity) -> None:
        """A trial begins: its server is about to start."""

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        """A slice of the trial begins. `number` counts from 1."""

    def progress(self, trial: TrialIdentity, progress: ProgressLine) -> None:
        """The engine reported its progress, which it does once a second."""


def conduct(jobs: Sequence[Job], load: Engine, watcher: TurnWatcher) -> Generator[StoredTrial, None, None]:
    """Execute the trials and yield each one when it ends; closing the iterator ends them and their servers.

    Raises StorageFull.
    """
    number_of = _turns(jobs)
    courses = [_course(job, number_of, load, watcher) for job in jobs]
    try:
        left = courses
        for number in count():
            order = shuffle(left, f"{jobs[0].trial.seed}/round {number}") if number else left
            left = []
            for course in order:
                if not number:
                    watcher.began(course.job.trial)
                elif 0 < number - number_of.warm_up <= number_of.measured:
                    watcher.slice(course.job.trial, number - number_of.warm_up, number_of.measured)
                if course.turn():
                    left.append(course)
                else:
                    yield course.stored()
            if not left:
                return
    finally:
        for course in courses:
            course.close()


def _turns(jobs: Sequence[Job]) -> Turns:
    """Return how many turns of load each of the trials has; of one without slices that means nothing."""
    warm_ups = [job.scale.warm_up_for(job.trial.server) for job in jobs]
    seconds = [each.duration_s for each in warm_ups if each and each.duration_s is not None]
    return slices.turns(seconds, jobs[0].scale.slices)


def _course(job: Job, number_of: Turns, load: Engine, watcher: TurnWatcher) -> TrialInProgress:
    return TrialInProgress(job, number_of, load, lambda line: watcher.progress(job.trial, line))
