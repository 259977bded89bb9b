"""A command without --from imports nothing of load hosts."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


@pytest.mark.parametrize("verb", ["load", "find", "diagnose", "versus"])
def test_a_command_without_it_imports_nothing_of_load_hosts(verb: str) -> None:
    asks = (
        f"import sys, crumple.commands.{verb}\nprint([each for each in sys.modules if '.load_host' in each])"
    )
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
