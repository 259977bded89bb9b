"""Runs the command line in this process, as a user would type it."""

import sys
from collections.abc import Callable

import pytest
from crumple import cli

Call = Callable[..., tuple[int, str, str]]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: str) -> Call:
    """A function that runs `crumple` with `first` and its arguments; returns (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["crumple", *first, *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call
