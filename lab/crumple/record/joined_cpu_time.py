"""What the CPU time of the slices of one start was spent on, as one record. Pure.

A name that a slice does not tell used little CPU time in it: it is taken to have used none.
"""

from collections.abc import Sequence

from crumple.contract import (
    NamedThreads,
    ProfileRecord,
    SampledBetween,
    SampledFunction,
    SampledObject,
    TaskRecord,
)
from crumple.record.slice_rows import gathered

# As many as the engine tells.
NAMES_MOST, FUNCTIONS_MOST, OBJECTS_MOST = 10, 100, 32


def by_name(parts: Sequence[TaskRecord]) -> tuple[NamedThreads, ...]:
    """The CPU time by the names of threads; of a name there are as many threads as in the slice with most."""
    same = gathered((part.by_name for part in parts), lambda each: each.name)
    found = [
        NamedThreads(
            name=name,
            threads=max(each.threads for each in threads),
            cpu_ns=sum(each.cpu_ns for each in threads),
        )
        for name, threads in same.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.cpu_ns)[:NAMES_MOST])


def profile(parts: Sequence[TaskRecord]) -> ProfileRecord | None:
    """The samples of all slices; None: a slice has none, or its samples stand for another time each."""
    found = [each.profile for each in parts if each.profile is not None]
    periods = {each.period_ns for each in found if each.samples}
    if not found or len(found) < len(parts) or len(periods) > 1:
        return None
    return ProfileRecord(
        samples=sum(each.samples for each in found),
        lost=sum(each.lost for each in found),
        period_ns=max(each.period_ns for each in found),
        window_ns=sum(each.window_ns for each in found),
        threads=max(each.threads for each in found),
        named=sum(each.named for each in found),
        functions=_functions(found),
        between=_between(found),
        objects=_objects(found),
        cost_ns=sum(each.cost_ns for each in found),
        naming_cost_ns=sum(each.naming_cost_ns for each in found),
        why=next((each.why for each in found if each.why is not None), None),
    )


def _functions(parts: Sequence[ProfileRecord]) -> tuple[SampledFunction, ...]:
    same = gathered((part.functions for part in parts), lambda each: (each.function, each.object))
    found = [
        SampledFunction(function=name, object=of, samples=sum(each.samples for each in functions))
        for (name, of), functions in same.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.samples)[:FUNCTIONS_MOST])


def _between(parts: Sequence[ProfileRecord]) -> tuple[SampledBetween, ...]:
    same = gathered((part.between for part in parts), lambda each: (each.after, each.before, each.object))
    found = [
        SampledBetween(after=after, before=before, object=of, samples=sum(each.samples for each in code))
        for (after, before, of), code in same.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.samples)[:FUNCTIONS_MOST])


def _objects(parts: Sequence[ProfileRecord]) -> tuple[SampledObject, ...]:
    same = gathered((part.objects for part in parts), lambda each: each.object)
    found = [
        SampledObject(
            object=name,
            samples=sum(each.samples for each in objects),
            named=sum(each.named for each in objects),
            why=next((each.why for each in objects if each.why is not None), None),
        )
        for name, objects in same.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.samples)[:OBJECTS_MOST])
