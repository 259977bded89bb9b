"""Tests read the user's cache and leave nothing in it; one that does is found out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_servers
from crumple.subject import servers

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

HERE = Path(__file__).parents[1] / "helpers"
CONFTEST = "from users_cache import users_cache as users_cache\n"
BUILT = "servers/node-http-0123456789abcdef"
READS = f"""
from pathlib import Path

from crumple import project

def test_it():
    cache = project.cache()
    assert cache != Path.home() / ".cache" / "crumple"
    assert (cache / "{BUILT}" / "program").read_text() == "built before"
    assert not (cache / "servers" / "node-http-1.building-x").exists()
    (cache / "servers" / "mine-1").mkdir()
"""
WRITES = """
from pathlib import Path

def test_it():
    (Path.home() / ".cache/crumple/servers/mine-1").mkdir()
"""
# As `crumple setup` does that runs beside the tests.
SET_UP_MEANWHILE = """
from pathlib import Path

def test_it():
    (Path.home() / ".cache/crumple/servers/node-http-2.building-y").mkdir()
    (Path.home() / ".cache/crumple/servers/node-http-2.lock").touch()
    (Path.home() / ".cache/crumple/servers/node-http-3").mkdir()
"""


def _tested(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """A test suite of one test, for a user with one build in the cache and one under way."""
    servers_of_home = folder / "home" / ".cache" / "crumple" / "servers"
    (servers_of_home / Path(BUILT).name).mkdir(parents=True)
    (servers_of_home / Path(BUILT).name / "program").write_text("built before")
    (servers_of_home / "node-http-1.building-x").mkdir()
    suite = folder / "suite"
    suite.mkdir()
    (suite / "conftest.py").write_text(CONFTEST)
    (suite / "test_it.py").write_text(test)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", suite, "-p", "no:cacheprovider",
         suite],
        cwd=suite,
        env={**kept, "HOME": str(folder / "home"), "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
    )  # fmt: skip


def test_existing_builds_are_read_and_new_ones_go_elsewhere(tmp_path: Path) -> None:
    done = _tested(tmp_path, READS)
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "home" / ".cache" / "crumple" / "servers" / "mine-1").exists()


def test_a_test_that_writes_to_the_users_cache_fails_the_suite(tmp_path: Path) -> None:
    done = _tested(tmp_path, WRITES)
    assert done.returncode != 0
    assert "tests left servers/mine-1 in " in done.stdout


def test_the_projects_servers_may_be_built_meanwhile(tmp_path: Path) -> None:
    done = _tested(tmp_path, SET_UP_MEANWHILE)
    assert done.returncode == 0, done.stdout


def test_this_suite_builds_elsewhere(tmp_path: Path, users_cache: Path) -> None:
    built = servers.build(tiny_servers.described(tmp_path))
    assert built.folder.is_dir()
    assert not built.folder.is_relative_to(users_cache)
