"""Handling of signals: when they take effect, and what a process started meanwhile inherits."""

import importlib.util
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from crumple.errors import Interrupted
from crumple.interrupt import SIGNALS, ending_early, held_back, interruptible

COMMANDS = {
    "try": "run", "setup": "setup", "costs": "lists", "servers": "lists", "workloads": "lists",
    "studies": "lists", "verify": "verify", "new-server a": "setup", "run": "run", "report": "report",
    "join a": "join", "compare a b": "compare", "load http://127.0.0.1:1": "load",
    "find http://127.0.0.1:1": "find", "fleet check": "fleet", "cluster down": "cluster",
}  # fmt: skip
# Sends SIGINT just before a module is imported.
HITS = """
import os, signal, sys
class Hits:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Hits())
sys.argv[1:] = {arguments!r}
from crumple.start import main
main()
"""
IGNORED = "import signal; print([signal.getsignal(each) is signal.SIG_IGN for each in (1, 2, 15)])"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_held_back_takes_effect_when_it_is_let_through(number):
    reached = []
    with pytest.raises(Interrupted, match=number.name), interruptible(), held_back() as let_through:
        signal.raise_signal(number)
        reached.append("held")
        let_through()
        reached.append("too far")
    assert reached == ["held"]


def test_a_signal_held_back_takes_effect_at_the_end_at_the_latest():
    reached = []
    with pytest.raises(Interrupted), interruptible():
        with held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("held")
        reached.append("too far")
    assert reached == ["held"]


def test_of_several_signals_held_back_one_interrupts_and_the_rest_are_ignored():
    with interruptible():
        with pytest.raises(Interrupted), held_back():
            for number in SIGNALS:
                signal.raise_signal(number)
        assert {signal.getsignal(each) for each in SIGNALS} == {signal.SIG_IGN}


def test_signals_let_through_are_handled_as_before():
    with interruptible():
        before = [signal.getsignal(each) for each in SIGNALS]
        with held_back() as let_through:
            let_through()
            assert [signal.getsignal(each) for each in SIGNALS] == before
        assert [signal.getsignal(each) for each in SIGNALS] == before


@pytest.mark.starts
@pytest.mark.parallel
def test_a_process_started_during_cleanup_ignores_a_second_signal():
    with interruptible():
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGTERM)
        with held_back():
            said = subprocess.run([sys.executable, "-c", IGNORED], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[True, True, True]"


def test_after_the_first_signal_others_are_ignored_until_the_command_ends():
    with interruptible():
        with pytest.raises(Interrupted), interruptible():
            signal.raise_signal(signal.SIGINT)
        # For instance while the command prints that it was interrupted.
        for number in SIGNALS:
            signal.raise_signal(number)
        with interruptible():
            signal.raise_signal(signal.SIGINT)
    assert {signal.getsignal(each) for each in SIGNALS} == {signal.SIG_IGN}


def test_a_signal_ignored_from_the_start_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGHUP)
    with ending_early(lambda: pytest.fail("nohup is there for that")):
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_the_main_thread_no_signal_is_held_back():
    ended = []

    def start() -> None:
        with held_back() as let_through:
            let_through()
        ended.append(True)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert ended


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        ("--help", "crumple.cli"),
        ("load http://127.0.0.1:1", "typer"),
        # While the arguments are parsed.
        ("--help", "crumple.commands.help_text"),
        *((arguments, f"crumple.commands.{module}") for arguments, module in COMMANDS.items()),
    ],
)
def test_ctrl_c_during_imports_prints_one_line(arguments, module, tmp_path):
    # If the module did not exist, no SIGINT would be sent, and the command would run normally.
    assert importlib.util.find_spec(module) is not None
    code = HITS.format(module=module, arguments=arguments.split())
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_the_entry_point_handles_ctrl_c_before_imports():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"crumple": "crumple.start:main"}
