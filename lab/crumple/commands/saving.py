"""What repeats a command: a shell command, or a file (--save), written before it measures."""

import shlex
import sys
from collections.abc import Sequence

from crumple.commands import output
from crumple.commands.left_out import SAVED
from crumple.errors import UsageError
from crumple.load import flag_files
from crumple.load.load_flags import PageFlags, SaveFlags
from crumple.typed import masked_command, typed_command

# The flags that say where a result or the command goes: a name or a file that is there already is refused,
# or replaced.
RESULT_ONLY = ("name", "save", "html", "open_", "json", "csv", "hdr", "junit")


def save(
    verb: str, flags: SaveFlags, arguments: Sequence[str] | None = None, *, of_curl: Sequence[str] = ()
) -> None:
    """Write the file that the flags name, if they do. Raises UsageError, CrumpleError.

    `arguments`: what the command is about; None: as typed, behind `of_curl`, the URL of the
    command of curl.
    """
    if flags.save is None:
        return
    if flags.save.suffix != SAVED:
        remedy = f"name it {flags.save.with_suffix(SAVED)}, or keep the result with --json or --name"
        raise UsageError(f"--save {flags.save}: it keeps the command, as TOML", remedy)
    flag_files.refuse_replacing("--save", flags.save)
    # Imported here because few commands are saved.
    from crumple.typed.saved_file import SavedFile

    if arguments is None:
        arguments = [*of_curl, *typed_command.read(sys.argv[2:], type(flags)).arguments]
    found = SavedFile(verb, arguments, flags)
    output.save(flags.save, found.text(flags.save))
    output.say(f"repeat this with: crumple {verb} {flags.save}")
    for name, what in found.variables.items():
        output.say(f"{flags.save} holds no secrets; before it is repeated, export {name}=… ({what})")


def command_to_repeat(words: Sequence[str], flags: PageFlags, seed: int) -> str:
    """Return a shell command that repeats what was measured, with its secrets masked.

    `words`: those typed, of which it has all but what says where the result goes.
    """
    verb, *rest = words
    typed = typed_command.read(rest, type(flags))
    for name in RESULT_ONLY:
        typed.drop(name)
    if not typed.has("seed"):
        typed.put("seed", str(seed))
    return shlex.join(["crumple", verb, *masked_command.arguments(typed.words())])
