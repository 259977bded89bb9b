"""Finding and running the engine: its version, its record, and how it fails; a script stands in for it."""

import os
import signal
import threading
import time
from pathlib import Path

import documents
import pytest
from crumple import contract, engine, release
from crumple.engine import Engine
from crumple.errors import EngineFailed, EngineMismatch, EngineMissing, Interrupted
from crumple.interrupt import interruptible

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def _engine(folder: Path, body: str = "") -> Engine:
    return Engine(documents.fake_engine(folder, body), "0.1.0")


def _ignored(_: contract.ProgressLine) -> None:
    pass


def test_a_spec_goes_in_and_its_record_comes_out(tmp_path: Path) -> None:
    seen: list[contract.ProgressLine] = []
    record = engine.run(_engine(tmp_path), documents.spec(label="x", seed=9), seen.append)
    assert record.spec == documents.spec(label="x", seed=9)
    assert record.outcomes.ok == 20_000
    assert [(line.ok, line.p99_ns) for line in seen] == [(10, None)]


def test_a_line_of_progress_is_read_as_the_engine_writes_it(tmp_path: Path) -> None:
    """The engine's own tests hold what it writes to the same line."""
    line = (Path(__file__).parents[3] / "contract" / "golden" / "progress.json").read_text().strip()
    seen: list[contract.ProgressLine] = []
    running = _engine(tmp_path, f"print({line!r}, file=sys.stderr, flush=True)")
    engine.run(running, documents.spec(), seen.append)
    outcomes = documents.outcomes(
        ok=200, wrong_status=2, wrong_body=3, refused=4, reset=5, closed_early=6, connect_timeout=7,
        timeout=8, malformed=9, not_sent=10,
    )  # fmt: skip
    assert seen[1:] == [
        contract.ProgressLine(
            at_s=1.5,
            phase="measured",
            ok=300,
            failed=45,
            throughput_per_s=1_500.0,
            p50_ns=2_000_895,
            p99_ns=8_003_583,
            max_ns=30_015_487,
            connections=32,
            left_s=9.5,
            statuses={200: 303, 503: 2},
            measured=contract.MeasuredSoFar(seconds=0.5, scheduled=284, outcomes=outcomes, slower=(62, 7)),
        )
    ]


def test_without_an_engine_each_place_searched_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRUMPLE_ENGINE", raising=False)
    monkeypatch.setattr(engine, "OWN_SOURCE", tmp_path / "elsewhere")
    (tmp_path / "engine").mkdir()
    with pytest.raises(EngineMissing) as caught:
        engine.find(tmp_path)
    for place in (engine.CARRIED, tmp_path / "engine" / "target" / "release"):
        assert str(place) in str(caught.value)
    assert "cargo build --release" in caught.value.remedy


def test_without_sources_the_remedy_is_to_install_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRUMPLE_ENGINE", raising=False)
    monkeypatch.setattr(engine, "OWN_SOURCE", tmp_path / "elsewhere")
    with pytest.raises(EngineMissing) as caught:
        engine.find(tmp_path)
    assert "target" not in caught.value.message
    assert (
        caught.value.remedy
        == f"install crumple {release.VERSION} again, by a wheel for this kind of machine: make wheels"
    )


def test_in_another_project_the_engine_of_the_labs_own_checkout_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRUMPLE_ENGINE", raising=False)
    built = tmp_path / "checkout" / "target" / "release"
    built.mkdir(parents=True)
    documents.fake_engine(built)
    monkeypatch.setattr(engine, "OWN_SOURCE", tmp_path / "checkout")
    (tmp_path / "project").mkdir()
    assert engine.find(tmp_path / "project") == built / engine.NAME


def test_the_engine_of_a_wheel_lies_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRUMPLE_ENGINE", raising=False)
    monkeypatch.setattr(engine, "CARRIED", documents.fake_engine(tmp_path))
    assert engine.find(tmp_path) == engine.CARRIED


def test_an_engine_for_another_kind_of_machine_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "crumple-engine"
    # The head of a program for a machine that does not exist.
    other.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xfe\xfe" + bytes(64))
    other.chmod(0o755)
    monkeypatch.setenv("CRUMPLE_ENGINE", str(other))
    with pytest.raises(
        EngineFailed, match=f"is for another kind of machine than this one .{os.uname().machine}."
    ):
        engine.load(tmp_path)


def test_an_engine_named_by_the_environment_is_the_only_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = documents.fake_engine(tmp_path)
    monkeypatch.setenv("CRUMPLE_ENGINE", str(path))
    assert engine.find(tmp_path) == path
    monkeypatch.setenv("CRUMPLE_ENGINE", str(tmp_path / "none"))
    with pytest.raises(EngineMissing, match="none \\(CRUMPLE_ENGINE\\)"):
        engine.find(tmp_path)


def test_an_engine_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path, version="9.9.9")))
    with pytest.raises(EngineMismatch, match=r"is version 9\.9\.9, the lab is 0\.1\.0"):
        engine.load(tmp_path)


def test_the_engines_error_message_is_shown_to_the_user(tmp_path: Path) -> None:
    body = 'print(\'{"error":"no such thing","remedy":"do this"}\', file=sys.stderr); sys.exit(2)'
    with pytest.raises(EngineFailed, match="ended with code 2: no such thing; do this"):
        engine.run(_engine(tmp_path, body), documents.spec(), _ignored)


def test_a_killed_engine_is_a_failure_with_its_signal(tmp_path: Path) -> None:
    body = "print('last words', file=sys.stderr, flush=True); os.kill(os.getpid(), 9)"
    with pytest.raises(EngineFailed, match="was killed by signal 9: last words") as caught:
        engine.run(_engine(tmp_path, body), documents.spec(), _ignored)
    assert caught.value.output_tail == ("last words",)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("record['surprise'] = 1", r"not what the contract says \(surprise: unknown key\)"),
        ("del record['outcomes']['ok']", r"\(outcomes.ok: is missing\)"),
        ("record = 3", "not what the contract says"),
        ("record['spec']['seed'] += 1", "answered for"),
    ],
)
def test_a_record_of_another_trial_is_refused(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(EngineFailed, match=said):
        engine.run(_engine(tmp_path, body), documents.spec(), _ignored)


def test_an_engine_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "at_most_s", lambda _: 0.5)
    by_itself = tmp_path / "ended-by-itself"
    hangs = _engine(tmp_path, f"time.sleep(60); open({str(by_itself)!r}, 'w')")
    with pytest.raises(EngineFailed, match="did not end within"):
        engine.run(hangs, documents.spec(), _ignored)
    assert not by_itself.exists()


def test_the_time_limit_covers_both_phases() -> None:
    stop = contract.RequestsStopSpec(requests=100, within_s=120)
    assert engine.at_most_s(documents.spec(stop=stop)) == 1 + 120 + 2 * 25 + engine.GRACE_S
    assert engine.at_most_s(documents.spec(warm_up=None)) == 2 + 25 + engine.GRACE_S


def test_an_interruption_ends_the_engine(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    running = _engine(tmp_path, f"open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)")

    def interrupt() -> None:
        while not pid_file.exists() or not pid_file.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(Interrupted), interruptible():
        engine.run(running, documents.spec(), _ignored)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
