"""What a reader has to know of a comparison: what makes it doubtful, and what it does not hold. Pure."""

from collections.abc import Iterator

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.versus.calibrating import SampleAnswer
from crumple.versus.letters import FIRST
from crumple.versus.report.versus_figures import VersusFigures

# The least ratio of the speed of the cores in two turns that a note mentions.
SPEED_APART = 1.1


def notes(result: VersusFigures) -> list[str]:
    """All that there is to note, each a sentence without full stop."""
    return [*cautions(result), *further(result), *remarks(result)]


def cautions(result: VersusFigures) -> list[str]:
    """What makes it doubtful; of the warnings of loads, that of most loads."""
    return [
        *_same(result),
        *_failing(result),
        *_differing(result),
        *(_behind(letter, result) for letter in result.behind),
        *_not_counted(result),
        *_uneven_speed(result),
        *_warned(result)[:1],
    ]


def further(result: VersusFigures) -> list[str]:
    """The other warnings of loads."""
    return _warned(result)[1:]


def remarks(result: VersusFigures) -> list[str]:
    """What the comparison does not hold."""
    return [*_running(result), *_left_out(result)]


def _warned(result: VersusFigures) -> list[str]:
    of = 2 * sum(len(result.turns(letter)) for letter in result.labels)
    return [f"{said} (in {number} of {of} loads)" for said, number in result.warnings]


def _same(result: VersusFigures) -> Iterator[str]:
    for letter in result.same:
        yield f"{FIRST} and {letter} are the same, so whatever differs is chance"


def _failing(result: VersusFigures) -> Iterator[str]:
    for letter, share in result.failing.items():
        yield f"{letter} failed up to {numerals.share(share)} of the requests of a load"


def _differing(result: VersusFigures) -> Iterator[str]:
    for letter, pairs in result.differing.items():
        for one, other in pairs:
            yield f"{FIRST} and {letter} answer {one.asked} differently: {_answer(one)}, and {_answer(other)}"


def _answer(answer: SampleAnswer) -> str:
    kind = f" of {answer.content_type}" if answer.content_type else ""
    return f"{answer.status} with {numerals.count(answer.body_bytes, 'byte')}{kind}"


def _behind(letter: str, result: VersusFigures) -> str:
    per_s = numerals.rate(result.compared.rate_per_s)
    return f"{letter} cannot keep up with {per_s}: its times grow as long as the load lasts; lower --rate"


def _not_counted(result: VersusFigures) -> Iterator[str]:
    """Why turns do not count, with one example of each kind of reason."""
    every = sum(len(result.turns(letter)) for letter in result.labels)
    for said, number in result.against:
        example = ", for instance" if number > 1 else ""
        yield f"{number} of {every} turns do not count in full: {said}{example}"


def _running(result: VersusFigures) -> Iterator[str]:
    running = [letter for letter, is_new in result.afresh.items() if not is_new]
    if running:
        yield (
            f"{' and '.join(running)} ran already: the intervals do not hold what differs from start to start"
        )


def _uneven_speed(result: VersusFigures) -> Iterator[str]:
    """Why a ratio is not that of the figures beside it."""
    factor = max((max(each) / min(each) for each in result.speeds_by_load), default=1.0)
    if factor >= SPEED_APART and result.is_corrected:
        yield (
            f"the server's cores were up to {factor:.2g} times as fast in one turn as in another, by "
            "neighbours on the same hardware or by the clock; the ratios are those at equal speed"
        )


def _left_out(result: VersusFigures) -> Iterator[str]:
    rule = result.compared.rule
    if rule is None:
        return
    if "cpu" not in rule.figures:
        yield "CPU per request is not compared: the process of a version is not known, or not on this machine"
    quantiles = [name for name in ("p50", "p90", "p99") if name not in rule.figures]
    if quantiles:
        per_s = numerals.rate(result.compared.rate_per_s)
        yield f"a load at {per_s} has too few answers for {', '.join(quantiles)}".replace(NARROW, " ")
