"""docs/reference/command-line.md has the help of every command, and is up to date."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from crumple import cli

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
TOP = cli.group()


def test_the_page_is_up_to_date() -> None:
    script = importlib.util.spec_from_file_location("command_line_page", DOCS / "command_line_page.py")
    assert script is not None and script.loader is not None
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    assert module.text() == PAGE, "write it again: .venv/bin/python docs/command_line_page.py"


@pytest.mark.parametrize("name", TOP.list_commands(TOP.context_class(TOP)))
def test_every_command_and_flag_is_on_the_page(name: str) -> None:
    command: Any = TOP.get_command(TOP.context_class(TOP), name)
    section = PAGE.split(f"\n## crumple {name}\n")[1].split("\n## ")[0]
    flags = {flag for parameter in command.params if not parameter.hidden for flag in parameter.opts}
    # "-host", as hey writes it, is not shown beside "--host".
    shown = {flag for flag in flags if flag.startswith("--") or re.fullmatch("-.", flag)}
    assert shown <= set(re.findall(r"--?[\w-]+", section))
