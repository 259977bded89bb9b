"""crumple import: writes a request file from requests that another program recorded or described."""

from pathlib import Path

from crumple.commands import output
from crumple.errors import UsageError
from crumple.importing import conversion, source
from crumple.importing.import_progress import ImportProgress
from crumple.load import output_files


def bring(
    file: Path, named: str | None, host: str | None, most: int | None, out: Path | None, as_json: bool
) -> int:
    """Write the request file, to stdout or to `out`, and say what was left out. Return exit code 0.

    Raises UsageError. Nothing is sent.
    """
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        raise UsageError(f"--out {out}: that is the file to import", "name another file")
    if out is not None:
        output_files.refuse_replacing("--out", out)
    with ImportProgress(source.bytes_of(file)) as seen:
        found = conversion.converted(file, named, host, conversion.MOST if most is None else most, seen.read)
    if as_json and out is not None and out.suffix != ".json":
        raise UsageError(f"--out {out}: a JSON file is asked for", "let its name end with .json")
    as_json = as_json or (out is not None and out.suffix == ".json")
    written = found.json() if as_json else found.toml(str(out or "FILE"))
    if out is not None:
        output.save(out, written)
    elif as_json:
        output.document(written)
    else:
        output.plain(written)
    for line in found.said:
        output.say(line)
    output.say(f"next: {found.command(str(out or 'FILE'))}")
    return 0
