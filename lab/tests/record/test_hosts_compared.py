"""Load hosts that were answered alike are not told apart; those that were not, or began late, are named."""

import dataclasses
import random
import re
from collections.abc import Callable

import made_parts
import pytest
from crumple.contract import TrialRecord
from crumple.drawing.numerals import NARROW
from crumple.record import hosts_compared, together, validity
from made_parts import Event

MS = 1_000_000
MEASURED_NS, NUMBER = 2_000 * MS, 4_000


Took = Callable[[random.Random, int, float], float]


def load(its_ns: Took, *, seed: int = 1, hosts: int = 2) -> TrialRecord:
    """A load whose answers take so long: drawn for a host, at a time from 0 to 1."""
    draw = random.Random(seed)
    made = []
    for _ in range(NUMBER):
        host, at = draw.randrange(hosts), draw.random()
        took_ns = round(its_ns(draw, host, at))
        made.append(Event(host, 0, int(at * MEASURED_NS), took_ns, 1_000))
    seen = sorted(made, key=lambda each: each.at_ns)
    whole = made_parts.record(made_parts.spec(0.0, MEASURED_NS / 1e9), seen, 0, MEASURED_NS)
    return together.together(made_parts.parts(whole, seen, hosts))


def slow(draw: random.Random, _host: int, _at: float) -> float:
    """10 ms on average, and ten times as long now and then."""
    return 10 * MS * draw.lognormvariate(0.0, 0.7)


def test_hosts_that_are_answered_alike_are_not_told_apart() -> None:
    for seed in range(20):
        assert hosts_compared.differs_problem(load(slow, seed=seed, hosts=2 + seed % 3)) is None


def test_a_server_that_stalls_for_all_does_not_tell_hosts_apart() -> None:
    def stalls(draw: random.Random, host: int, at: float) -> float:
        return slow(draw, host, at) * (30 if 0.3 < at < 0.7 else 1)

    record = load(stalls)
    assert hosts_compared.differs_problem(record) is None
    for host in record.load_hosts:
        assert host.beside_others is not None and host.beside_others[0] < 1 < host.beside_others[1]


@pytest.mark.parametrize("more_ms", [4.0, 8.0])
def test_a_host_that_is_further_away_is_named(more_ms: float) -> None:
    record = load(lambda draw, host, at: slow(draw, host, at) + (more_ms * MS if host == 1 else 0.0))
    said = hosts_compared.differs_problem(record)
    assert said is not None and said.startswith("half of the answers came to host-")
    assert "leave it out" in said


def test_a_difference_that_is_no_part_of_what_is_shown_is_none() -> None:
    # 5 % of 10 ms; and 0.4 ms, which is less than a single request may be late.
    assert hosts_compared.differs_problem(load(lambda d, h, at: slow(d, h, at) * (1.05 if h else 1))) is None
    near = load(lambda draw, host, _: draw.uniform(0.9, 1.1) * (0.6 if host else 0.2) * MS)
    assert hosts_compared.differs_problem(near) is None
    assert near.load_hosts[1].beside_others is not None and near.load_hosts[1].beside_others[0] > 2.5


def test_the_limit_of_a_difference_is_a_tenth_and_a_millisecond() -> None:
    # A steady server, so that the interval is narrow: the limit lies between these.
    def steady(more: float) -> str | None:
        return hosts_compared.differs_problem(
            load(lambda draw, host, _: 100 * MS * draw.uniform(0.99, 1.01) * (more if host else 1.0))
        )

    assert steady(1.08) is None and steady(1.12) is not None


def test_too_few_answers_tell_nothing() -> None:
    whole = made_parts.record(made_parts.spec(0.0, 2.0), [], 0, MEASURED_NS)
    found = together.together(made_parts.parts(whole, [], 2))
    assert [host.beside_others for host in found.load_hosts] == [None, None]
    assert hosts_compared.differs_problem(found) is None


