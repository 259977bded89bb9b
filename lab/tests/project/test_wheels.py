"""The wheel is built, inspected, installed in fresh environments, and used outside of any checkout.

`make wheels` compiles the engine anew, which takes minutes. These tests put that of this environment into the
wheel instead.
"""

import json
import os
import platform
import pwd
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import build_wheels
import diagnosing
import pytest
import real_engine
from crumple import cli, project, release
from crumple.shell import scripts

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = Path(__file__).parents[3]
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
    (copy / "engine").mkdir()
    shutil.copy(ROOT / "engine" / "Cargo.toml", copy / "engine")
    for leftover in LEFTOVERS:
        file = copy / "servers" / "node-http" / leftover / "left.js"
        file.parent.mkdir()
        file.touch()
    executable, added = real_engine.loaded().path, copy / "added"
    build_wheels.write_added(added, cli.described(), executable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(build_wheels.ADDED, str(added))
        patch.setenv(build_wheels.PLATFORMS, f"linux_{platform.machine()}")
        uv("build", "--wheel", "--out-dir", copy / "out", copy / "lab")
    (built,) = (copy / "out").glob(f"crumple-*-py3-none-linux_{platform.machine()}.whl")
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
        return self.run(str(self.bin / "crumple"), *arguments)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command so."""
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
        return subprocess.run(
            command, cwd=here, env={**kept, **own}, capture_output=True, text=True, timeout=LIMIT_S
        )

    def told(self, *arguments: str) -> Any:
        """The output of `crumple … --json`."""
        done = self.crumple(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def installed_with(wheel: Path, folder: Path, *extras: str) -> Installed:
    """The wheel, installed with its own dependencies only, in the versions of the lock."""
    here = Installed(folder)
    python, lock = here.bin / "python", here.folder / "pylock.toml"
    uv("venv", "--python", sys.executable, here.bin.parent)
    chosen = [word for extra in extras for word in ("--extra", extra)]
    of_the_lab = ("--frozen", "--no-dev", "--package", "crumple", "--no-emit-project", *chosen)
    uv("export", *of_the_lab, "--format", "pylock.toml", "--output-file", lock)
    uv("pip", "install", "--python", python, "-r", lock)
    uv("pip", "install", "--python", python, "--no-deps", wheel)
    uv("pip", "check", "--python", python)
    return here


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with all extras."""
    return installed_with(wheel, tmp_path_factory.mktemp("installed"), "studies")


@pytest.fixture(scope="module")
def smallest(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel without any extra."""
    return installed_with(wheel, tmp_path_factory.mktemp("smallest"))


@pytest.fixture
def null_server() -> Iterator[str]:
    """The URL of a running null server."""
    command = [real_engine.loaded().path, "null-server"]
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


def test_lists_work_without_a_project(installed: Installed) -> None:
    assert {each["name"] for each in installed.told("servers")} == {
        file.parent.name for file in (ROOT / "servers").glob("*/server.toml")
    }
    assert {each["name"] for each in installed.told("studies")} == {
        file.stem for file in (ROOT / "studies").glob("*.toml")
    }


def test_a_study_of_the_wheel_runs_and_is_reported(installed: Installed) -> None:
    ready = [each["name"] for each in installed.told("servers") if each["ready"] and each["name"] in QUICK]
    if not ready:
        pytest.skip(f"needs one of {', '.join(QUICK)}; run: crumple setup")
    before = {path: path.stat().st_mtime_ns for path in installed.carried.rglob("*")}
    server, runs = ready[0], installed.folder / "data" / "crumple" / "runs"
    (made_ready,) = installed.told("setup", server)
    assert made_ready["ready"]
    assert list((installed.folder / "cache" / "crumple" / "servers").glob(f"{server}-*[0-9a-f]"))
    done = installed.crumple("run", "todo-json", "--servers", server, "--only", f"shared/b01/{server}")
    # 3: the trial is not valid, because of the machine.
    assert done.returncode in (0, 3), done.stderr
    (run,) = runs.iterdir()
    assert f"stored in {run}" in done.stderr
    # A trial that others disturbed is done again.
    stored, *_ = sorted((run / "trials").glob("*.json"))
    trial = json.loads(stored.read_text())
    assert trial["status"] == "measured" and trial["record"]["outcomes"]["ok"] > 0
    assert installed.crumple("report", "--format", "html").returncode == 0
    assert (run / "report.html").is_file()
    # Nothing was written to the installed files.
    assert {path: path.stat().st_mtime_ns for path in installed.carried.rglob("*")} == before
    assert not list((installed.folder / "here").iterdir())


def test_the_wheel_holds_engine_manual_and_completions(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (of_engine,) = [each for each in archive.infolist() if each.filename == "crumple/bin/crumple-engine"]
    assert of_engine.external_attr >> 16 & 0o111 == 0o111
    share = {name.partition("/data/share/")[2] for name in names if ".data/data/share/" in name}
    assert {"man/man1/crumple.1", "man/man1/crumple-load.1", *scripts.FILES_IN_SHARE.values()} <= share
    assert "crumple/commands.json" in names and "crumple/commit.txt" in names


def test_the_smallest_installation_loads_and_has_no_more_than_that_needs(
    smallest: Installed, null_server: str
) -> None:
    done = smallest.crumple("load", null_server, "-z", "1s", "--ramp", "1-4", "--json")
    assert done.returncode in (0, 3), done.stderr
    result = json.loads(done.stdout)
    assert result["url"] == null_server and result["outcomes"]["ok"] > 0
    packages = smallest.carried.parents[1]
    assert not [name for name in ("numpy", "jinja2") if (packages / name).exists()]
    assert smallest.crumple("--version").stdout.splitlines()[1].startswith(f"engine {release.VERSION}")


def test_the_smallest_installation_says_what_else_a_command_needs(
    smallest: Installed, null_server: str
) -> None:
    done = smallest.crumple("versus", null_server, null_server)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    line = done.stderr.partition("; run: ")[2].split()
    # uv's environments have no pip.
    assert line == ["uv", "pip", "install", "--python", str(smallest.bin / "python"), "numpy"]


def test_a_tab_reads_what_the_wheel_holds(smallest: Installed) -> None:
    done = smallest.crumple("--complete", "bash", "verify", "go-")
    assert done.stdout.splitlines() == ["go-nethttp", ":files"]
    assert not (smallest.folder / "cache" / "crumple" / "commands").exists()


def test_the_smallest_installation_searches_and_diagnoses(smallest: Installed, null_server: str) -> None:
    done = smallest.crumple("find", null_server, "--objective", "failed<50%", "--budget", "10s", "--json")
    assert done.returncode in (0, 1, 3), done.stderr
    assert json.loads(done.stdout)["levels"]
    short = diagnosing.short_program(smallest.bin / "python")
    done = smallest.run(*short, "diagnose", null_server, "--no-search", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["who_waits"]


def test_another_user_can_use_an_installation_that_is_not_his(
    smallest: Installed, null_server: str, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    try:
        nobody = pwd.getpwnam("nobody").pw_uid
    except KeyError:
        pytest.skip("needs a user called nobody")
    python = Path("/usr/bin/python3")
    packages = {"PYTHONPATH": str(smallest.carried.parents[1])}
    if subprocess.run([python, "-c", "import pydantic"], env=packages).returncode:
        pytest.skip("needs a Python that others can read, of the version that the packages are for")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, nobody, nobody)
    for folder in (home, *home.parents[:-1], smallest.folder, *smallest.folder.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o055)
    environment = {**packages, "HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [python, "-m", "crumple", "load", null_server, "-c", "4", "-z", "1s", "--json"],
        cwd=home, env=environment, user=nobody, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["outcomes"]["ok"] > 0


def test_a_static_program_is_told_from_one_that_needs_libraries(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    subprocess.run([compiler, "-o", tmp_path / "dynamic", tmp_path / "a.c"], check=True)
    assert not build_wheels.is_static(tmp_path / "dynamic")
    if subprocess.run([compiler, "-static", "-o", tmp_path / "static", tmp_path / "a.c"]).returncode == 0:
        assert build_wheels.is_static(tmp_path / "static")
    with pytest.raises(build_wheels.NotBuiltError, match="is no program"):
        build_wheels.is_static(tmp_path / "a.c")


def test_what_is_missing_to_build_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = r"no C compiler for it; on Debian: apt-get install gcc-mips-linux-gnu"
    with pytest.raises(build_wheels.NotBuiltError, match=said):
        build_wheels.check(build_wheels.Kind("mips"))
