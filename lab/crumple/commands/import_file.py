"""crumple import: writes a request file from requests that another program recorded or described."""

from pathlib import Path

from crumple.commands import output
from crumple.drawing import numerals
from crumple.errors import CrumpleError, UsageError
from crumple.importing import conversion, source
from crumple.importing.import_progress import ImportProgress
from crumple.load import flag_files


def bring(
    file: Path,
    named: str | None,
    host: str | None,
    most: int | None,
    out: Path | None,
    as_json: bool,
    strict: bool,
) -> int:
    """Say what was taken, made up and left out, and write the request file, to stdout or to `out`. Return 0.

    `strict`: nothing may be made up. Raises UsageError, and CrumpleError if it is. Nothing is sent.
    """
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        raise UsageError(f"--out {out}: that is the file to import", "name another file")
    if out is not None:
        flag_files.refuse_replacing("--out", out)
    with ImportProgress(source.bytes_of(file)) as seen:
        found = conversion.convert(file, named, host, conversion.MOST if most is None else most, seen.read)
    if as_json and out is not None and out.suffix != ".json":
        raise UsageError(f"--out {out}: a JSON file is asked for", "let its name end with .json")
    as_json = as_json or (out is not None and out.suffix == ".json")
    for line in found.summary():
        output.say(line)
    if strict and found.made_up:
        made = numerals.count(found.made_up, "request")
        raise CrumpleError(
            f"{made} would hold what is made up; nothing is written",
            "give the document examples for that, or leave out --strict",
        )
    written = found.json() if as_json else found.toml(str(out or "FILE"))
    if out is not None:
        output.save(out, written)
    elif as_json:
        output.document(written)
    else:
        output.plain(written)
    output.say(f"next: {found.command(str(out or 'FILE'))}")
    return 0
