"""A change that was tried, and what is said of it."""

from dataclasses import replace

from crumple.diagnose.report import remedy_sentences
from crumple.limit import remedy
from crumple.limit.finding import Finding
from crumple.limit.remedy import Expected, Remedy
from crumple.observation.outcome import LoadPairs

THEN = (Finding("cpu", "likely", 0.9, None, "it uses 2 of 2 cores", "make a request cheaper"),)
FOUND = remedy.compared(LoadPairs(1.95, 0.02, 4), [38.0, 38.0], [74.0, 74.2])
TRIED = Remedy("WEB_CONCURRENCY=8", Expected(1.9, 2.0), "", FOUND, 64, THEN)


def said(tried: Remedy) -> list[tuple[str, str]]:
    return [(name, text.replace("\u202f", " ")) for name, text in remedy_sentences.rows(tried)]


def test_the_interval_is_students_over_the_pairs() -> None:
    # Two standard errors of 0.039, which a ratio of 1.95 has at least, times the t of 3 degrees of freedom.
    assert round(FOUND.gain.low, 2) == 1.83 and round(FOUND.gain.high, 2) == 2.07 and FOUND.gain.n == 4
    wide = remedy.compared(LoadPairs(1.95, 0.1, 4), [38.0], [74.0])
    assert round(wide.gain.high - wide.gain.estimate, 2) == 0.32


def test_it_is_as_predicted_if_the_intervals_meet() -> None:
    assert TRIED.outcome == "as predicted"
    assert replace(TRIED, predicted=Expected(2.2, 2.4)).outcome == "less than predicted"
    assert replace(TRIED, predicted=Expected(1.0, 1.1)).outcome == "more than predicted"
    assert replace(TRIED, predicted=None).outcome is None
    assert replace(TRIED, compared=None).outcome is None


def test_it_says_what_it_gave_and_what_limits_then() -> None:
    (changed, gave), (then, limit) = said(TRIED)
    assert (changed, then) == ("changed", "limit then")
    assert gave == (
        "as it is 38.0 /s, with WEB_CONCURRENCY=8 74.1 /s, × 1.95 [1.83 – 2.07]; "
        "predicted × 1.90 – 2.00: as predicted"
    )
    assert limit.endswith("it uses 2 of 2 cores")


def test_it_says_where_the_prediction_ends() -> None:
    assert (
        "× 1.90 – 2.00, where CPU is the limit: as"
        in said(replace(TRIED, predicted=Expected(1.9, 2.0, "CPU")))[0][1]
    )


def test_what_could_not_be_compared_says_why_and_what_was_predicted() -> None:
    tried = replace(TRIED, compared=None, then=(), problem="it ended with code 1 before it answered")
    assert said(tried) == [
        (
            "changed",
            "with WEB_CONCURRENCY=8: not compared, as it ended with code 1 before it answered "
            "(predicted × 1.90 – 2.00)",
        )
    ]
    none = replace(TRIED, predicted=None, why_none="what limits it is not known")
    assert said(none)[0][1].endswith("; no prediction: what limits it is not known")


def test_nothing_is_said_where_nothing_was_tried() -> None:
    assert remedy_sentences.rows(None) == []
