"""The lab's wheel is built, inspected, installed in a fresh environment, and used outside of any checkout.

The engine's wheel only puts its executable into the environment's `bin`. Building it takes minutes and would
test maturin, so these tests link the engine of this environment there. `make wheels` builds both.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import real_engine
from crumple import engine, project

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = Path(__file__).parents[2]
# Folders that a user's own builds leave beside the sources of servers.
LEFTOVERS = ("node_modules", "target", "dist", "__pycache__")
# The tests use the first of these that can run here; each is built within seconds.
QUICK = ("go-nethttp", "node-http")
LIMIT_S = 120.0


def uv(*arguments: str | Path, cwd: Path = ROOT) -> None:
    """Run uv with its cache, which setup has filled; use the index only if a package is missing there."""
    found = shutil.which("uv", path=f"{os.environ['PATH']}:{ROOT / '.bootstrap' / 'venv' / 'bin'}")
    if found is None:
        pytest.skip("needs uv, which make test brings")
    for network in (["--offline"], []):
        done = subprocess.run([found, *network, *arguments], cwd=cwd, capture_output=True, text=True)
        if done.returncode == 0:
            return
    raise AssertionError(done.stderr)


def files(folder: Path) -> dict[str, bytes]:
    """Name in the project → content, for all files in the folders that mark a project."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for mark in project.MARKS
        for path in (folder / mark).rglob("*")
        if path.is_file() and not set(path.parts).intersection(LEFTOVERS)
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a copy of the checkout without git, in which servers were built by hand."""
    copy = tmp_path_factory.mktemp("copy")
    for part in ("lab", "servers", "studies", "contract"):
        ignored = shutil.ignore_patterns(*LEFTOVERS)
        shutil.copytree(ROOT / part, copy / part, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "LICENSE", copy)
    for leftover in LEFTOVERS:
        file = copy / "servers" / "node-http" / leftover / "left.js"
        file.parent.mkdir()
        file.touch()
    uv("build", "--wheel", "--out-dir", copy / "out", copy / "lab")
    (built,) = (copy / "out").glob("*.whl")
    return built


@dataclass(frozen=True)
class Installed:
    """The wheel in an environment of its own, with cache and data folder under `folder`."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "environment" / "bin"

    @property
    def carried(self) -> Path:
        (found,) = self.folder.glob("environment/lib/python*/site-packages/crumple/carried")
        return found

    def crumple(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `crumple …` in an empty folder, without variables that lead to this checkout."""
        here = self.folder / "here"
        here.mkdir(exist_ok=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CRUMPLE_", "PYTHON", "VIRTUAL_ENV"))
        }
        own = {
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            # Otherwise Go's cache would move with XDG_CACHE_HOME, and building Go's library takes a minute.
            "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache" / "go-build")),
        }
        command = [self.bin / "crumple", *arguments]
        return subprocess.run(
            command, cwd=here, env={**kept, **own}, capture_output=True, text=True, timeout=LIMIT_S
        )

    def told(self, *arguments: str) -> Any:
        """The output of `crumple … --json`."""
        done = self.crumple(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed with its own dependencies only, in the versions of the lock."""
    here = Installed(tmp_path_factory.mktemp("installed"))
    python, lock = here.bin / "python", here.folder / "pylock.toml"
    uv("venv", "--python", sys.executable, here.bin.parent)
    of_the_lab = ("--frozen", "--no-dev", "--package", "crumple", "--no-emit-project")
    uv("export", *of_the_lab, "--format", "pylock.toml", "--output-file", lock)
    uv("pip", "install", "--python", python, "-r", lock)
    uv("pip", "install", "--python", python, "--no-deps", wheel)
    uv("pip", "check", "--python", python)
    return here


@pytest.fixture(scope="module")
def with_engine(installed: Installed) -> Installed:
    """The installed wheel, with the engine where its wheel puts it; skips if there is no engine."""
    executable = real_engine.loaded().path
    (installed.bin / engine.NAME).symlink_to(executable.resolve())
    return installed


@pytest.fixture
def null_server(with_engine: Installed) -> Iterator[str]:
    """The URL of a running null server."""
    command = [with_engine.bin / engine.NAME, "null-server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdin
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}/"
        process.stdin.close()


def test_the_wheel_contains_the_project_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    (license_text,) = tmp_path.glob("*.dist-info/licenses/LICENSE")
    assert license_text.read_bytes() == (ROOT / "LICENSE").read_bytes()
    carried = files(tmp_path / "crumple" / "carried")
    assert carried == files(ROOT)
    assert "servers/node-http/package-lock.json" in carried
    assert not [path for path in tmp_path.rglob("*") if path.name in LEFTOVERS or path.name == "left.js"]


def test_lists_work_without_a_project_or_an_engine(installed: Installed) -> None:
    assert {each["name"] for each in installed.told("servers")} == {
        file.parent.name for file in (ROOT / "servers").glob("*/server.toml")
    }
    assert {each["name"] for each in installed.told("studies")} == {
        file.stem for file in (ROOT / "studies").glob("*.toml")
    }


def test_a_study_of_the_wheel_runs_and_is_reported(with_engine: Installed) -> None:
    ready = [each["name"] for each in with_engine.told("servers") if each["ready"] and each["name"] in QUICK]
    if not ready:
        pytest.skip(f"needs one of {', '.join(QUICK)}; run: crumple setup")
    before = {path: path.stat().st_mtime_ns for path in with_engine.carried.rglob("*")}
    server, runs = ready[0], with_engine.folder / "data" / "crumple" / "runs"
    (made_ready,) = with_engine.told("setup", server)
    assert made_ready["ready"]
    assert list((with_engine.folder / "cache" / "crumple" / "servers").glob(f"{server}-*[0-9a-f]"))
    assert {finding["state"] for finding in with_engine.told("verify", server)} == {"right"}
    done = with_engine.crumple("run", "todo-json", "--servers", server, "--only", f"shared/b01/{server}")
    # 3: the trial is not valid, because of the machine.
    assert done.returncode in (0, 3), done.stderr
    (run,) = runs.iterdir()
    assert f"stored in {run}" in done.stderr
    # A trial that others disturbed is done again.
    stored, *_ = sorted((run / "trials").glob("*.json"))
    trial = json.loads(stored.read_text())
    assert trial["status"] == "measured" and trial["record"]["outcomes"]["ok"] > 0
    assert with_engine.crumple("report", "--format", "html").returncode == 0
    assert (run / "report.html").is_file()
    # Nothing was written to the installed files.
    assert {path: path.stat().st_mtime_ns for path in with_engine.carried.rglob("*")} == before
    assert not list((with_engine.folder / "here").iterdir())


def test_a_load_needs_no_project(with_engine: Installed, null_server: str) -> None:
    done = with_engine.crumple("load", null_server, "-c", "4", "-z", "1s", "--json")
    assert done.returncode in (0, 3), done.stderr
    result = json.loads(done.stdout)
    assert result["url"] == null_server and result["outcomes"]["ok"] > 0


def test_a_search_needs_no_project(with_engine: Installed, null_server: str) -> None:
    done = with_engine.crumple("find", null_server, "--objective", "failed<50%", "--budget", "10s", "--json")
    assert done.returncode in (0, 1, 3), done.stderr
    assert json.loads(done.stdout)["levels"]
