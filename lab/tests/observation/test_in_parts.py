"""An answer that is written in parts waits in the kernel, and keeps no worker busy meanwhile."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
import synthetic_load
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences
from crumple.observation import one_by_one, parallelism
from crumple.observation.parallelism import Parallelism
from made_observed import THREADS, alone, many

# 32 threads wait 100 ms each; the end of an answer comes 44 ms after its first byte.
IN_PARTS = replace(alone(144), first_byte_s=0.1)
POOL = replace(THREADS, slow=IN_PARTS, waiting=(many(32, 22, 0.1), many(512, 32, 0.1)))


def test_what_waits_to_be_acknowledged_keeps_no_worker_busy() -> None:
    found = parallelism.waits(POOL)
    assert isinstance(found, Parallelism) and found.kind == "limit" and found.value == pytest.approx(32)


def test_all_connections_are_served_though_each_waits_to_be_acknowledged() -> None:
    found = parallelism.waits(replace(POOL, waiting=POOL.waiting[:1]))
    assert isinstance(found, Parallelism) and (found.value, found.why) == (32, "all")


def test_an_answer_that_is_sent_as_it_is_made_keeps_its_worker_busy() -> None:
    streamed = replace(alone(144), first_byte_s=0.01)
    found = parallelism.waits(replace(POOL, slow=streamed))
    assert isinstance(found, Parallelism) and found.value == pytest.approx(0.144 * 320)


@pytest.mark.parametrize(("first_byte_s", "said"), [(0.0003, True), (0.043, False), (None, False)])
def test_the_diagnosis_says_that_an_answer_waits_on_its_way(first_byte_s: float | None, said: bool) -> None:
    work = replace(alone(44), first_byte_s=first_byte_s)
    diagnosis = cast(Diagnosis, SimpleNamespace(seen=replace(THREADS, work=work)))
    assert ("TCP_NODELAY" in diagnose_sentences.in_parts(diagnosis)) is said


def test_the_time_to_the_first_byte_is_read_from_the_record() -> None:
    record = synthetic_load.closed().record
    found = one_by_one.alone(record, "")
    first_ns = record.histograms.time_to_first_byte.mean_ns
    assert found is not None and first_ns and found.first_byte_s == pytest.approx(first_ns / 1e9)
    assert found.first_byte_s <= found.mean_s
