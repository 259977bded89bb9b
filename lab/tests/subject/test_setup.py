"""Setup with a stand-in for apt-get: what it shows, asks, installs and skips."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import tiny_servers
from crumple import project
from crumple.errors import CrumpleError, DatabaseMissing, Interrupted
from crumple.interrupt import interruptible
from crumple.machine import engine_build
from crumple.subject import database_process, installing, workload
from crumple.subject.build import Lack
from crumple.subject.installing import POLICY_TEXT, Package

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

NEEDS = """
[requires.{tool}]
command = ["{tool}", "--version"]
version = '(\\d+)'
apt = ["{tool}-package"]
"""

# Installs a tool by writing it into the PATH, if the policy file exists; has no package called gone-package.
APT_GET = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in *install*) test -x "{policy}" || exit 1;; esac
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
    """Stores what was said and asked; answers `answer` to each question."""

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
    """The log of the stand-in's calls; it is first in the PATH, and the test runs as root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "apt.log"
    log.touch()
    program(folder / "apt-get", APT_GET.format(log=log, bin=folder, policy=tmp_path / "policy-rc.d"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(installing, "POLICY", tmp_path / "policy-rc.d")
    return log


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def prepare(console: Console, *descriptions, yes: bool = False):
    return installing.prepare(descriptions, {}, yes=yes, say=console.lines.append, ask=console.ask)


def test_missing_packages_are_shown_confirmed_installed_and_servers_built(tmp_path, apt_log):
    console = Console()
    tiny = tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool"))
    (prepared,) = prepare(console, tiny)
    assert prepared.ready
    assert prepared.versions["tinytool"] == "3"
    assert "needs tinytool-package: tinytool is not installed" in console.said
    options = "--no-remove --no-install-recommends -o DPkg::Lock::Timeout=600"
    assert f"apt-get -q -y install {options} tinytool-package" in console.said
    assert console.asked == ["Install these?"]
    assert console.lines[-2].startswith("tiny: ready, built in")
    assert console.lines[-1].startswith("1 of 1 servers ready, ")
    assert apt_log.read_text().count("\n") == 2
    # It waits for another apt-get, instead of failing where one is at work.
    assert options in apt_log.read_text()


def test_a_tool_that_was_missing_before_is_found_after_the_installation(tmp_path, apt_log):
    # The shell is the same executable before and after; only what it finds changes.
    toml = NEEDS.format(tool="tinytool").replace(
        '["tinytool", "--version"]', '["sh", "-c", "tinytool --version 2>/dev/null"]'
    )
    (prepared,) = prepare(Console(), tiny_servers.described(tmp_path, toml=toml))
    assert (prepared.reason, prepared.versions.get("tinytool")) == (None, "3")


def test_a_second_setup_asks_installs_and_builds_nothing(tmp_path, apt_log):
    tiny = tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool"))
    prepare(Console(), tiny)
    before = apt_log.read_text()
    console = Console()
    (prepared,) = prepare(console, tiny)
    assert (prepared.ready, prepared.build_s) == (True, 0.0)
    assert (console.lines[:-1], console.asked, apt_log.read_text()) == (["tiny: ready"], [], before)


def test_after_no_nothing_is_installed(tmp_path, apt_log):
    console = Console(answer=False)
    (prepared,) = prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert prepared.reason == "tinytool is not installed"
    assert apt_log.read_text() == ""
    assert "tiny: skipped, tinytool is not installed; run: crumple setup tiny" in console.lines


def test_with_yes_no_question_is_asked(tmp_path, apt_log):
    console = Console(answer=False)
    (prepared,) = prepare(
        console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")), yes=True
    )
    assert prepared.ready
    assert console.asked == []


def test_an_unavailable_package_does_not_stop_the_others(tmp_path, apt_log):
    console = Console()
    good = tiny_servers.described(tmp_path, "good", toml=NEEDS.format(tool="tinytool"))
    bad = tiny_servers.described(tmp_path, "bad", toml=NEEDS.format(tool="gone"))
    by_name = {prepared.name: prepared for prepared in prepare(console, bad, good)}
    assert by_name["good"].ready
    assert by_name["bad"].reason == "gone is not installed"
    assert "Unable to locate package gone-package" in console.said


def test_two_servers_share_one_package():
    lacks = [Lack("a", "a is not installed", ("p", "q")), Lack("b", "b is too old", ("q",))]
    assert installing.packages(lacks) == (
        Package("p", "a is not installed"),
        Package("q", "a is not installed"),
    )


def test_a_user_who_is_not_root_installs_with_sudo(apt_log, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    program(apt_log.parent / "bin" / "sudo", '#!/bin/sh\nexec "$@"\n')
    update, install = installing.commands(["p"])
    assert update[:2] == ["sudo", "env"]
    assert install[-1] == "p"


def test_without_root_and_sudo_the_command_to_ask_for_is_named(tmp_path, apt_log, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(apt_log.parent / "bin"))
    console = Console()
    prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert (
        "installing needs root and there is no sudo; ask for: apt-get install tinytool-package"
        in console.said
    )
    assert console.asked == []


def test_without_apt_the_packages_are_named(tmp_path, apt_log, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    console = Console()
    prepare(console, tiny_servers.described(tmp_path, toml=NEEDS.format(tool="tinytool")))
    assert (
        "no apt-get here; install with your system's own packages what answers to: tinytool-package"
        in console.said
    )


def test_a_failed_build_shows_its_output(tmp_path, apt_log):
    console = Console()
    toml = '[build]\ncommand = [["sh", "-c", "echo the reason; exit 1"]]\n'
    (prepared,) = prepare(console, tiny_servers.described(tmp_path, toml=toml))
    assert "ended with code 1" in prepared.reason
    assert "  the reason" in console.lines


# Side by side

# Waits up to 20 seconds for a file.
AWAITS = "for _ in $(seq 400); do [ -e '{0}' ] && break; sleep 0.05; done; [ -e '{0}' ]"


def launcher(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let the launcher, a stand-in with that text, have left the engine to be built."""
    program(folder / "crumple", f"#!/bin/sh\n{text}\n")
    monkeypatch.setenv(engine_build.LAUNCHER, str(folder / "crumple"))


def test_the_engine_is_built_beside_the_installation_and_awaited(tmp_path, apt_log, monkeypatch):
    tool, built = tmp_path / "bin" / "tinytool", tmp_path / "built"
    awaits = AWAITS.format(tool)
    launcher(tmp_path, monkeypatch, f'{awaits} && [ "$CRUMPLE_SET_UP" = engine ] && touch "{built}"')
    toml = NEEDS.format(tool="tinytool") + f'[build]\ncommand = [["test", "-e", "{built}"]]\n'
    (prepared,) = prepare(Console(), tiny_servers.described(tmp_path, toml=toml), yes=True)
    assert prepared.reason is None
    # Nothing is left to be built for a command that follows.
    assert engine_build.LAUNCHER not in os.environ


def test_an_engine_that_cannot_be_built_is_one_line(tmp_path, apt_log, monkeypatch):
    launcher(tmp_path, monkeypatch, "echo first >&2; echo the reason >&2; exit 1")
    with pytest.raises(CrumpleError) as caught:
        prepare(Console(), tiny_servers.described(tmp_path))
    assert caught.value.message == "the engine could not be built: the reason"
    assert caught.value.remedy == f"see why: {tmp_path / 'crumple'} --version"


def test_servers_are_built_side_by_side(tmp_path, apt_log, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    both = {name: tmp_path / f"{name}-begun" for name in ("one", "two")}
    every = []
    for name, other in (("one", "two"), ("two", "one")):
        script = f"touch '{both[name]}'; {AWAITS.format(both[other])}"
        toml = f'[build]\ncommand = [["sh", "-c", """{script}"""]]\n'
        every.append(tiny_servers.described(tmp_path, name, toml=toml))
    console = Console()
    assert [(each.name, each.reason) for each in prepare(console, *every)] == [("one", None), ("two", None)]
    assert console.lines[-1].startswith("2 of 2 servers ready, ")


@pytest.mark.parametrize("what", ["engine", "server"])
def test_an_interruption_ends_what_is_being_built(tmp_path, apt_log, monkeypatch, what):
    pid, script = tmp_path / "pid", "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 600"
    script = script.format(pid)
    toml = ""
    if what == "engine":
        launcher(tmp_path, monkeypatch, script)
    else:
        toml = f'[build]\ncommand = [["sh", "-c", """{script}"""]]\n'
    tiny = tiny_servers.described(tmp_path, toml=toml)

    def interrupt_it() -> None:
        while not pid.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt_it, daemon=True).start()
    with pytest.raises(Interrupted), interruptible():
        prepare(Console(), tiny)
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


# Services


def test_the_policy_against_services_is_removed_afterwards(tmp_path, apt_log):
    console = Console()
    bad = tiny_servers.described(tmp_path, "bad", toml=NEEDS.format(tool="gone"))
    prepare(console, bad, yes=True)
    assert f"{installing.POLICY} keeps packages from starting services" in console.said
    assert "failed with code 100" in console.said
    assert not installing.POLICY.exists()


@pytest.mark.parametrize(
    ("text", "left"), [("#!/bin/sh\nexit 104\n", "#!/bin/sh\nexit 104\n"), (POLICY_TEXT, None)]
)
def test_a_foreign_policy_stays_and_a_leftover_of_ours_is_removed(apt_log, text, left):
    program(installing.POLICY, text)
    with installing.no_services(lambda _: None):
        assert installing.POLICY.read_text() == text
    assert (installing.POLICY.read_text() if left else installing.POLICY.exists()) == (left or False)


def test_the_policy_is_removed_after_an_interruption(apt_log):
    with pytest.raises(KeyboardInterrupt), installing.no_services(lambda _: None):
        assert os.access(installing.POLICY, os.X_OK)
        raise KeyboardInterrupt
    assert not installing.POLICY.exists()


APT_GET_INTERRUPTED = """#!/bin/sh
case "$*" in *install*) kill -TERM $PPID; sleep 0.3; test -x "{policy}" && touch "{unpacked}";; esac
"""


def test_an_interruption_waits_for_the_current_package(tmp_path, apt_log):
    unpacked, console = tmp_path / "unpacked", Console()
    program(
        apt_log.parent / "bin" / "apt-get",
        APT_GET_INTERRUPTED.format(policy=installing.POLICY, unpacked=unpacked),
    )
    with pytest.raises(Interrupted), interruptible():
        installing.install([Package("p", "q")], yes=True, say=console.lines.append, ask=console.ask)
    assert unpacked.exists() and not installing.POLICY.exists()
    assert console.lines[-1] == "finishing what is at hand …"


def test_an_interruption_while_a_command_starts_waits_for_its_end(tmp_path, monkeypatch):
    finished = tmp_path / "finished"

    class Interrupting(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(installing.subprocess, "Popen", Interrupting)
    command = [sys.executable, "-c", f"import time; time.sleep(0.3); open({str(finished)!r}, 'w')"]
    with pytest.raises(Interrupted), interruptible():
        installing._run(command, lambda _: None)
    assert finished.exists()


# Alternatives

APT_CACHE = """#!/bin/sh
if [ "$2" = "{offered}" ]; then echo "  Candidate: 10.6.2-1"; else echo "  Candidate: (none)"; fi
"""


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [("old-package", "old-package"), ("new-package", "new-package"), ("-", "new-package")],
)
def test_the_first_available_alternative_is_installed(tmp_path, apt_log, offered, chosen):
    program(tmp_path / "bin" / "apt-cache", APT_CACHE.format(offered=offered))
    tiny = tiny_servers.described(
        tmp_path, toml=NEEDS.format(tool="tool").replace('"tool-package"', '"new-package | old-package"')
    )
    prepare(Console(), tiny, yes=True)
    assert apt_log.read_text().splitlines()[-1].endswith(f" {chosen}")


# Database


def queried() -> dict[str, workload.Workload]:
    file = project.root() / "contract" / "workloads" / "rows.toml"
    return {"hello": workload.load(file)}


def test_a_database_is_installed_for_servers_whose_workloads_need_it(tmp_path, apt_log, monkeypatch):
    def missing() -> None:
        raise DatabaseMissing("mariadbd is not installed", "install it")

    monkeypatch.setattr(database_process, "programs", missing)
    tiny = tiny_servers.described(tmp_path)
    console = Console()
    say = console.lines.append
    (prepared,) = installing.prepare([tiny], queried(), yes=True, say=say, ask=console.ask)
    assert "needs mariadb-server-core | mariadb-server-core-10.6: mariadbd is not installed" in console.said
    # Without the database only the workloads that query it cannot run.
    assert "database: not ready, mariadbd is not installed" in console.said
    assert prepared.ready


def test_no_database_is_looked_for_if_no_workload_needs_it(tmp_path, apt_log, monkeypatch):
    monkeypatch.setattr(installing, "lacks", lambda: pytest.fail("looked for it"))
    prepare(Console(), tiny_servers.described(tmp_path))


def test_a_long_command_prints_that_it_continues(monkeypatch):
    monkeypatch.setattr(installing, "SAY_EVERY_S", 0.01)
    said = threading.Event()
    with installing.still_at_it("building it", lambda line: said.set() if "building it" in line else None):
        assert said.wait(10)
