"""The tables of stored answers: who waits, causes, numbers, seconds. Pure."""

from collections.abc import Iterable, Sequence
from statistics import median

from answers import CANNOT_TELL, Answer, Tally

MARKS = {"right": "+", "wrong": "WRONG", CANNOT_TELL: "?", "failed": "FAILED"}


def line(answer: Answer) -> str:
    """One answer in one line."""
    said, judged = answer.who or CANNOT_TELL, answer.who_is
    if answer.kind == "cause":
        judged = answer.cause_is
        true = "+".join(answer.truth.causes)
        said = f"{' > '.join(answer.causes) or CANNOT_TELL} (true: {true})"
    if answer.said is None:
        said = answer.error.splitlines()[-1][:100] if answer.error else "no answer"
    elif answer.kind == "plain":
        said += f" (true: {answer.truth.io_models[0]})"
    return f"{answer.name:24} {MARKS[judged]:7} {answer.took_s:4.0f} s  {said}"


def tables(given: Sequence[Answer]) -> str:
    """All tables, each with its sum in words."""
    if not given:
        return "no answer is stored"
    own = [each for each in given if each.own]
    others = [each for each in given if not each.own and each.is_of_who]
    # A load that failed was not asked who waits, either.
    others = others if any(each.said is not None for each in others) else []
    parts = [
        *(_of_who(title, part) for title, part in _named(("the project's servers", own), ("corpus", others))),
        _of_causes([each for each in given if each.kind == "cause"]),
        _of_numbers(given),
        _of_seconds(given),
    ]
    return "\n\n".join(part for part in parts if part)


def _named(*parts: tuple[str, list[Answer]]) -> Iterable[tuple[str, list[Answer]]]:
    return [(title, part) for title, part in parts if part]


def _of_who(title: str, given: Sequence[Answer]) -> str:
    """How often it is right that a process or a thread waits with each request, or that none does."""
    of_one_kind = [each for each in given if each.truth.is_of_one_kind]
    summed = f"who waits, {title}: {Tally.of(each.who_is for each in of_one_kind)}"
    wrong = [
        f"{each.name:24} {MARKS[each.who_is]:7} {each.who or CANNOT_TELL} (true: {each.truth.io_models[0]})"
        for each in of_one_kind
        if each.who_is != "right"
    ]
    return "\n".join([summed, *wrong])


def _of_causes(given: Sequence[Answer]) -> str:
    """Of each planted cause how often the first finding was right, and what else was said."""
    if not given:
        return ""
    rows = [["cause", "right", "wrong", CANNOT_TELL, "failed", "named instead"]]
    for cause in sorted({"+".join(each.truth.causes) for each in given}):
        of_it = [each for each in given if "+".join(each.truth.causes) == cause]
        counts = Tally.of(each.cause_is for each in of_it).counts
        instead = [each.causes[0] for each in of_it if each.cause_is == "wrong" and each.causes]
        rows.append([cause, *(str(number or "") for number in counts.values()), " ".join(instead)])
    summed = f"planted causes, first finding: {Tally.of(each.cause_is for each in given)}"
    both = [each for each in given if each.truth.both]
    if both:
        summed += f"; both of two causes found: {sum(each.names_both for each in both)} of {len(both)}"
    near = [each.name for each in given if each.causes and each.causes[0] in each.truth.near]
    near_line = [f"a near miss was named: {', '.join(near)}"] if near else []
    wrong = [
        line(each) for each in given if each.cause_is != "right" or (each.truth.both and not each.names_both)
    ]
    return "\n".join([summed, _drawn(rows), *near_line, *wrong])


def _of_numbers(given: Sequence[Answer]) -> str:
    """How far numbers of requests at a time are off."""
    lines = []
    for which in ("waits", "computes"):
        off = [(each, each.off(which)) for each in given]
        numbers = [(each, value) for each, value in off if isinstance(value, float)]
        words = [(each, value) for each, value in off if isinstance(value, str)]
        if not numbers and not words:
            continue
        within = sum(abs(value) <= 0.1 for _, value in numbers)
        said = f"{which}: {within} of {len(numbers) + len(words)} within 10 %"
        if numbers:
            far = max(abs(value) for _, value in numbers)
            said += f", median off {median(abs(value) for _, value in numbers):.1%}, most {far:.0%}"
        lines.append(said)
        lines += [f"{each.name:24} {value:+.0%}" for each, value in numbers if abs(value) > 0.1]
        lines += [f"{each.name:24} {value}" for each, value in words]
    return "\n".join(["how many at a time", *lines]) if lines else ""


def _of_seconds(given: Sequence[Answer]) -> str:
    seconds = [each.took_s for each in given]
    return f"seconds for each: median {median(seconds):.0f}, most {max(seconds):.0f}; {len(seconds)} answers"


def _drawn(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
