"""A link finds or sends the engine, serves trials one after the other, and says how it was lost."""

from pathlib import Path

import pytest
import scripted_engine
from crumple.errors import EngineFailed, LoadHostLost
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost

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
            assert host.ask("facts") == scripted_engine.FACTS
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
        with pytest.raises(EngineFailed, match="no such rate"):
            link.listen(lambda _: None, 60)


def test_what_the_engine_does_not_answer_is_said_in_its_words(tmp_path: Path, program: Path) -> None:
    with LoadHost(shell(tmp_path), program) as host:
        with pytest.raises(EngineFailed, match="this is no line; take another"):
            host.ask("unknown")
        assert host.ask("facts") == scripted_engine.FACTS


@pytest.mark.parametrize("how", ["killed", "silent", "flood"])
def test_an_engine_that_is_gone_is_a_load_host_lost(tmp_path: Path, program: Path, how: str) -> None:
    with LoadHost(shell(tmp_path), program) as host:
        with pytest.raises(LoadHostLost, match="load-host-lost"), host.link() as link:
            link.load(f'"{how}"')
            link.listen(lambda _: None, 60)
        assert host.ask("facts")
