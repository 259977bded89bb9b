"""What was read beside the server counts only if it is of the time of the load."""

import documents
from crumple.load_host import out_of_step

MS = 1_000_000


def test_readings_may_be_off_by_a_twentieth_of_the_phase() -> None:
    # Half a round trip is how far they may be off.
    assert out_of_step.why(100 * MS, 1_000 * MS, 1) == ""
    assert out_of_step.why(75 * MS, 750 * MS, 1) == ""
    said = out_of_step.why(125 * MS, 1_000 * MS, 1).replace("\u202f", " ")
    assert said.startswith(
        "a line takes 125 ms to the load host and back, so what was read here may be 62.5 ms "
    )
    assert said.endswith("off the measured phase, which took 1.00 s (limit 5%): measure for 1.25 s or more")


def test_each_phase_of_several_is_off() -> None:
    assert out_of_step.why(40 * MS, 1_000 * MS, 2) == ""
    assert "which took 500 ms" in out_of_step.why(60 * MS, 1_000 * MS, 2).replace("\u202f", " ")


def test_what_is_of_another_time_is_left_out_for_its_reason() -> None:
    probes = out_of_step.without(documents.record().probes, "too far")
    assert probes.server is not None and probes.server.window is None and probes.engine.window is None
    assert probes.machine.window is None and probes.server.unread[0].why == "too far"
