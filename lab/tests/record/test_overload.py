"""An open load is an overload if what waits grows throughout, beyond chance, and not for slow requests."""

import dataclasses
import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import documents
import made_at_load
import made_open
import made_results
import numpy as np
import pytest
import queues
import synthetic_load
from crumple.commands import load as load_command
from crumple.commands import load_result
from crumple.contract import TrialRecord
from crumple.drawing import numerals
from crumple.engine import Engine
from crumple.load import load_plan, unloaded
from crumple.load.load_flags import LoadFlags
from crumple.load.report import load_headline, server_sentences
from crumple.observation import loaded
from crumple.observation.observed import FailuresAlone, WorkAlone
from crumple.record.overload import Overload, overload
from crumple.record.validity import Validity, Word
from crumple.results import comparing, result_store, selection
from made_overloads import MEASURED_S, PER_S, load_of
from queues import Floats, Server


def found(server: Server, seed: int, per_s: float = PER_S, measured_s: float = MEASURED_S) -> Overload | None:
    due_s, ended_s = server(per_s, measured_s, np.random.default_rng(seed))
    return overload(made_open.record(due_s, ended_s, measured_s))


def named(server: Server, tries: int, per_s: float = PER_S, measured_s: float = MEASURED_S) -> float:
    """In which share of the loads the server is said to be overloaded."""
    return sum(found(server, seed, per_s, measured_s) is not None for seed in range(tries)) / tries


def delay(takes_s: float, share: float = 1.0) -> Server:
    """A server without a queue: this share of the requests takes so long, the others about a millisecond."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s = queues.due(load, for_s, noise)
        short_s = 0.001 * noise.lognormal(0, 0.5, len(due_s))
        return due_s, due_s + np.where(noise.uniform(size=len(due_s)) < share, takes_s, short_s)

    return put_on


def stalling(capacity: float, every_s: float, for_s: float) -> Server:
    """One worker that stops for a while now and then, as one that collects garbage does."""

    def put_on(load: float, lasts_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s, began_s = queues.due(load, lasts_s, noise), noise.uniform(0, every_s)
        ended_s, now_s = np.empty(len(due_s)), 0.0
        for number, at_s in enumerate(due_s):
            now_s = max(now_s, at_s) + 1 / capacity
            if (now_s - began_s) % every_s < for_s:
                now_s += for_s - (now_s - began_s) % every_s
            ended_s[number] = now_s
        return due_s, ended_s

    return put_on


def bounded(capacity: float, room: int) -> Server:
    """One worker whose queue has so much room; further requests are dropped, as by a full listen queue."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s = queues.due(load, for_s, noise)
        ended_s, queue, now_s = np.full(len(due_s), np.inf), list[float](), 0.0
        for number, at_s in enumerate(due_s):
            queue = [each for each in queue if each > at_s]
            if len(queue) < room:
                now_s = max(now_s, at_s) + noise.exponential(1 / capacity)
                ended_s[number] = now_s
                queue.append(now_s)
        return due_s, ended_s

    return put_on


def test_an_overload_is_named_with_its_rates() -> None:
    """Four at a time, 20 ms each: 200 of 300 a second are answered, and the queue grows by 100 a second."""
    seen = found(queues.even(4, 0.02), 1)
    assert seen is not None
    assert seen.due_per_s == pytest.approx(300, rel=0.06)
    assert seen.ended_per_s == pytest.approx(200, rel=0.02)
    assert seen.grows_per_s == pytest.approx(seen.due_per_s - seen.ended_per_s)
    assert seen.given_up_per_s == 0


def test_what_is_given_up_is_said_apart() -> None:
    due_s, ended_s = queues.even(4, 0.02)(PER_S, 10.0, np.random.default_rng(2))
    patient = overload(made_open.record(due_s, ended_s, 10.0))
    seen = overload(made_open.record(due_s, ended_s, 10.0, timeout_s=1.0))
    assert seen is not None and patient is not None
    assert seen.given_up_per_s > 5 * seen.grows_per_s
    assert seen.given_up_per_s + seen.grows_per_s == pytest.approx(seen.due_per_s - seen.ended_per_s)
    # Those that were given up are no answers, though the worker worked on them.
    assert seen.ended_per_s < patient.ended_per_s


