"""Failures in a run with real processes: the stored trial says why in one sentence, and the run continues."""

import itertools
import threading
from pathlib import Path

import one_run
import pytest
import tiny_runs
import tiny_servers
from crumple.run import runs
from crumple.run.store import StoredTrial

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# Ends the whole server with its third request to the workload, as a crash under load does.
CRASHES = """
import threading
asked = 0
send = Handler.send_response
def counted(self, *parts):
    global asked
    asked += self.path.startswith("/hello")
    if asked > 40:
        print("fatal: out of luck", flush=True)
        os._exit(139)
    send(self, *parts)
Handler.send_response = counted
"""
# A parent that stays alive, and one worker, which dies: no process answers after that.
LOSES_ITS_WORKER = (
    """
if os.fork():
    while True: time.sleep(60)
"""
    + CRASHES
)
REFUSES = """
print("AH00526: Syntax error on line 3 of httpd.conf", flush=True)
sys.exit(1)
"""
SILENT = "time.sleep(600)"


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return tiny_runs.project(monkeypatch, tmp_path)


def _stored(root: Path, here: str) -> StoredTrial:
    """Return the failed server's trial, after a run in which another server's trial is valid."""
    folder = tiny_servers.write(root / "elsewhere", "wrong", here=here)
    begun = tiny_runs.begin(root, str(folder))
    one_run.execute(begun, root, tiny_runs.Quiet())
    assert runs.resume(begun.store, retry_failed=False).to_do == ()
    stored = {each.trial.server: each for each in begun.store.trials()}
    assert stored["tiny"].status == "measured", stored["tiny"].failure
    return stored["wrong"]


def test_a_refused_configuration_is_quoted(root: Path) -> None:
    failure = _stored(root, REFUSES).failure
    assert failure is not None
    assert (failure.step, failure.message) == ("start", "it ended with code 1 before it answered")
    assert failure.output_tail[-1] == "AH00526: Syntax error on line 3 of httpd.conf"


def test_a_server_that_ends_under_load(root: Path) -> None:
    stored = _stored(root, CRASHES)
    assert stored.failure is not None and stored.record is not None
    assert (stored.failure.step, stored.failure.message) == ("engine", "the server ended under the load")
    assert "fatal: out of luck" in stored.failure.output_tail
    # The engine's record is stored even though the trial failed.
    assert stored.record.outcomes.refused + stored.record.outcomes.reset > 0


def test_a_worker_that_ends_while_its_parent_stays(root: Path) -> None:
    stored = _stored(root, LOSES_ITS_WORKER)
    assert stored.failure is not None and stored.failure.step == "answers-after"
    assert "connecting to 127.0.0.1" in stored.failure.message
    assert "fatal: out of luck" in stored.failure.output_tail


def test_a_server_that_never_answers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crumple.machine.process_tree.LIMIT_S", 2.0)
    failure = _stored(root, SILENT).failure
    assert failure is not None and failure.step == "start"
    assert failure.message.startswith("it did not listen on port")


def test_two_runs_at_the_same_time_take_turns_and_both_end(root: Path) -> None:
    begun = [tiny_runs.begin(root) for _ in range(2)]
    threads = [
        threading.Thread(target=one_run.execute, args=(each, root, tiny_runs.Quiet())) for each in begun
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loads = sorted(
        (trial.record.began_unix_ns, trial.record.warm_up_ns + trial.record.measured_ns)
        for each in begun
        for trial in each.store.trials()
        if trial.record
    )
    assert len(loads) == 4
    for (began_ns, took_ns), (next_ns, _) in itertools.pairwise(loads):
        assert began_ns + took_ns <= next_ns, "two loads at the same time"
