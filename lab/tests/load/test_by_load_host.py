"""A load from several machines shows what each of them saw, and where it came from."""

import made_loads
import made_parts
import synthetic_load
from crumple import contract
from crumple.documents import result
from crumple.documents.loaded_from import LoadedFrom
from crumple.drawing.numerals import NARROW
from crumple.load import engine_spec
from crumple.load.report.load_document import LoadDocument
from crumple.machine.load_machine import LoadMachine
from crumple.record import together, validity
from crumple.record.together import Part

MS = 1_000_000


def load(more_ms: int = 0) -> LoadDocument:
    """A load from two hosts; answers to the second take so much longer."""
    seen = [
        made_parts.Event(at % 2, 0, at * MS, (20 + at % 5 + more_ms * (at % 2)) * MS, 1_000)
        for at in range(2_000)
    ]
    rate = contract.RateSpec(from_per_s=1_000, to_per_s=1_000, duration_s=2)
    shape = contract.OpenShapeSpec(connections=100, arrivals="even", rates=(rate,))
    whole = made_parts.record(made_parts.spec(0.0, 2.0, shape=shape), seen, 0, 2_000 * MS)
    parts = made_parts.parts(whole, seen, 2)
    there = [Part(each.record, each.name, 200_000, 40_000 * at, 90_000) for at, each in enumerate(parts)]
    record = together.together(there)
    return synthetic_load.load(record, validity.assess(record))


def test_each_host_has_a_row_on_every_medium() -> None:
    shown = load()
    for text in (synthetic_load.screen(shown, 120), synthetic_load.page(shown)):
        assert "load host" in text and "host-0" in text and "host-1" in text
        assert "1,000" in text and "50" in text
    screen = synthetic_load.screen(shown, 140)
    assert "40.0 µs ± 90.0 µs" in screen and "200 µs" in screen


def test_a_host_that_is_answered_otherwise_is_a_problem() -> None:
    assert load(10).validity.word == "agent-differs"
    assert "host-" in load(10).validity.problems[0] and "host-" in synthetic_load.screen(load(10), 120)


def test_a_load_from_one_machine_has_no_such_table() -> None:
    assert "load host" not in synthetic_load.screen(synthetic_load.closed(), 120)


def test_a_result_says_where_it_came_from_and_how_to_repeat_it() -> None:
    near = made_loads.FAR.model_copy(update={"where": "a", "cores": 2, "round_trip_ns": 3e5})
    both = LoadedFrom.several("a and ssh loader", [near, made_loads.FAR])
    assert both.sentence == f"from a and ssh loader (2 + 4 cores), 300{NARROW}µs away"
    assert (both.cores, both.kernel, both.cpu_quota_cores) == (6, "6.1.0", None)
    document = result.measured_from(load(), both)
    assert document.from_flag == " --from a --from 'ssh loader'"
    assert document.measured_on["load_host"] == "a and ssh loader"
    assert LoadDocument.model_validate_json(document.model_dump_json()) == document
    many = LoadedFrom.several("a, a and 2 more", [near] * 4)
    assert many.sentence == f"from a, a and 2 more (8 cores of 4 machines), 300{NARROW}µs away"
    here = near.model_copy(update={"is_apart": False, "kernel": "7", "cpu_quota_cores": 1.5})
    mixed = LoadedFrom.several("a and b", [near, here])
    assert not mixed.is_apart and mixed.kernel is None and mixed.cpu_quota_cores is None
    assert LoadedFrom.several("a and b", [here, here]).cpu_quota_cores == 3.0


def test_each_of_several_hosts_has_threads_for_its_share() -> None:
    machine = LoadMachine(cores=(0, 1, 2, 3), open_files=1_000, ports=None, hosts=4, is_apart=True)
    closed = contract.ClosedShapeSpec(connections=1_024)
    rates = (contract.RateSpec(from_per_s=150_000, to_per_s=150_000, duration_s=1),)
    shapes = (closed, contract.OpenShapeSpec(connections=1_000, rates=rates))
    assert [engine_spec.threads_for(shape, machine.threads_most, machine.hosts) for shape in shapes] == [1, 1]
    assert [engine_spec.threads_for(shape, machine.threads_most) for shape in shapes] == [4, 3]
    few = contract.ClosedShapeSpec(connections=2)
    assert engine_spec.threads_for(few, 4, 4) == 1