@pytest.mark.parametrize("connections", [20, 100, 400])
def test_where_all_connections_are_in_use_the_queue_in_front_of_them_counts(connections: int) -> None:
    due_s, ended_s = queues.even(4, 0.02)(PER_S, MEASURED_S, np.random.default_rng(1))
    record = made_open.record(due_s, ended_s, MEASURED_S, connections=connections)
    assert record.outcomes.not_sent > 50
    seen = overload(record)
    assert seen is not None
    assert (seen.due_per_s, seen.ended_per_s, seen.grows_per_s) == pytest.approx((300, 200, 100), rel=0.06)
    calm = made_open.record(*queues.even(4, 0.01)(PER_S, MEASURED_S, np.random.default_rng(1)), MEASURED_S)
    assert overload(calm) is None


@pytest.mark.parametrize("beyond", [1.5, 3.0])
def test_every_clear_overload_is_named(beyond: float) -> None:
    for server in (queues.even(4, 4 * beyond / PER_S), queues.single(PER_S / beyond)):
        assert named(server, 20) >= 0.95
    assert named(bounded(PER_S / beyond, 64), 20) >= 0.95


@pytest.mark.long
def test_of_overloads_by_a_fifth_most_are_named_and_by_a_tenth_where_requests_are_many() -> None:
    assert named(queues.even(4, 4 * 1.2 / PER_S), 100) > 0.8
    assert named(queues.single(3_000 / 1.1), 40, per_s=3_000) > 0.9


@pytest.mark.long
@pytest.mark.parametrize("of_capacity", [0.8, 0.95, 1.0])
def test_a_load_that_the_server_takes_is_none(of_capacity: float) -> None:
    """At the capacity itself, too, chance alone is called an overload in one load of a hundred at most."""
    for per_s in (50.0, PER_S):
        assert named(queues.single(per_s / of_capacity), 200, per_s) <= 0.01
        assert named(queues.even(4, 4 * of_capacity / per_s), 200, per_s) <= 0.01


@pytest.mark.parametrize("takes_s", [0.5, 2.2, 2.5, 3.5, 4.75, 30.0])
def test_requests_that_only_take_long_are_none(takes_s: float) -> None:
    assert named(delay(takes_s), 20) == 0


@pytest.mark.parametrize(("share", "takes_s"), [(0.1, 30.0), (0.1, 3.5), (0.3, 30.0), (0.1, 1.5)])
@pytest.mark.parametrize("per_s", [PER_S, 3_000.0])
def test_some_requests_that_take_long_beside_quick_ones_are_none(
    share: float, takes_s: float, per_s: float
) -> None:
    assert named(delay(takes_s, share), 10, per_s) == 0


