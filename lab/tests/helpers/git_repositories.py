"""A repository with commits, in a folder of its own."""

import os
import subprocess
from pathlib import Path

import pytest
import stand_ins
import tiny_servers

WORKERS = """
[settings.workers]
default = 4
meaning = "for tests"
"""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project with the servers tiny and other; tiny has a setting."""
    root = stand_ins.project(tmp_path / "project")
    folder = tiny_servers.write(root, "tiny", toml=WORKERS)
    file = folder / "server.toml"
    file.write_text(file.read_text().replace('"{scratch}"]', '"{scratch}", "{workers}"]'))
    tiny_servers.write(root, "other")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    return root


def git(folder: Path, *words: str) -> str:
    """Run git there, as nobody in particular."""
    someone = {
        f"GIT_{who}_{what}": "someone@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *words],
        check=True, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **someone},
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def with_commits(here: Path) -> tuple[Path, str]:
    """The project as a repository of two commits; and the hash of the first."""
    git(here, "init", "--quiet")
    git(here, "add", "servers")
    git(here, "commit", "--quiet", "-m", "one")
    first = git(here, "rev-parse", "HEAD")
    program = here / "servers" / "tiny" / "server.py"
    program.write_text(program.read_text() + "\n# changed\n")
    git(here, "commit", "--quiet", "-am", "two")
    git(here, "tag", "v2.1")
    return here, first