@pytest.mark.parametrize(("until", "is_known"), [(0.25, True), (0.2, False)])
def test_five_moments_of_twenty_are_enough(until: float, is_known: bool) -> None:
    draw = random.Random(3)
    times = [int(until * MEASURED_NS * (at + 0.5) / NUMBER) for at in range(NUMBER)]
    seen = [Event(at % 2, 0, when, round(slow(draw, 0, 0.0)), 1_000) for at, when in enumerate(times)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    found = together.together(made_parts.parts(whole, seen, 2))
    assert (found.load_hosts[0].beside_others is not None) == is_known


def test_of_three_hosts_the_one_that_differs_is_named() -> None:
    for bad in range(3):
        further = [5.0 * MS if host == bad else 0.0 for host in range(3)]
        record = load(lambda draw, host, at: slow(draw, host, at) + further[host], hosts=3)  # noqa: B023
        said = hosts_compared.differs_problem(record)
        assert said is not None and f" to host-{bad} within" in said


def losing(bad: int, share: float = 0.05, more: float = 200.0 * MS) -> Took:
    """A host to which that share of the answers comes so much later."""
    return lambda draw, host, at: slow(draw, host, at) + more * (host == bad and draw.random() < share)


def test_a_host_whose_network_loses_packets_is_named() -> None:
    for bad in range(3):
        record = load(losing(bad), hosts=3)
        assert hosts_compared.differs_problem(record) is None
        said = hosts_compared.tail_warning(record, {})
        assert said is not None and said.startswith(f"p99 of the answers to host-{bad} is 2")
        assert "leave it out" in said and said in validity.assess(record).warnings


def test_the_quantiles_of_an_objective_are_compared_instead() -> None:
    record = load(losing(1, share=0.02))
    limit_ns = 100.0 * MS
    assert hosts_compared.tail_warning(record, {0.9: limit_ns}) is None
    # p50 is compared moment by moment, and of p99.9 there are too few.
    assert hosts_compared.tail_warning(record, {0.5: limit_ns, 0.999: limit_ns, 1.0: limit_ns}) is None
    asked = {0.9: limit_ns, 0.99: limit_ns}
    said = hosts_compared.tail_warning(record, asked)
    assert said is not None and said.startswith("p99 of the answers to host-")
    assert said in validity.assess(record, asked=asked).warnings


def test_slow_answers_that_all_hosts_get_tell_them_not_apart() -> None:
    def stalls(draw: random.Random, host: int, at: float) -> float:
        return slow(draw, host, at) * (30 if 0.4 < at < 0.45 else 1)

    made = [load(its_ns, seed=seed, hosts=2 + seed % 2) for seed in range(6) for its_ns in (slow, stalls)]
    assert sum(hosts_compared.tail_warning(record, {}) is not None for record in made) <= 1


def test_the_limit_of_a_difference_is_that_of_the_median() -> None:
    def steady(more: float) -> str | None:
        def took(draw: random.Random, host: int, _: float) -> float:
            return 100 * MS * draw.uniform(0.99, 1.01) * (more if host and draw.random() < 0.05 else 1.0)

        return hosts_compared.tail_warning(load(took), {})

    assert steady(1.06) is None and steady(1.13) is not None


def test_of_a_host_that_is_further_away_one_thing_is_said() -> None:
    record = load(lambda draw, host, at: slow(draw, host, at) + (80.0 * MS if host == 1 else 0.0))
    assert hosts_compared.differs_problem(record) is not None
    assert hosts_compared.tail_warning(record, {}) is None


@pytest.mark.parametrize(("late_ns", "is_late"), [(0, False), (900_000, False), (1_250_000, True)])
def test_a_host_that_began_later_is_named(late_ns: int, is_late: bool) -> None:
    seen = [Event(at % 2, 0, at * MS, 5 * MS, 1_000) for at in range(1_000)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    first, second = made_parts.parts(whole, seen, 2)
    found = together.together([first, made_parts.late(second, late_ns)])
    said = hosts_compared.late_start_problem(found)
    assert (said is not None) == is_late
    if said is not None:
        assert said.replace(NARROW, " ").startswith("host-1 began 1.25 ms later than the first load host")
        assert validity.assess(found).word == "late-start"


@pytest.mark.parametrize(
    ("late_ns", "off_ns", "is_doubtful"),
    [
        ((0, 0), (400_000, 500_000), False),
        ((0, 0), (400_000, 700_000), True),
        ((200_000, 0), (450_000, 400_000), True),
    ],
)
def test_hosts_whose_clocks_are_not_known_well_may_have_begun_apart(
    late_ns: tuple[int, int], off_ns: tuple[int, int], is_doubtful: bool
) -> None:
    seen = [Event(at % 2, 0, at * MS, 5 * MS, 1_000) for at in range(1_000)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    parts = made_parts.parts(whole, seen, 2)
    found = together.together([*map(made_parts.late, parts, late_ns, off_ns)])
    said = hosts_compared.late_start_warning(found)
    assert (said is not None) == is_doubtful
    if said is not None:
        assert re.match(
            "host-(0 and host-1|1 and host-0) may have begun 1.[01][05].ms apart, as far as", said
        )
        assert said in validity.assess(found).warnings


def test_a_host_that_began_later_is_not_named_twice() -> None:
    seen = [Event(at % 2, 0, at * MS, 5 * MS, 1_000) for at in range(1_000)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    first, second = made_parts.parts(whole, seen, 2)
    found = together.together([first, made_parts.late(second, 1_250_000, 900_000)])
    assert hosts_compared.late_start_warning(found) is None


def test_a_host_whose_record_contradicts_itself_is_named() -> None:
    seen = [Event(at % 2, 0, at * MS, 5 * MS, 1_000) for at in range(1_000)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    first, second = made_parts.parts(whole, seen, 2)
    wrong = second.record.model_copy(update={"scheduled": second.record.scheduled + 1})
    found = together.together([first, dataclasses.replace(second, record=wrong)])
    said = hosts_compared.own_problem(found)
    assert said is not None and said.startswith("host-1: the measured requests do not add up")


def test_a_host_that_the_server_does_not_answer_leaves_the_load_valid() -> None:
    seen = [Event(at % 2, 0, at * MS, 5 * MS, 1_000, end=5 * (at % 2)) for at in range(1_000)]
    whole = made_parts.record(made_parts.spec(0.0, 2.0), seen, 0, MEASURED_NS)
    found = together.together(made_parts.parts(whole, seen, 2))
    assert found.load_hosts[1].problems[0].startswith("no answer was ok")
    assert hosts_compared.own_problem(found) is None and validity.assess(found).word == "valid"


def test_a_record_of_one_host_has_none_of_these() -> None:
    record = made_parts.record(made_parts.spec(0.0, 2.0), [], 0, MEASURED_NS)
    checks = (
        hosts_compared.late_start_problem,
        hosts_compared.late_start_warning,
        hosts_compared.differs_problem,
        hosts_compared.own_problem,
    )
    assert [check(record) for check in checks] == [None] * 4
    assert hosts_compared.tail_warning(record, {}) is None