@pytest.mark.parametrize("share", [0.55, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("takes_s", [20.0, 60.0])
def test_long_requests_are_none_though_they_are_most_if_later_ones_overtake_them(
    share: float, takes_s: float
) -> None:
    """As with long polls: the others are answered in a millisecond, to the end."""
    assert named(delay(takes_s, share), 10) == 0


def shedding(server: Server, share: float) -> Server:
    """A server that answers this share of the requests at once, with a refusal."""

    def put_on(load: float, for_s: float, noise: np.random.Generator) -> tuple[Floats, Floats]:
        due_s, ended_s = server((1 - share) * load, for_s, noise)
        shed_s = queues.due(share * load, for_s, noise)
        order = np.argsort(np.concatenate([due_s, shed_s]))
        ends_s = np.concatenate([ended_s, shed_s + 0.001])
        return np.concatenate([due_s, shed_s])[order], ends_s[order]

    return put_on


@pytest.mark.parametrize("beyond", [1.5, 3.0])
def test_an_overload_is_named_where_some_are_shed_or_given_up_and_where_one_takes_long_alone(
    beyond: float,
) -> None:
    assert named(shedding(queues.even(4, 4 * beyond / PER_S), 0.1), 20) >= 0.95
    for takes_s, workers in ((4 * beyond / PER_S, 4), (beyond, 300)):
        for seed in range(10):
            due_s, ended_s = queues.even(workers, takes_s)(PER_S, 10.0, np.random.default_rng(seed))
            assert overload(made_open.record(due_s, ended_s, 10.0, timeout_s=2 * beyond)) is not None


@pytest.mark.long
@pytest.mark.parametrize(("every_s", "for_s"), [(3.0, 1.0), (1.0, 0.3), (2.0, 0.8)])
def test_a_server_that_stalls_and_catches_up_is_not_overloaded(every_s: float, for_s: float) -> None:
    server = stalling(2 * PER_S / (1 - for_s / every_s), every_s, for_s)
    assert named(server, 100, measured_s=10.0) <= 0.01


def in_longer_rows(record: TrialRecord, rows: Sequence[int]) -> TrialRecord:
    """The record with as many rows of the series in each of these, as the engine writes a long load."""
    series, ends = record.series, [*accumulate(rows)]
    assert ends[-1] == len(series.ok)
    parts = [slice(end - row, end) for end, row in zip(ends, rows, strict=True)]
    known = [[ns for ns in series.p50_ns[part] if ns is not None] for part in parts]
    columns = {
        name: tuple(sum(getattr(series, name)[part]) for part in parts)
        for name in ("duration_ns", "ok", "failed", "scheduled")
    } | {
        "at_ns": tuple(series.at_ns[part.start] for part in parts),
        "phase": ("measured",) * len(rows),
        "p50_ns": tuple(max(each, default=None) for each in known),
    }
    return record.model_copy(update={"series": series.model_copy(update=columns)})


def test_a_long_load_whose_later_rows_are_longer_is_judged_by_the_time() -> None:
    rows, random = [1] * 20 + [2] * 20 + [4] * 20, np.random.default_rng(1)
    beyond = made_open.record(*queues.even(4, 0.02)(1.5 * PER_S, 14.0, random), 14.0)
    seen, plain = overload(in_longer_rows(beyond, rows)), overload(beyond)
    assert seen is not None and plain is not None
    assert dataclasses.astuple(seen) == pytest.approx(dataclasses.astuple(plain))
    calm = made_open.record(*queues.even(4, 0.01)(PER_S, 14.0, random), 14.0)
    assert overload(in_longer_rows(calm, rows)) is None


def test_of_several_steps_the_last_is_judged() -> None:
    noise = np.random.default_rng(5)
    calm, busy = queues.due(100, 5.0, noise), 5.0 + queues.due(300, 5.0, noise)
    steps = ((100.0, 5.0), (300.0, 5.0))
    due_s = np.concatenate([calm, busy])
    served_s = np.arange(len(due_s)) * 0.005
    ended_s = 0.005 + served_s + np.maximum.accumulate(due_s - served_s)
    seen = overload(made_open.record(due_s, ended_s, 10.0, rates=steps))
    assert seen is not None
    assert (seen.due_per_s, seen.ended_per_s) == pytest.approx((300, 200), rel=0.06)
    # In the other order the second step works off what the first has left.
    turned_s = np.concatenate([busy - 5.0, calm + 5.0])
    ended_s = 0.005 + served_s + np.maximum.accumulate(turned_s - served_s)
    assert overload(made_open.record(turned_s, ended_s, 10.0, rates=steps[::-1])) is None


def test_even_arrivals_have_no_chance_and_a_smaller_overload_is_named() -> None:
    """One request in ten is too many: of independent arrivals a load of this length does not show that."""
    due_s = np.arange(0, MEASURED_S, 1 / PER_S)
    served_s = np.arange(len(due_s)) * 1.1 / PER_S
    ended_s = 1.1 / PER_S + served_s + np.maximum.accumulate(due_s - served_s)
    assert overload(made_open.record(due_s, ended_s, MEASURED_S, even=True)) is not None
    assert overload(made_open.record(due_s, ended_s, MEASURED_S)) is None


def test_other_shapes_and_short_loads_are_none() -> None:
    assert overload(synthetic_load.closed().record) is None
    assert overload(synthetic_load.constant().record) is None
    due_s, ended_s = queues.even(4, 0.02)(PER_S, 0.9, np.random.default_rng(1))
    assert overload(made_open.record(due_s, ended_s, 0.9)) is None
    record = made_open.record(*queues.even(4, 0.02)(PER_S, 5.0, np.random.default_rng(1)), 5.0)
    assert overload(record) is not None
    shape = record.spec.shape
    assert shape.kind == "open"
    rising = shape.model_copy(update={"rates": (shape.rates[0].model_copy(update={"to_per_s": 900.0}),)})
    assert (
        overload(record.model_copy(update={"spec": record.spec.model_copy(update={"shape": rising})})) is None
    )


def test_the_first_sentence_of_the_answer_names_it() -> None:
    load = load_of()
    seen = load.overload
    assert seen is not None
    due, ended, grows = (round(each) for each in (seen.due_per_s, seen.ended_per_s, seen.grows_per_s))
    said = f"overloaded: answers {ended} of {due} a second, the queue grows by {grows} a second"
    assert server_sentences.overload(load) == said
    assert load_headline.headline(load).startswith(f"{said}; valid; ")
    lines = synthetic_load.screen(load, 100, styled=False).replace(numerals.NARROW, " ").splitlines()
    at = lines.index(f"{said.capitalize()}.")
    assert lines[at - 1] == "" and lines[-1].startswith("valid: ")
    assert any("a longer load has longer ones" in line for line in lines[:at])
    assert synthetic_load.printed(load)["overload"] == dataclasses.asdict(seen)
    assert said[1:] in synthetic_load.page(load)
    # It is a valid measurement: only --fail-if decides about the exit code.
    assert load_result.code_of(load) == 0
    calm = load_of(beyond=False)
    assert calm.overload is None and server_sentences.overload(calm) == ""
    assert synthetic_load.printed(calm)["overload"] is None
    assert not any("overload" in line for line in synthetic_load.screen(calm, 100, styled=False).splitlines())


def test_what_is_given_up_has_a_clause_of_its_own() -> None:
    load = load_of()
    several = Overload(due_per_s=300, ended_per_s=195, given_up_per_s=80, grows_per_s=25)
    load.__dict__["overload"] = several
    assert server_sentences.overload(load) == (
        "overloaded: answers 195 of 300 a second, the queue grows by 25 a second, 80 a second are given up"
    )
    load.__dict__["overload"] = dataclasses.replace(several, given_up_per_s=105, grows_per_s=0.0)
    assert (
        server_sentences.overload(load)
        == "overloaded: answers 195 of 300 a second, 105 a second are given up"
    )


@pytest.mark.parametrize("beyond", [True, False])
def test_what_the_warm_up_left_is_answered_first_and_counts(beyond: bool) -> None:
    """Of three times as much as the server takes, a warm-up of two seconds leaves four seconds of work."""
    takes_s = 0.04 if beyond else 0.01
    due_s, ended_s = queues.even(4, takes_s)(PER_S, 8.0, np.random.default_rng(3))
    warmed = due_s >= 2.0
    record = made_open.record(due_s[warmed] - 2.0, ended_s[warmed] - 2.0, 6.0)
    carried = ((due_s < 2.0) & (ended_s >= 2.0) & (ended_s < 8.0)).sum()
    times = record.histograms.model_copy(
        update={"carried_over": documents.histogram({1_000_000_000: int(carried)})}
    )
    seen = overload(record.model_copy(update={"histograms": times}))
    assert (seen is not None) == beyond
    if seen is not None:
        assert carried > 300
        assert seen.ended_per_s == pytest.approx(100, rel=0.02)
        assert overload(record) is None


def test_a_queue_that_the_warm_up_left_in_front_of_few_connections_is_one() -> None:
    """All answers have waited in it, the quickest too; of the latest requests none has a connection."""
    due_s, ended_s = queues.even(4, 0.04)(PER_S, 8.0, np.random.default_rng(3))
    due_s, ended_s = due_s - 2.0, ended_s - 2.0
    record = made_open.record(due_s[due_s >= 0], ended_s[due_s >= 0], 6.0, connections=100)
    carried = int(((due_s < 0) & (ended_s >= 0)).sum())
    times = record.histograms.model_copy(
        update={"carried_over": documents.histogram({1_000_000_000: carried})}
    )
    assert overload(record.model_copy(update={"histograms": times})) is not None


@pytest.mark.parametrize(
    ("word", "is_named"),
    [("valid", True), ("schedule-missed", True), ("engine-limited", False), ("not-valid", False)],
)
def test_what_the_engine_may_have_caused_is_none(word: Word, is_named: bool) -> None:
    load = synthetic_load.remade(load_of(), validity=Validity(word, ("why",), ()))
    assert (load.overload is not None) == is_named


@pytest.mark.parametrize(("late_ms", "is_named"), [(5, True), (1_000, False)])
def test_a_queue_that_the_engine_may_have_made_is_none(late_ms: int, is_named: bool) -> None:
    record = load_of().record
    late = documents.histogram({late_ms * 1_000_000: record.scheduled})
    times = record.histograms.model_copy(update={"engine_lateness": late})
    assert (overload(record.model_copy(update={"histograms": times})) is not None) == is_named


def test_requests_of_an_overload_wait_though_it_is_not_known_how_long_one_takes_alone() -> None:
    calm = dataclasses.replace(made_at_load.NOTHING, alone_s=None)
    assert calm.is_harmed is None
    busy = dataclasses.replace(calm, beyond=dataclasses.replace(calm.beyond, overloaded=True))
    assert busy.is_harmed
    record = load_of().record
    assert loaded.from_record(record, 2).overloaded
    assert not loaded.from_record(load_of(beyond=False).record, 2).overloaded


def test_a_comparison_says_which_load_was_an_overload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_store, "folder", lambda: tmp_path)
    calm, beyond = (
        selection.of_document(result_store.keep(made_results.of_load(load_of(name == "beyond")), name))
        for name in ("calm", "beyond")
    )
    found = comparing.compare([calm], [beyond], [])
    assert "beyond was an overload: how long it lasts lengthens its times" in found.comparison.cautions


def test_the_quicker_of_two_looks_alone_is_the_one_without_a_queue() -> None:
    cold, busy, quick = (WorkAlone(9, mean_s, mean_s, None) for mean_s in (0.2, 0.9, 0.1))
    disturbed = dataclasses.replace(quick, disturbed="others used 40 %")
    assert unloaded.quicker(cold, busy) == cold
    assert unloaded.quicker(cold, quick) == quick
    assert unloaded.quicker(cold, disturbed) == cold
    assert unloaded.quicker(disturbed, None) == disturbed
    assert unloaded.quicker(cold, FailuresAlone(0, 9)) == cold
    assert unloaded.quicker(None, FailuresAlone(0, 9)) == FailuresAlone(0, 9)
    assert unloaded.quicker(None, None) is None


def test_a_rate_is_asked_before_the_load_too_and_a_number_of_requests_is_kept() -> None:
    url = "http://127.0.0.1:1/"

    def asks(**flags: Any) -> bool:
        given = LoadFlags(**flags)
        plan = load_plan.plan(url, given)
        return load_command._asking(Engine(Path("none"), "0"), plan, given) is not None

    assert asks(rate="300") and asks(first_look=True)
    assert not asks() and not asks(rate="300", requests=900)
    assert not load_plan.plan(url, LoadFlags(rate="300")).counts
    assert load_plan.plan(url, LoadFlags(requests=900)).counts
    assert not load_plan.plan(url, LoadFlags(requests=900, watch=str(os.getpid()))).counts
