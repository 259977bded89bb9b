"""Which resource was used up when a server broke."""

from dataclasses import replace

import documents
from crumple.contract import OpenShapeSpec, RateSpec
from crumple.find import level as levels
from crumple.find.level import Level
from crumple.find.next_level import NextLevel
from crumple.find.report.used_up import Sign, signs
from crumple.find.watch import Watch
from crumple.load import objective
from crumple.record.validity import Validity


def edge(**changes: object) -> list[Level]:
    """Three levels at which it broke."""
    shape = OpenShapeSpec(connections=100, rates=(RateSpec(from_per_s=5_000, to_per_s=5_000, duration_s=2),))
    times = documents.histogram({900_000_000: 10_000})
    plain = documents.record()
    record = plain.model_copy(
        update={
            "spec": documents.spec(shape=shape),
            "histograms": plain.histograms.model_copy(update={"response_time": times}),
        }
    )
    step, valid = NextLevel(5_000.0, 2.0, "repeat"), Validity("valid", (), ())
    asked = objective.parse("p99<250ms")
    seen = levels.level(step, 0, record, asked, Watch(asked, step, 10_000, lambda: None), valid)
    plain_level = replace(seen, outcome="broke", connections_most=40, server_cores_busy=0.5, retransmitted=0)
    return [replace(plain_level, **changes)] * 3  # type: ignore[arg-type]


def kinds(found: tuple[Sign, ...]) -> list[str]:
    """The kinds of the signs."""
    return [sign.kind for sign in found]


def test_a_used_up_cpu_is_the_cause_and_its_queue_is_not() -> None:
    found = signs(edge(server_cores_busy=0.97, connections_most=100), 1)
    assert found == (Sign("cpu", 0.97, 1),)


def test_one_thread_uses_up_one_core_of_several() -> None:
    assert kinds(signs(edge(server_cores_busy=1.02), 4)) == ["one-core"]
    assert kinds(signs(edge(server_cores_busy=2.2), 4)) == ["idle"]


def test_too_few_connections_are_the_cause_if_the_cpu_is_free() -> None:
    assert kinds(signs(edge(connections_most=100), 2)) == ["connections"]
    assert kinds(signs(edge(connections_most=99), 2)) == ["idle"]


def test_by_connections_their_number_is_the_load_and_no_limit() -> None:
    assert kinds(signs(edge(connections_most=100, load=100.0), 2)) == ["idle"]


def test_retransmitted_segments_are_reported_in_addition() -> None:
    assert kinds(signs(edge(server_cores_busy=1.0, retransmitted=500), 1)) == ["cpu", "retransmits"]
    assert kinds(signs(edge(server_cores_busy=1.0, retransmitted=1), 1)) == ["cpu"]
    # Nine in all may be of other programs, however few the requests are.
    assert kinds(signs(edge(server_cores_busy=1.0, retransmitted=3, scheduled=50), 1)) == ["cpu"]


def test_without_a_probe_or_a_broken_level_nothing_is_reported() -> None:
    assert kinds(signs(edge(server_cores_busy=None), None)) == ["unwatched"]
    assert signs([], 1) == ()
