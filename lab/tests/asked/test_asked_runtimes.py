"""Real runtimes are asked while requests wait for something that is known, and show that."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asked_servers
import pytest
from asked_servers import found_when, needs
from crumple.asked import all_sources, jcmd, pprof, py_spy
from crumple.observation.answers import SourceAnswer

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def has(part: str, number: int) -> Callable[[SourceAnswer], bool]:
    return lambda answer: part in answer.parts and answer.parts[part].number == number


@needs("jcmd")
@pytest.mark.parametrize(
    ("path", "part", "number"),
    [("/pool", "pooled", 3), ("/lock", "gated", 3), ("/permit", "gated", 3), ("/other", "occupied", 4)],
)
def test_a_jvm_shows_what_its_requests_wait_for(tmp_path: Path, path: str, part: str, number: int) -> None:
    (tmp_path / "Shop.java").write_text(asked_servers.JAVA)
    command = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "Shop.java"]
    with (
        asked_servers.running(lambda *ports: [*command, *ports], tmp_path) as (pid, port, release),
        asked_servers.in_flight(port, release, path, 4),
    ):
        answer = found_when(jcmd, pid, has(part, number))
    assert answer.parts[part].of == 4
    assert part == "occupied" or "Shop.handle(Shop.java:" in answer.parts[part].does
    assert answer.command == f"jcmd {pid} Thread.print"


@pytest.fixture(scope="module")
def go_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(asked_servers.GO)
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", "shop", "main.go"], cwd=folder, env=env, check=True)
    return folder


@needs("go")
@pytest.mark.parametrize("path", ["/lock", "/permit"])
def test_a_go_program_with_pprof_shows_what_its_requests_wait_for(go_shop: Path, path: str) -> None:
    with (
        asked_servers.running(lambda *ports: ["./shop", *ports], go_shop) as (pid, port, release),
        asked_servers.in_flight(port, release, path, 6),
    ):
        answer = found_when(pprof, pid, has("gated", 5))
    assert answer.parts["gated"].of == 6
    assert " at main.main.func" in answer.parts["gated"].does


@needs("py-spy")
@pytest.mark.parametrize(
    ("path", "part", "number"), [("/lock", "gated", 3), ("/permit", "gated", 3), ("/other", "occupied", 4)]
)
def test_a_python_program_shows_what_its_requests_wait_for(
    tmp_path: Path, path: str, part: str, number: int
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
        answer = found_when(py_spy, pid, has(part, number))
    assert part == "occupied" or "do_GET (shop.py:" in answer.parts[part].does


@needs("java")
def test_a_jvm_that_does_not_catch_sigquit_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "Shop.java").write_text(asked_servers.JAVA)
    command = ["java", "-Xrs", "-Xmx64m", "-XX:+UseSerialGC", "Shop.java"]
    with asked_servers.running(lambda *ports: [*command, *ports], tmp_path) as (pid, _, _):
        (answer,) = all_sources.answers(all_sources.of_server(pid, (), (jcmd,)))
        assert "does not catch SIGQUIT" in answer.why
        assert Path(f"/proc/{pid}").exists()
