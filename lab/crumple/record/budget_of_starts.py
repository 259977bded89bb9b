"""The time budgets of several starts of one server, under the same load, as one. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace

from crumple.record.flow import Name, StageTime
from crumple.record.inside import Divided, Inside, NotDivided
from crumple.record.stages import Budget
from crumple.stats import student

# From three starts on, the interval is that of the means of the starts: a start is the unit of replication.
STARTS_MIN = 3


def budget_of_starts(budgets: Sequence[Budget]) -> Budget | None:
    """Return the means over the starts; None: there is no budget.

    With three starts or more, intervals are of the starts' means (Student's t). With two they are those
    within the trials, and reach at least from one start's mean to the other's.
    """
    if len(budgets) < 2:
        return budgets[0] if budgets else None
    first, readings = budgets[0], sum(each.readings for each in budgets)
    whole = _mean([StageTime("due", each.sum_ns, each.sum_low_ns, each.sum_high_ns, 0) for each in budgets])
    return Budget(
        parts=tuple(_mean([each.part(part.name) for each in budgets]) for part in first.parts),
        sum_ns=whole.mean_ns,
        sum_low_ns=whole.low_ns,
        sum_high_ns=whole.high_ns,
        measured_ns=sum(each.measured_ns for each in budgets) / len(budgets),
        readings=readings,
        late_ns=max(each.late_ns for each in budgets),
        cost_ns=sum(each.cost_ns * each.readings for each in budgets) / readings,
        cost_cores=sum(each.cost_cores for each in budgets) / len(budgets),
        from_server_end=first.from_server_end,
        inside=_inside([each.inside for each in budgets]),
    )


def _inside(found: Sequence[Inside | None]) -> Inside | None:
    """Divide the time inside, if that of each start is divided."""
    divided = [each for each in found if isinstance(each, Divided)]
    if len(divided) < len(found):
        whys = [each.why for each in found if isinstance(each, NotDivided)]
        if not whys:
            return None
        return NotDivided(f"in {len(whys)} of {len(found)} starts: {whys[0]}" if divided else whys[0])
    names = list(dict.fromkeys(_key(piece) for each in divided for piece in each.pieces))
    # What is left comes last, whatever the starts waited for.
    names.sort(key=lambda key: key[0] == "otherwise")
    pieces: list[StageTime] = []
    for name, of in names:
        same = [_found(each, name, of) for each in divided]
        pieces.append(replace(_mean(same), of=of))
    untold = tuple(dict.fromkeys(each for start in divided for each in start.untold))
    return Divided(_unsplit(pieces), untold)


def _key(piece: StageTime) -> tuple[Name, str]:
    return piece.name, piece.of


def _found(of_start: Divided, name: Name, of: str) -> StageTime:
    nothing = StageTime(name, 0.0, 0.0, 0.0, 0.0, of)
    return next((piece for piece in of_start.pieces if _key(piece) == (name, of)), nothing)


def _unsplit(pieces: Sequence[StageTime]) -> tuple[StageTime, ...]:
    """The pieces; CPU time as one of them if some starts do not tell user and kernel time apart."""
    cpu = [piece for piece in pieces if piece.name in ("user", "kernel", "cpu")]
    if "cpu" not in {piece.name for piece in cpu} or len(cpu) == 1:
        return tuple(pieces)
    mean_ns = sum(piece.mean_ns for piece in cpu)
    error_ns = math.hypot(*(piece.high_ns - piece.mean_ns for piece in cpu))
    one = replace(
        cpu[0],
        name="cpu",
        mean_ns=mean_ns,
        low_ns=max(0.0, mean_ns - error_ns),
        high_ns=mean_ns + error_ns,
        readings=max(piece.readings for piece in cpu),
    )
    return (one, *(piece for piece in pieces if piece not in cpu))


def _mean(parts: Sequence[StageTime]) -> StageTime:
    """The mean of a part over the starts, with its interval."""
    number = len(parts)
    mean_ns = sum(part.mean_ns for part in parts) / number
    readings = sum(part.readings for part in parts)
    if number < STARTS_MIN:
        apart = max(abs(part.mean_ns - mean_ns) for part in parts)
        below = max(apart, math.hypot(*(part.mean_ns - part.low_ns for part in parts)) / number)
        above = max(apart, math.hypot(*(part.high_ns - part.mean_ns for part in parts)) / number)
    else:
        square = sum((part.mean_ns - mean_ns) ** 2 for part in parts) / (number - 1)
        below = above = student.of_interval(number - 1) * math.sqrt(square / number)
    return StageTime(parts[0].name, mean_ns, max(0.0, mean_ns - below), mean_ns + above, readings)
