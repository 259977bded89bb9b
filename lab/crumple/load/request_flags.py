"""The flags of a request (-m, -H, -d, -F, -a, --request-file, …) → each request as typed.

`request` checks them and makes what the engine sends.
"""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crumple.errors import Mistakes, UsageError
from crumple.load import flag_files, header_lines, request_file
from crumple.load.load_flags import RequestFlags
from crumple.load.typed_request import TypedRequest

if TYPE_CHECKING:
    from crumple.load.form import Form

_DURATION = re.compile(r"\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns)?")


def read(flags: RequestFlags, path: str, mistakes: Mistakes) -> tuple[TypedRequest, ...]:
    """Return the requests that the flags give, and record every mistake. `path`: that of the URL."""
    typed, file = _typed(flags, path, mistakes), flags.request_file
    if file is None:
        return (typed,)
    _check_file_alone(flags, path, mistakes)
    return mistakes.of(lambda: request_file.read(file, typed)) or ()


def _typed(flags: RequestFlags, path: str, mistakes: Mistakes) -> TypedRequest:
    mistakes.of(lambda: _check_no_duration(flags))
    mistakes.of(lambda: _check_one_body(flags))
    if ":" in (flags.accept or "") and "/" not in (flags.accept or ""):
        mistakes.add(
            "-A is the Accept header, and this is no media type", "a user and password are -a, as in hey"
        )
    body, body_file = mistakes.of(lambda: _body(flags)) or (None, None)
    form = mistakes.of(lambda: _form(flags)) if flags.form else None
    headers = mistakes.of(lambda: headers_of(flags)) or []
    if flags.form:
        headers = [each for each in headers if each[0].lower() != "content-type"]
    lines_file = mistakes.of(lambda: _lines_file(flags))
    return TypedRequest(
        path=path,
        method=flags.method,
        headers=headers,
        body=body,
        body_file=body_file,
        body_parts=form.parts if form else None,
        lines_file=lines_file,
        content_type=form.content_type if form else flags.content_type,
        accept=flags.accept,
        names_itself=flags.user_agent != "",
        expect_status=flags.expect_status,
        expect_body=flags.expect_body,
    )


def headers_of(flags: RequestFlags) -> list[tuple[str, str]]:
    """Return the headers that the flags give, but Content-Type and Accept. Raises UsageError."""
    mistakes = Mistakes()
    typed = [mistakes.of(partial(header_lines.parse, text)) for text in flags.header or ()]
    named = _named(flags, mistakes)
    mistakes.none()
    return [*(each for each in typed if each), *named]


def _named(flags: RequestFlags, mistakes: Mistakes) -> list[tuple[str, str]]:
    """Return the headers that have a flag of their own; -H may not give them as well."""
    given = {text.partition(":")[0].strip().lower() for text in flags.header or ()}
    found = []
    for flag, name, value in (
        ("-a", "Authorization", flags.basic_auth),
        ("-U", "User-Agent", flags.user_agent or None),
        ("--host", "Host", flags.host),
    ):
        if value is None:
            continue
        if name.lower() in given:
            mistakes.add(f"{name} is given twice, by {flag} and as a header", "leave one of them out")
        said = mistakes.of(partial(header_lines.basic, flag, value)) if flag == "-a" else value
        if said is not None:
            found.append((name, said))
    return found


def _body(flags: RequestFlags) -> tuple[str | None, str | None]:
    """Return the body as typed, or the file that holds it: -D FILE, or -d @FILE as in curl.

    A second @ is the beginning of a body.
    """
    typed = flags.body
    if typed is not None and typed.startswith("@@"):
        return typed[1:], flags.body_file
    if typed is None or not typed.startswith("@"):
        return typed, flags.body_file
    remedy = "write -d @FILE; a body that begins with @ is written with two of them"
    if flags.body_file is not None:
        raise UsageError("-d and -D both name a file for the body", "leave one of them out")
    if typed == "@-":
        raise UsageError("-d @-: stdin is not read for a body", "write it to a file, and -d @FILE")
    if typed == "@":
        raise UsageError(f"-d {typed}: that names no file", remedy)
    if not Path(typed[1:]).exists():
        raise UsageError(f"-d {typed}: there is no file {typed[1:]}", f"check the path; {remedy}")
    return None, typed[1:]


def _form(flags: RequestFlags) -> "Form":
    # Imported here because few loads send a form.
    from crumple.load import form

    typed = [
        value for name, value in map(header_lines.parse, flags.header or ()) if name.lower() == "content-type"
    ]
    kinds = [*typed, *([] if flags.content_type is None else [flags.content_type])]
    if len(kinds) > 1:
        raise UsageError("Content-Type is given twice", "leave one of them out")
    return form.form(flags.form or (), *kinds)


def _lines_file(flags: RequestFlags) -> str | None:
    """Return the file whose lines are bodies, after a look at it."""
    file = flags.body_lines
    if file is None:
        return None
    has_lines = any(flag_files.read(f"-Z {file}: cannot read it", file).splitlines())
    if not has_lines:
        raise UsageError(f"-Z {file}: it has no lines", "put a body into each line")
    whole = str(Path(file).absolute())
    if "{" in whole or "}" in whole:
        raise UsageError(f"-Z {file}: a path with braces cannot be read", "rename the file or its folder")
    return whole


def _check_one_body(flags: RequestFlags) -> None:
    bodies = {"-d": flags.body, "-D": flags.body_file, "-Z": flags.body_lines, "-F": flags.form}
    given = [flag for flag, value in bodies.items() if value]
    if len(given) > 1 and given != ["-d", "-D"]:
        raise UsageError(f"{' and '.join(given)} each give a body", "keep one of them")


def _check_no_duration(flags: RequestFlags) -> None:
    """Refuse a body that reads as a duration, as in wrk's -d, unless another flag shows that it is a body."""
    body = flags.body or ""
    typed = any(name.lower().startswith("content-type:") for name in flags.header or ())
    is_body = typed or flags.content_type is not None or (flags.method or "GET").upper() != "GET"
    # A command of curl says so.
    is_body = is_body or flags.no_vary
    if not is_body and _DURATION.fullmatch(body.strip()):
        raise UsageError(
            f"-d {body}: that is the body to send, and it reads as a duration",
            f"a duration is -z {body.strip()} (and wrk's -t is --threads); for such a body say -m POST",
        )


def _check_file_alone(flags: RequestFlags, path: str, mistakes: Mistakes) -> None:
    """Refuse flags that set for all requests what the request file sets for each."""
    given = {
        "-m": flags.method,
        "-d": flags.body,
        "-D": flags.body_file,
        "-Z": flags.body_lines,
        "-F": flags.form,
        "-T": flags.content_type,
        "--expect-body": flags.expect_body,
    }
    for flag, value in given.items():
        if value is not None:
            mistakes.add(
                f"{flag} and --request-file both say what to ask", f"say it in the file, without {flag}"
            )
    if path != "/":
        mistakes.add(
            f"the --request-file says the paths, and so does the URL: {path}",
            "end the URL with its port",
        )
