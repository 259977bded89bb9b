"""What half-sent requests tell of a server: each takes the place of a worker, or none."""

import os
import random
import signal
import subprocess
import sys
from dataclasses import replace

import documents
import pytest
import real_engine
from crumple import contract
from crumple.cause import crowding, parallelism, rules
from crumple.cause.finding import Facts, Finding
from crumple.cause.observed import Crowded
from crumple.cause.parallelism import Parallelism
from crumple.diagnose import observe, running
from crumple.load.engine_spec import Options
from made_at_load import under_load
from made_observed import PROCESSES, alone
from test_beside_load import SUBJECT
from test_observe import Silent


def pairs(ratio: float, spread: float, drawn: random.Random) -> list[tuple[float, float]]:
    """Four pairs, each of which comes at another speed of the machine."""
    speeds = [drawn.uniform(50, 100) for _ in range(4)]
    return [
        (ratio * per_s * (1 + drawn.gauss(0, spread)), per_s * (1 + drawn.gauss(0, spread)))
        for per_s in speeds
    ]


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 20])
def test_the_interval_holds_the_number_of_workers(workers: int) -> None:
    drawn, missed, unseen = random.Random(workers), 0, 0
    for _ in range(400):
        places = crowding.places(crowding.crowded(1, pairs((workers - 1) / workers, 0.01, drawn)))
        unseen += places is None
        missed += places is not None and not places[1] <= workers <= places[2]
    assert missed <= 0.08 * 400
    # The place of one of 20 workers is a twentieth, which noise may hide.
    assert unseen <= (0.8 if workers == 20 else 0.01) * 400


def test_where_no_place_is_taken_there_are_hardly_ever_places() -> None:
    drawn = random.Random(1)
    found = [crowding.crowded(2, pairs(1.0, 0.1, drawn)) for _ in range(400)]
    assert sum(crowding.places(each) is not None for each in found) <= 0.04 * 400


def test_with_no_answer_beside_them_there_are_no_more_places_than_connections() -> None:
    assert crowding.places(crowding.crowded(2, [(0.0, 50.0), (0.0, 40.0)])) == (2, 2, 2)


def test_of_one_pair_nothing_is_known() -> None:
    assert crowding.crowded(2, [(50.0, 100.0)]) is None
    assert crowding.crowded(2, [(0.0, 0.0), (0.0, 0.0)]) is None


def test_a_fall_of_a_few_percent_is_none() -> None:
    assert crowding.places(Crowded(2, 0.95, 0.93, 0.975)) is None
    assert crowding.places(Crowded(2, 0.95, 0.94, 0.965)) is not None


WORKERS_OF_20_MS = """
import os, socket, time
listens = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listens.getsockname()[1], flush=True)
for _ in range(3):
    os.fork()
while True:
    with listens.accept()[0] as connection:
        asked = b""
        while not asked.endswith(b"\\r\\n\\r\\n") and (more := connection.recv(4096)):
            asked += more
        time.sleep(0.02)
        try:
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        except OSError:
            pass
"""


@pytest.mark.starts
@pytest.mark.parallel
def test_half_sent_requests_take_two_of_eight_workers_that_run() -> None:
    runs = running.runner(real_engine.loaded(), lambda _: None)
    words = [sys.executable, "-c", WORKERS_OF_20_MS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        try:
            assert server.stdout is not None
            address = f"127.0.0.1:{int(server.stdout.readline())}"
            target = contract.Target(address=address, host=address)
            asked = documents.request(body_bytes=None)
            subject = replace(SUBJECT, target=target, work=(asked,), light=asked, options=Options(seed=3))
            course = observe.Course(subject, runs, Silent())
            course._note(work=alone(20))
            places = crowding.places(course._crowded())
        finally:
            os.killpg(server.pid, signal.SIGKILL)
    assert places is not None and places[1] <= 8 <= places[2] and places[2] < 12


TRIED = replace(PROCESSES, work=alone(50), slow=None, waiting=(), crowded=Crowded(2, 0.75, 0.74, 0.76))


def found(given: Facts) -> list[Finding]:
    return [each for each in rules.judged(given) if isinstance(each, Finding)]


def test_workers_that_were_tried_are_named_also_while_others_use_the_cores() -> None:
    given = under_load(TRIED, 0.05, idle_most=0.0)
    tried = found(given)
    assert [(each.cause, each.sure) for each in tried] == [("workers", "shown")]
    assert tried[0].evidence == (
        "75\u202f% of the throughput is left beside 2 half-sent requests: it has 8.0 workers (7.7 to 8.3), "
        "and a request that waits keeps one"
    )
    assert not found(replace(given, seen=replace(TRIED, crowded=None)))


def test_how_many_wait_at_a_time_is_known_without_a_request_that_only_waits() -> None:
    waits = parallelism.waits(TRIED)
    assert isinstance(waits, Parallelism) and waits.kind == "limit" and waits.value == 8
    assert (waits.low, waits.high) == (pytest.approx(7.69, abs=0.01), pytest.approx(8.33, abs=0.01))
