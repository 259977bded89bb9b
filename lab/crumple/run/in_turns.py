"""Execute trials in turns: one part of each per round, in an order drawn anew for each round.

A slice is such a part. A trial without slices has only one part.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Protocol

from crumple.contract import Progress
from crumple.engine import Engine
from crumple.run.run_plan import shuffled
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.run.trial import Course, Job


class Watcher(Protocol):
    """Receives the events of trials."""

    def began(self, trial: TrialIdentity) -> None:
        """A trial begins: its server is about to start."""

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        """A slice of the trial begins. `number` counts from 1."""

    def progress(self, trial: TrialIdentity, progress: Progress) -> None:
        """The engine reported its progress, which it does once a second."""


def conduct(jobs: Sequence[Job], load: Engine, watcher: Watcher) -> Iterator[StoredTrial]:
    """Execute the trials and yield each one when it ends; closing the iterator ends them and their servers.

    Raises StorageFull.
    """
    courses = [_course(job, load, watcher) for job in jobs]
    try:
        left = courses
        for number in count():
            order = shuffled(left, f"{jobs[0].trial.seed}/round {number}") if number else left
            left = []
            for course in order:
                if not number:
                    watcher.began(course.job.trial)
                elif number <= course.job.scale.slices:
                    watcher.slice(course.job.trial, number, course.job.scale.slices)
                if course.turn():
                    left.append(course)
                else:
                    yield course.stored()
            if not left:
                return
    finally:
        for course in courses:
            course.close()


def _course(job: Job, load: Engine, watcher: Watcher) -> Course:
    return Course(job, load, lambda line: watcher.progress(job.trial, line))
