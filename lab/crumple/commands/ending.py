"""How a command ends: what it returns or raises → its exit code, and one line on stderr for an error."""

import os
import sys
from collections.abc import Callable

import typer

from crumple.errors import EXIT_NO, EXIT_USAGE, CrumpleError
from crumple.load import habits
from crumple.start import INTERRUPTED


def exit_code(command: Callable[[], int | None]) -> int:
    """Call `command` and return its exit code. An expected error becomes one line and the code it has."""
    try:
        return command() or 0
    except CrumpleError as error:
        _complain(str(error))
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has closed the pipe.
        sys.stderr.close()
        _leave_unsaid()
        return 0
    except OSError as error:
        # An error that no other code handles: a full disk behind stdout, for instance.
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"cannot continue: {where}{error.strerror or error}; fix that, then try again")
        _leave_unsaid()
        return EXIT_NO
    except Exception as error:
        # Typer's usage errors have no common type that is public in all its versions.
        if not hasattr(error, "format_message"):
            raise
        command_path = getattr(getattr(error, "ctx", None), "command_path", "crumple")
        remedy = habits.instead(command_path, getattr(error, "option_name", ""))
        said = getattr(error, "message", "") if remedy else error.format_message().rstrip(".")
        _complain(f"{said}; {remedy or f'see: {command_path} --help'}")
        return EXIT_USAGE


def _complain(line: str) -> None:
    # Imported here because help needs no rich, and it takes as long to import as all else.
    from crumple.drawing.terminal import shown_text

    print(shown_text(line), file=sys.stderr)


def _leave_unsaid() -> None:
    """Discard what stdout could not take: otherwise Python writes it again at exit, and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
