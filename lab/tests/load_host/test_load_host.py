"""A link finds or sends the engine, serves trials one after the other, and says how it was lost."""

import json
from pathlib import Path

import pytest
import scripted_engine
from crumple.errors import EngineFailed, LoadHostLost
from crumple.load_host import host_errors, where
from crumple.load_host.link import SILENCE_S
from crumple.load_host.load_host import LoadHost
from crumple.load_host.piped_process import Ending

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return scripted_engine.written(tmp_path)


def shell(home: Path) -> where.Where:
    return where.read(f"env -u XDG_CACHE_HOME HOME={home}")


def test_an_engine_is_sent_once_and_serves_trials_one_after_the_other(tmp_path: Path, program: Path) -> None:
    said: list[bytes] = []
    for _ in range(2):
        with LoadHost(shell(tmp_path), program) as host:
            assert json.loads(host.ask("facts")) == scripted_engine.FACTS
            for _ in range(2):
                with host.link() as link:
                    link.load('"held"')
                    assert link.listen(said.append, 60)
                    link.go()
                    assert not link.listen(said.append, 60)
                    assert link.record() == b'{"kept":1}'
    assert said == [b'{"elapsed_s":1}'] * 4
    assert [file.name for file in (tmp_path / ".cache" / "crumple").iterdir()] == [Path(link.path).name]


def test_what_the_engine_refuses_is_said_in_its_words(tmp_path: Path, program: Path) -> None:
    with LoadHost(shell(tmp_path), program) as host, host.link() as link:
        link.load('"refused"')
        with pytest.raises(EngineFailed, match="said: no such rate"):
            link.listen(lambda _: None, 60)


def test_what_the_engine_does_not_answer_is_said_in_its_words(tmp_path: Path, program: Path) -> None:
    with LoadHost(shell(tmp_path), program) as host:
        with pytest.raises(EngineFailed, match="said: this is no line"):
            host.ask("unknown")
        assert json.loads(host.ask("facts")) == scripted_engine.FACTS


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("killed", "client-ended"),
        ("silent", "frozen"),
        ("flood", "not-understood"),
        ("child killed", "engine-ended"),
        ("child stopped", "frozen"),
    ],
)
def test_a_load_host_that_is_lost_is_said_to_be_and_how(
    tmp_path: Path, program: Path, what: str, how: str
) -> None:
    with LoadHost(shell(tmp_path), program) as host:
        with pytest.raises(LoadHostLost, match="load-host-lost: ") as lost, host.link() as link:
            link.load(f'"{what}"')
            link.listen(lambda _: None, 60)
        assert lost.value.how == how and how in host_errors.HOW and lost.value.remedy
        assert host.ask("facts")


@pytest.mark.parametrize(
    ("ending", "states", "how"),
    [
        (Ending(255, 0.5, False, False, 1.0, ()), [], "engine-ended"),
        (Ending(137, 0.5, False, False, 1.0, ()), [], "engine-ended"),
        (Ending(255, 2.0, False, False, 1.0, ()), [], "frozen"),
        (Ending(-9, 3.0, True, False, 1.0, ()), ["T", "S"], "frozen"),
        (Ending(-9, 3.0, True, False, 1.0, ()), None, "link-cut"),
        (
            Ending(255, 3.0, False, False, 1.0, ("Timeout, server 10.0.0.7 not responding.",)),
            None,
            "link-cut",
        ),
        (Ending(0, 0.5, False, False, 3.5, ()), [], "crumple-stopped"),
        (Ending(0, 0.5, False, False, 2.5, ()), [], "engine-ended"),
    ],
)
def test_how_a_link_ended_says_what_was_lost(ending: Ending, states: list[str] | None, how: str) -> None:
    assert host_errors.lost(where.read("loader"), ending, SILENCE_S, states).how == how
