"""Setup with an apt-get of its own: what it shows, asks, installs, and what it skips."""

import os
from pathlib import Path

import pytest
import tiny_servers
from crumple import setup
from crumple.setup import Package

NEEDS = """
[requires.{tool}]
command = ["{tool}", "--version"]
version = '(\\d+)'
apt = ["{tool}-package"]
"""

# Installs by writing the tool into the PATH; knows no package called gone-package.
APT_GET = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in
  *update*) exit 0;;
  *gone-package*) echo "E: Unable to locate package gone-package"; exit 100;;
esac
for package in "$@"; do
  case "$package" in
    *-package)
      tool="{bin}/${{package%-package}}"
      printf '#!/bin/sh\\necho 3\\n' > "$tool"
      chmod +x "$tool";;
  esac
done
"""


class Console:
    """Keeps what was said and asked; answers `answer`."""

    def __init__(self, answer: bool = True) -> None:
        self.lines: list[str] = []
        self.asked: list[str] = []
        self.answer = answer

    def ask(self, question: str) -> bool:
        self.asked.append(question)
        return self.answer

    @property
    def said(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def apt_log(tmp_path, monkeypatch) -> Path:
    """A PATH with the fake apt-get first, run as root; what it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "apt.log"
    log.touch()
    program(folder / "apt-get", APT_GET.format(log=log, bin=folder))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return log


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def prepare(console: Console, *descriptions, yes: bool = False):
    return setup.prepare(descriptions, yes=yes, say=console.lines.append, ask=console.ask)


def test_what_is_missing_is_shown_asked_for_installed_and_built(tmp_path, apt_log):
    console = Console()
    tiny = tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool"))
    (prepared,) = prepare(console, tiny)
    assert prepared.ready
    assert prepared.versions["tinytool"] == "3"
    assert "needs tinytool-package: tinytool is not installed" in console.said
    assert "apt-get -q -y install --no-install-recommends tinytool-package" in console.said
    assert console.asked == ["Install these?"]
    assert console.lines[-1].startswith("tiny: ready, built in")
    assert apt_log.read_text().count("\n") == 2


def test_a_second_time_nothing_is_asked_installed_or_built(tmp_path, apt_log):
    tiny = tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool"))
    prepare(Console(), tiny)
    before = apt_log.read_text()
    console = Console()
    (prepared,) = prepare(console, tiny)
    assert (prepared.ready, prepared.build_s) == (True, 0.0)
    assert (console.lines, console.asked, apt_log.read_text()) == (["tiny: ready"], [], before)


def test_no_is_an_answer(tmp_path, apt_log):
    console = Console(answer=False)
    (prepared,) = prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert prepared.reason == "tinytool is not installed"
    assert apt_log.read_text() == ""
    assert "tiny: skipped, tinytool is not installed; run: crumple setup tiny" in console.lines


def test_yes_asks_nothing(tmp_path, apt_log):
    console = Console(answer=False)
    (prepared,) = prepare(
        console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")), yes=True
    )
    assert prepared.ready
    assert console.asked == []


def test_a_package_that_is_not_to_be_had_keeps_out_no_other(tmp_path, apt_log):
    console = Console()
    good = tiny_servers.described(tmp_path, "good", toml=NEEDS.format(tool="tinytool"))
    bad = tiny_servers.described(tmp_path, "bad", toml=NEEDS.format(tool="gone"))
    by_name = {prepared.name: prepared for prepared in prepare(console, bad, good)}
    assert by_name["good"].ready
    assert by_name["bad"].reason == "gone is not installed"
    assert "Unable to locate package gone-package" in console.said


def test_two_servers_share_one_package():
    lacks = [setup.Lack("a", "a is not installed", ("p", "q")), setup.Lack("b", "b is too old", ("q",))]
    assert setup.packages(lacks) == (Package("p", "a is not installed"), Package("q", "a is not installed"))


def test_a_user_without_root_is_given_sudo(apt_log, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    program(apt_log.parent / "bin" / "sudo", '#!/bin/sh\nexec "$@"\n')
    update, install = setup.commands([Package("p", "why")])
    assert update[:2] == ["sudo", "env"]
    assert install[-1] == "p"


def test_without_root_and_sudo_it_says_what_to_ask_for(tmp_path, apt_log, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(apt_log.parent / "bin"))
    console = Console()
    prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert (
        "installing needs root and there is no sudo; ask for: apt-get install tinytool-package"
        in console.said
    )
    assert console.asked == []


def test_where_there_is_no_apt_the_packages_are_named(tmp_path, apt_log, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    console = Console()
    prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert (
        "no apt-get here; install with your system's own packages what answers to: tinytool-package"
        in console.said
    )


def test_a_server_that_does_not_build_shows_why(tmp_path, apt_log):
    console = Console()
    toml = '[build]\ncommand = [["sh", "-c", "echo the reason; exit 1"]]\n'
    (prepared,) = prepare(console, tiny_servers.described(tmp_path, toml=toml))
    assert "ended with code 1" in prepared.reason
    assert "  the reason" in console.lines
