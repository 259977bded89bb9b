"""Real runtimes are asked while requests wait for something that is known, and say that."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asked_servers
import pytest
from asked_servers import needs, said_when
from crumple import asked
from crumple.asked import jcmd, pprof, py_spy
from crumple.asked.said import Said

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def waits(number: int) -> Callable[[Said], bool]:
    return lambda said: f"{number} for a" in said.shows


@needs("jcmd")
@pytest.mark.parametrize(
    ("path", "points", "count", "is_there"),
    [
        ("/pool", "connection-pool", None, waits(3)),
        ("/lock", "gate", 1, waits(3)),
        ("/permit", "gate", None, waits(3)),
        ("/other", "workers", 4, lambda said: said.shows.startswith("4 of 4")),
    ],
)
def test_a_jvm_says_what_its_requests_wait_for(
    tmp_path: Path, path: str, points: str, count: int | None, is_there: Callable[[Said], bool]
) -> None:
    (tmp_path / "Shop.java").write_text(asked_servers.JAVA)
    command = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "Shop.java"]
    with (
        asked_servers.running(lambda *ports: [*command, *ports], tmp_path) as (pid, port, release),
        asked_servers.in_flight(port, release, path, 4),
    ):
        said = said_when(jcmd, pid, is_there)
    assert (said.points_to, said.count) == (points, count)
    assert "Shop.handle(Shop.java:" in said.place or "Shop.work(Shop.java:" in said.place
    assert said.command == f"jcmd {pid} Thread.print"


@pytest.fixture(scope="module")
def go_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(asked_servers.GO)
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", "shop", "main.go"], cwd=folder, env=env, check=True)
    return folder


@needs("go")
@pytest.mark.parametrize(("path", "count"), [("/lock", 1), ("/permit", None)])
def test_a_go_program_with_pprof_says_what_its_requests_wait_for(
    go_shop: Path, path: str, count: int | None
) -> None:
    with (
        asked_servers.running(lambda *ports: ["./shop", *ports], go_shop) as (pid, port, release),
        asked_servers.in_flight(port, release, path, 6),
    ):
        said = said_when(pprof, pid, waits(5))
    assert (said.points_to, said.count) == ("gate", count)
    assert said.place.startswith("main.main.func")


@needs("py-spy")
@pytest.mark.parametrize(
    ("path", "points", "count", "is_there"),
    [
        ("/lock", "gate", 1, waits(3)),
        ("/permit", "gate", None, waits(3)),
        ("/other", "workers", 4, lambda said: said.shows.startswith("4 of")),
    ],
)
def test_a_python_program_says_what_its_requests_wait_for(
    tmp_path: Path, path: str, points: str, count: int | None, is_there: Callable[[Said], bool]
) -> None:
    (tmp_path / "shop.py").write_text(asked_servers.PYTHON)
    with (
        asked_servers.running(lambda *ports: [sys.executable, "shop.py", *ports], tmp_path) as (
            pid,
            port,
            release,
        ),
        asked_servers.in_flight(port, release, path, 4),
    ):
        said = said_when(py_spy, pid, is_there)
    assert (said.points_to, said.count) == (points, count)
    assert said.place.startswith(("Handler.do_GET (shop.py:", "do_GET (shop.py:"))


@needs("java")
def test_a_jvm_that_does_not_catch_sigquit_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "Shop.java").write_text(asked_servers.JAVA)
    command = ["java", "-Xrs", "-Xmx64m", "-XX:+UseSerialGC", "Shop.java"]
    with asked_servers.running(lambda *ports: [*command, *ports], tmp_path) as (pid, _, _):
        (answer,) = asked.all_of(pid, (), sources=(jcmd,))
        assert not isinstance(answer, Said)
        assert "does not catch SIGQUIT" in answer.why
        assert Path(f"/proc/{pid}").exists()
