"""A folder at a commit: what is checked out, and what is left of it afterwards."""

from pathlib import Path

import pytest
from crumple.errors import CrumpleError, UsageError
from crumple.subject import commits
from git_repositories import git, here, with_commits

__all__ = ["here", "with_commits"]

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def worktrees(root: Path) -> list[str]:
    return git(root, "worktree", "list", "--porcelain").splitlines()


def test_the_folder_is_as_it_was_and_gone_afterwards(with_commits: tuple[Path, str]) -> None:
    root, first = with_commits
    folder = root / "servers" / "tiny"
    before = worktrees(root)
    changed = folder / "server.py"
    changed.write_text("not committed")
    with commits.checked_out(folder, first) as there:
        assert there.name == "tiny" and there != folder
        assert "# changed" not in (there / "server.py").read_text()
        assert (there / "server.toml").is_file() and (there.parent / "other").is_dir()
        place = there
    assert not place.exists() and worktrees(root) == before
    assert changed.read_text() == "not committed"


def test_it_is_gone_after_an_error_too(with_commits: tuple[Path, str]) -> None:
    root, first = with_commits
    before = worktrees(root)
    with pytest.raises(ZeroDivisionError), commits.checked_out(root / "servers" / "tiny", first):
        raise ZeroDivisionError
    assert worktrees(root) == before


def test_no_hook_of_the_repository_runs(with_commits: tuple[Path, str], tmp_path: Path) -> None:
    root, first = with_commits
    ran = tmp_path / "ran"
    hook = root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    with commits.checked_out(root / "servers" / "tiny", first):
        pass
    assert not ran.exists()


def test_variables_of_another_repository_do_not_mislead(
    with_commits: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, first = with_commits
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert commits.find_commit(root / "servers" / "tiny", "HEAD~1") == first


def test_a_folder_that_the_commit_does_not_have(with_commits: tuple[Path, str]) -> None:
    root, first = with_commits
    (root / "servers" / "new").mkdir()
    with (
        pytest.raises(UsageError, match="that commit has no such folder; name a later commit"),
        commits.checked_out(root / "servers" / "new", first),
    ):
        pass


def test_without_git_a_commit_is_refused(
    with_commits: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    with pytest.raises(UsageError, match="a commit needs git, which is not installed; install git"):
        commits.find_commit(with_commits[0], "HEAD")


def test_a_git_that_hangs_is_ended(with_commits: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "LIMIT_S", 1e-6)
    with pytest.raises(CrumpleError, match="git rev-parse did not end within"):
        commits.find_commit(with_commits[0], "HEAD")
