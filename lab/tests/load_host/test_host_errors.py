"""A load host that cannot be reached is one line with the remedy, as a real ssh and a real sshd report it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import other_hosts
import pytest
import scripted_engine
import secure_shell
from crumple.errors import EngineFailed
from crumple.load_host import host_errors, where
from crumple.load_host.load_host import LoadHost
from other_hosts import Link
from secure_shell import Shell

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Link]]:
    if why := other_hosts.why_not() or secure_shell.why_not():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("client")
    with (
        other_hosts.started("loader", other_hosts.WITH_HOME) as host,
        other_hosts.joined(None, host) as link,
        secure_shell.serving(host, link.addresses[1], folder) as shell,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PATH", shell.path)
        yield shell, link


def failure(text: str, folder: Path) -> EngineFailed:
    program = scripted_engine.written(folder)
    with LoadHost(where.read(text), program) as host, pytest.raises(EngineFailed) as failed:
        host.ask("facts")
    assert str(failed.value).isprintable() and failed.value.remedy
    return failed.value


def test_an_engine_is_sent_by_ssh_and_answers(loader: tuple[Shell, Link], tmp_path: Path) -> None:
    with LoadHost(where.read("loader"), scripted_engine.written(tmp_path)) as host:
        assert json.loads(host.ask("facts")) == scripted_engine.FACTS


def test_a_host_key_that_is_another_or_unknown_is_told_apart(
    loader: tuple[Shell, Link], tmp_path: Path
) -> None:
    shell, link = loader
    known = shell.folder / "known_hosts"
    before = known.read_text()
    try:
        shell.change_host_key()
        changed = failure("loader", tmp_path)
        known.write_text("")
        unknown = failure("loader", tmp_path)
    finally:
        known.write_text(before)
    assert changed.message == "loader has another host key than before"
    assert f"ssh-keygen -R {link.addresses[1]}" in changed.remedy
    assert unknown.message == "the host key of loader is not known here"
    assert unknown.remedy.endswith(": ssh loader")


def test_without_a_key_the_remedy_is_to_give_one(loader: tuple[Shell, Link], tmp_path: Path) -> None:
    key = loader[0].folder / "key"
    key.rename(tmp_path / "key")
    try:
        failed = failure("loader", tmp_path)
    finally:
        (tmp_path / "key").rename(key)
    assert "accepts no key" in failed.message and "ssh-copy-id loader" in failed.remedy


def test_a_host_that_is_no_name_or_refuses(loader: tuple[Shell, Link], tmp_path: Path) -> None:
    assert "no name that ssh can resolve" in failure("no-host.invalid", tmp_path).message
    assert "nothing accepts ssh" in failure(f"ssh -p 2 {loader[1].addresses[1]}", tmp_path).message


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-command x", "no-such-command does not run: No such file or directory"),
        ("env /no/such", "gives no shell"),
        ("false x", "false x gives no shell: false ended with code 1"),
        # As nologin does, on its output.
        ("echo This account is currently not available.", "gives no shell: This account is currently"),
        ("sh -c 'printf \"\\033[2Jbad\\n\"'", "gives no shell: \\x1b[2Jbad"),
    ],
)
def test_a_command_that_gives_no_shell_is_one_line(tmp_path: Path, command: str, said: str) -> None:
    assert said in failure(command, tmp_path).message


@pytest.mark.parametrize("facts", [{}, [], {**scripted_engine.FACTS, "engine_version": "0.0.1"}])
def test_an_engine_that_is_not_what_was_sent_is_named_by_its_file(tmp_path: Path, facts: object) -> None:
    program = scripted_engine.written(tmp_path, facts)
    named, said = where.read(f"env XDG_CACHE_HOME={tmp_path}"), f"{tmp_path}/crumple/engine-.* is version"
    with LoadHost(named, program) as host, pytest.raises(EngineFailed, match=said) as failed:
        host.ask("facts")
    assert "remove that file" in failed.value.remedy


def test_a_host_of_another_kind_is_refused() -> None:
    failed = host_errors.other_machine(where.read("loader"), "Linux", "riscv64", "x86_64")
    assert str(failed) == (
        "loader is Linux riscv64, and this engine is for Linux x86_64; "
        "let the load come from a host of that kind: Linux x86_64"
    )


def test_a_folder_that_takes_no_engine_is_passed_over(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.write_text("")
    named = where.read(f"env XDG_CACHE_HOME={full}")
    with LoadHost(named, scripted_engine.written(tmp_path)) as host, host.link() as link:
        assert link.path.startswith(f"/tmp/crumple-{os.getuid()}/engine-")
    Path(link.path).unlink()
