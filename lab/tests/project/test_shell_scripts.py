"""Completion as typed, in real shells; and pages of the manual, as man formats them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from crumple import cli
from crumple.shell import manual, scripts

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

CRUMPLE = Path(sys.executable).parent / "crumple"
LIMIT_S = 60.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which the shell's own files are empty, and `crumple` is this one."""
    if not CRUMPLE.is_file():
        pytest.skip(f"needs crumple beside {sys.executable}; run: make develop")
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "PATH": f"{CRUMPLE.parent}:{os.environ['PATH']}",
        "TERM": "dumb",
    }


def said(shell: str, script: str, environment: dict[str, str], folder: Path) -> str:
    """What a script prints in that shell; skips if it is not installed."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}; on Debian: apt-get install {shell}")
    file = folder / f"script.{shell}"
    file.write_text(script)
    plain = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [found, *plain, file], env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_bash(words: str, environment: dict[str, str], folder: Path) -> list[str]:
    """What bash would offer; `words`: separated as bash separates them, with the cursor at their end."""
    ask = f"""
        eval "$(crumple completion bash)"
        compopt() {{ :; }}  # there is no completion going on
        COMP_WORDS=({words})
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _crumple
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return said("bash", ask, environment, folder).split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("crumple loa", ["load"]),
        ("crumple load --ra", ["--rate", "--ramp"]),
        ("crumple run --scale = qu", ["quick"]),
        ("crumple studies --js", ["--json"]),
        ("crumple verify go-n", ["go-nethttp"]),
    ],
)
def test_bash_offers_words(
    words: str, offered: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    assert in_bash(words, environment, tmp_path) == offered


def test_bash_offers_files(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "body.txt").touch()
    assert in_bash("crumple load --body-file bo", environment, tmp_path) == ["body.txt"]


def test_a_tab_in_an_interactive_bash_completes_the_word(environment: dict[str, str], tmp_path: Path) -> None:
    """Readline itself asks: what was typed is completed in the line, and run."""
    if shutil.which("script") is None or shutil.which("bash") is None:
        pytest.skip("needs bash, and script of bsdutils")
    typed = 'eval "$(crumple completion bash)"\ncrumple completion zs\t | head -n 1\nexit\n'
    done = subprocess.run(
        ["script", "-qec", "bash --norc --noprofile -i", "/dev/null"],
        input=typed, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert "#compdef crumple" in done.stdout.splitlines(), done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("crumple loa", ["load"]),
        ("crumple load --ra", ["--ramp", "--rate"]),
        ("crumple run --scale=qu", ["--scale=quick"]),
        ("crumple verify go-n", ["go-nethttp"]),
    ],
)
def test_fish_offers_words(
    typed: str, offered: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    ask = f"crumple completion fish | source; complete -C {shlex.quote(typed)}"
    lines = said("fish", ask, environment, tmp_path).splitlines()
    assert sorted(line.partition("\t")[0] for line in lines) == offered


def test_zsh_takes_the_words_and_files(environment: dict[str, str], tmp_path: Path) -> None:
    """What the function hands to zsh's own; zsh itself asks only on a terminal."""
    ask = """
        compdef() { : }
        _describe() { print -l -- "${(@P)${@[-1]}}" }
        _files() { print files }
        eval "$(crumple completion zsh)"
        words=(crumple load --ra); CURRENT=3; _crumple
        words=(crumple load --body-file ''); CURRENT=4; _crumple
    """
    lines = said("zsh", ask, environment, tmp_path).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["--rate", "--ramp", "files"]


@pytest.mark.parametrize("shell", scripts.SHELLS)
def test_each_shell_can_read_its_script(shell: str, environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "completion"
    file.write_text(scripts.script(shell))
    assert said(shell, f"{shell} -n {shlex.quote(str(file))}", environment, tmp_path) == ""


def test_a_tab_imports_neither_typer_nor_pydantic(environment: dict[str, str]) -> None:
    asks = (
        "import sys, atexit\n"
        "sys.argv = ['crumple', '--complete', 'bash', 'verify', '']\n"
        "atexit.register(lambda: print(*sorted({'typer', 'pydantic', 'rich', 'click'} & {*sys.modules})))\n"
        "from crumple.start import main\nmain()"
    )
    subprocess.run([sys.executable, "-c", asks], env=environment, check=True, capture_output=True)
    again = subprocess.run(
        [sys.executable, "-c", asks], env=environment, check=True, capture_output=True, text=True
    )
    assert again.stdout.splitlines()[-1] == "" and "go-nethttp" in again.stdout


@pytest.mark.parametrize("name", ["crumple.1", "crumple-load.1", "crumple-diagnose.1"])
def test_a_page_of_the_manual_is_formatted_without_a_complaint(name: str, tmp_path: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("needs mandoc; on Debian: apt-get install mandoc")
    (tmp_path / name).write_text(manual.pages(cli.described())[name])
    linted = subprocess.run(
        ["mandoc", "-W", "warning", "-T", "lint", tmp_path / name], capture_output=True, text=True
    )
    # A page that is generated has no date of its own, and matters of style are for those who write by hand.
    complaints = [line for line in linted.stdout.splitlines() if "STYLE" not in line]
    assert [line for line in complaints if "missing date" not in line] == []
    shown = subprocess.run(
        ["mandoc", "-T", "utf8", tmp_path / name], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"^.?N.*A.*M.*E", shown, re.MULTILINE)


def test_a_page_names_every_flag_and_what_it_does() -> None:
    described = cli.described()
    pages = manual.pages(described)
    assert sorted(pages) == sorted(["crumple.1", *(f"crumple-{name}.1" for name in described["commands"])])
    for name, command in described["commands"].items():
        page = pages[f"crumple-{name}.1"].replace("\\-", "-")
        for option in command["options"]:
            assert all(f"\\fB{each}\\fR" in page for each in option["names"]), (name, option["names"])
