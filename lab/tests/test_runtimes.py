"""Which executable meets a requirement: the PATH's, the newest of `also`, or what the launcher fetched."""

from pathlib import Path

import pytest
import tiny_servers
from crumple.subject import build, servers

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

NEEDS = """
[requires.tool]
command = ["tool", "--version"]
version = '(\\d+(?:\\.\\d+)*)'
at_least = "{at_least}"
also = ["{also}/*/tool"]
"""


def tool(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\necho tool {version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """A folder of places beside the PATH; the PATH has a tool of version 17."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tool(tmp_path / "bin", "17.0.1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "also"


def described(tmp_path: Path, at_least: str, toml: str = ""):
    return tiny_servers.described(
        tmp_path, toml=NEEDS.format(at_least=at_least, also=tmp_path / "also") + toml
    )


@pytest.mark.parametrize(
    ("at_least", "found"),
    [("17", "bin/tool"), ("18", "also/c/tool"), ("21.0.10", "also/c/tool")],
)
def test_the_path_comes_first_then_the_newest_other_runtime(tmp_path, places, at_least, found):
    for name, version in (("a", "21.0.9"), ("b", "9.1"), ("c", "21.0.10")):
        tool(places / name, version)
    tiny = described(tmp_path, at_least)
    assert build.executables_found(tiny)["tool"] == str(tmp_path / found)
    assert isinstance(servers.readiness(tiny), servers.Ready)


def test_if_none_is_new_enough_the_one_in_the_path_is_named(tmp_path, places):
    tool(places / "a", "21")
    assert servers.readiness(described(tmp_path, "25")) == servers.Missing(
        "tool 17.0.1 is older than 25", "install tool"
    )


def test_a_runtime_outside_the_path_is_found(tmp_path, places):
    (tmp_path / "bin" / "tool").unlink()
    tool(places / "a", "21")
    assert build.versions(described(tmp_path, "20"))["tool"] == "21"


def test_the_runtime_found_is_used_to_build_and_start(tmp_path, places):
    newer = tool(places / "a", "21")
    toml = """
[build]
command = [["sh", "-c", "{tool} > built-with"]]
"""
    tiny = described(tmp_path, "20", toml)
    file = tiny.folder / "server.toml"
    file.write_text(file.read_text().replace('"{scratch}"]', '"{scratch}"]\nenv = { TOOL = "{tool}" }'))
    program = tiny.folder / "server.py"
    program.write_text(program.read_text().replace('print("serving"', 'print(os.environ["TOOL"], "serving"'))
    built = servers.build(servers.find(tmp_path)["tiny"])
    assert (built.folder / "built-with").read_text() == "tool 21\n"
    with servers.start(built, cores=(), settings={}) as running:
        assert any(line.startswith(f"{newer} serving") for line in running.output_tail())


def test_a_runtime_that_the_launcher_installed_is_found(tmp_path, places, monkeypatch):
    monkeypatch.setattr(build, "FETCHED", tmp_path / "fetched")
    tool(tmp_path / "fetched" / "tools", "30")
    tool(tmp_path / "fetched" / "venv" / "bin", "40")
    # A Rust is fetched because the PATH's is too old, so it comes first; uv is fetched if the PATH has none.
    assert build.versions(described(tmp_path, "1"))["tool"] == "30"
    (tmp_path / "fetched" / "tools" / "tool").unlink()
    (tmp_path / "bin" / "tool").unlink()
    assert build.versions(servers.find(tmp_path)["tiny"])["tool"] == "40"
    path = build.base_environment()["PATH"].split(":")
    assert path.index(str(tmp_path / "fetched" / "tools")) == 0
    assert str(tmp_path / "fetched" / "venv" / "bin") in path
