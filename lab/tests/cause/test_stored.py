"""The servers that are stored: what is believed and said of each, and that nothing of a machine is stored.

After an intended change: make judged, then read the difference.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import calibration
import pytest
import stored_servers
from crumple import project
from crumple.cause import experiments, judged, next_experiment
from crumple.cause.hypotheses import causes
from crumple.limit.finding import Finding
from crumple.observation import parallelism, who_waits
from golden_file import as_golden
from stored_servers import Stored

sys.path.insert(0, str(project.root() / "corpus"))

import store

SERVERS, OBSERVED = stored_servers.servers(), stored_servers.read_observed()
# Less probable causes are left out of what was approved, and so many digits of the others are kept.
LEAST, DIGITS = 1e-4, 4
KIB = 1024


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def believed(server: Stored) -> dict[str, Any]:
    """The probabilities, and which experiment would be next with how much it settles."""
    scene, held = judged.scene_of(server.facts), calibration.beliefs(server)
    planned = next_experiment.chosen(causes.ALL, held, scene, experiments.ALL, 60.0)
    return {
        "beliefs": {each.cause: rounded(each.probability) for each in held if each.probability >= LEAST},
        "next": {planned.experiment.name: rounded(planned.settles_per_s)} if planned else {},
        "could refute": [name for name in experiments.BY_NAME if next_experiment.could_refute(held, name)],
    }


def said(server: Stored) -> Iterator[str]:
    """All that is said of it."""
    yield f"{server.name}, true: {' or '.join(server.causes)}"
    for each in judged.judged(server.facts):
        fields = asdict(each)
        kind = fields.pop("kind")
        rest = ", ".join(f"{name} {value}" for name, value in fields.items() if isinstance(value, str))
        numbers = f" {each.probability:.3f}" if isinstance(each, Finding) else ""
        yield f"    {kind}{numbers}: {rest}"
    seen = server.facts.seen
    yield f"    who waits: {who_waits.of(seen)}"
    for name, found in (("waits", parallelism.waits(seen)), ("computes", parallelism.computes(seen))):
        yield f"    {name}: {found}"


def same(found: object, wanted: object) -> bool:
    """Whether both are equal to three digits."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return found.keys() == wanted.keys() and all(same(found[key], wanted[key]) for key in wanted)
    return found == (pytest.approx(wanted, rel=1e-3) if isinstance(wanted, float) else wanted)


@cache
def approved() -> dict[str, Any]:
    """What was approved of each server; all of it is computed only to write it anew."""
    found = {each.name: believed(each) for each in SERVERS} if os.environ.get("CRUMPLE_WRITE_GOLDEN") else {}
    read: dict[str, Any] = json.loads(as_golden("stored-beliefs.json", json.dumps(found, indent=1) + "\n"))
    return read


@pytest.mark.parametrize("server", SERVERS, ids=[each.name for each in SERVERS])
def test_the_beliefs_are_those_that_were_approved(server: Stored) -> None:
    found, wanted = believed(server), approved()[server.name]
    assert same(found, wanted), f"{found}, approved: {wanted}"


def test_what_was_approved_is_of_stored_servers() -> None:
    assert approved().keys() == {each.name for each in SERVERS}


def test_what_is_said_is_what_was_approved() -> None:
    text = "\n".join(line for each in SERVERS for line in said(each))
    assert as_golden("stored-said.txt", text + "\n") == text + "\n"


def test_what_is_wrong_is_hardly_ever_tested_and_what_is_sure_is_mostly_right() -> None:
    found = calibration.said()
    assert len(found) >= 45
    tested = calibration.share(found, lambda each: each.is_wrong and each.is_tested)
    assert tested.right <= 0.02 * tested.of
    sure = calibration.share(calibration.between(found, 0.95, 1.0), lambda each: each.is_right)
    assert sure.right >= 0.85 * sure.of
    assert calibration.share(found, lambda each: each.is_right).right >= 0.55 * len(found)
    assert calibration.share(found, lambda each: each.is_wrong).right <= 0.15 * len(found)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(each)
    if isinstance(value, str):
        yield value


def test_nothing_of_the_machine_is_stored() -> None:
    for name, observed in OBSERVED.items():
        assert not [*store.paths_in(observed)], name
        for text in texts(observed):
            assert not re.search(r"\(pid \d|other programs \(", text), text
            for address in store.ADDRESS.findall(text):
                assert re.fullmatch(r"127\.0\.0\.1:9\d{3}|unix:/run/\d+\.sock", address), text


def test_what_is_stored_is_small() -> None:
    assert sum(file.stat().st_size for file in stored_servers.FOLDER.iterdir()) < 500 * KIB


def test_a_server_that_was_stored_with_other_fields_can_be_read() -> None:
    other = document()
    before = stored_servers.facts(other)
    for part in (other["observed"], other["facts"], other["facts"]["beyond"]):
        part["a field that is gone"] = 1
    del other["facts"]["beyond"]["switches_least_per_s"]
    found = stored_servers.facts(other)
    assert found.seen == before.seen and found.beyond.switches_least_per_s is None
    assert judged.judged(found) == judged.judged(before)


def document() -> dict[str, Any]:
    """The JSON of a diagnosis, as far as it is stored."""
    found: dict[str, Any] = json.loads(json.dumps(next(iter(OBSERVED.values()))))
    return found


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where nothing is stored yet."""
    monkeypatch.setattr(stored_servers, "TRUTHS", tmp_path / "servers.toml")
    monkeypatch.setattr(stored_servers, "OBSERVED", tmp_path / "observed.jsonl.gz")
    return tmp_path


def added(folder: Path, seen: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    file = folder / "seen.json"
    file.write_text(json.dumps(seen))
    words = ["--name", "shop", "--framework", "Puma", "--runtime", "Ruby"]
    monkeypatch.setattr(sys, "argv", ["store.py", str(file), "--cause", "gate", "--cause", "workers", *words])
    return store.main()


def test_a_server_is_added_without_the_names_of_the_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = document()
    seen["observed"]["work"]["disturbed"] = "other programs (backup (pid 12)) took up to 60% of the time"
    seen["observed"]["asks_at_rest"] = {"10.1.2.3:5432": 1.0, "unix:/srv/own.sock": 2.0, "10.1.2.3:54": 3.0}
    assert added(folder, seen, monkeypatch) == 0
    assert stored_servers.read_truths()["shop"]["causes"] == ["gate", "workers"]
    stored = stored_servers.read_observed()["shop"]
    assert stored["observed"]["work"]["disturbed"] == "other programs took up to 60% of the time"
    asked = stored["observed"]["asks_at_rest"]
    assert [*asked.values()] == [1.0, 2.0, 3.0] and not {*asked} & {*seen["observed"]["asks_at_rest"]}
    assert "10.1.2.3" not in json.dumps(stored) and "own.sock" not in json.dumps(stored)


def test_a_path_of_the_machine_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = document()
    seen["observed"]["failed"] = {"work": "no file /srv/shop/app.py"}
    assert added(folder, seen, monkeypatch) == 1
    said = capsys.readouterr().err
    assert "a path of this machine is left in it: 'no file /srv/shop/app.py'; " in said
    assert not stored_servers.OBSERVED.exists()
