"""Servers on which two causes look alike: neither hides the other without a better reason."""

from types import SimpleNamespace

from crumple.cause import loaded


def test_a_pool_that_ended_one_thread_has_grown_from_its_threads() -> None:
    samples = SimpleNamespace(at_ns=[0, 1, 2], processes=[1, 1, 1], threads=[31, 31, 30])
    record = SimpleNamespace(warm_up_ns=0, probes=SimpleNamespace(server=SimpleNamespace(samples=samples)))
    assert loaded._grew(record) == (-1, 31)  # type: ignore[arg-type]
