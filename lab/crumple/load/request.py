"""What a load asks and the answer it expects: as typed, or from a file of several requests → `Request`s.

Values may vary from request to request: {seq}, {random:1-1000}, {line:FILE}. They are found and checked here,
and the engine fills them in. All other braces are sent as they are. Files are read, nothing is sent.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import Field

from crumple import contract, parsing, release
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, Mistakes, Problem, UsageError
from crumple.load import header_lines, typed_url

RANDOM_MAX = 2**64 - 1
# A value that varies from request to request.
PLACE = re.compile(r"\{(seq|random|line)(?::([^{}]*))?\}")
_GRAPHIC = re.compile(rb"[!-~]+")
_RANDOM = re.compile(r"(\d{1,20})-(\d{1,20})")
_AS_IT_IS = "or add --no-vary to send it as it is"


def is_varying(text: str, *, in_path: bool = False) -> bool:
    """Whether the text holds a value that varies. Raises UsageError for an invalid one.

    `in_path`: lines of files must not contain spaces and control characters.
    """
    places = list(PLACE.finditer(text))
    for place in places:
        _check(place, in_path)
    return bool(places)


def template(text: str) -> str:
    """Return the text as a template for the engine, in which a literal opening brace is doubled."""
    parts = []
    end = 0
    for place in PLACE.finditer(text):
        parts += [text[end : place.start()].replace("{", "{{"), place[0]]
        end = place.end()
    return "".join([*parts, text[end:].replace("{", "{{")])


def _escaped(text: str) -> str:
    """Return the text as a template for the engine that stands for itself."""
    return text.replace("{", "{{")


def rooted(text: str, folder: Path) -> str:
    """Return the text with the files of its {line:FILE} taken from `folder`, if they are relative."""

    def replaced(found: re.Match[str]) -> str:
        return f"{{line:{folder / found[2]}}}" if found[1] == "line" and found[2] else found[0]

    return PLACE.sub(replaced, text)


def _check(found: re.Match[str], in_path: bool) -> None:
    place, kind, argument = found[0], found[1], found[2]
    if kind == "seq" and argument is not None:
        raise UsageError(f"{place}: the sequence takes no argument", f"write {{seq}}, {_AS_IT_IS}")
    if kind == "random":
        ends = _RANDOM.fullmatch(argument or "")
        if ends is None or not int(ends[1]) <= int(ends[2]) <= RANDOM_MAX:
            raise UsageError(
                f"{place}: a random number needs its ends", f"write {{random:1-1000}}, {_AS_IT_IS}"
            )
    if kind == "line":
        _check_lines(place, argument, in_path)


def _check_lines(place: str, file: str | None, in_path: bool) -> None:
    if not file:
        raise UsageError(f"{place}: lines are taken from a file", f"write {{line:FILE}}, {_AS_IT_IS}")
    try:
        lines = [line for line in Path(file).read_bytes().splitlines() if line]
    except OSError as error:
        raise UsageError(f"{place}: cannot read {file}: {error.strerror}", f"check it, {_AS_IT_IS}") from None
    if not lines:
        raise UsageError(f"{place}: {file} has no lines", f"put some into it, {_AS_IT_IS}")
    odd = next((line for line in lines if in_path and not _GRAPHIC.fullmatch(line)), None)
    if odd is not None:
        shown = odd.decode(errors="backslashreplace")
        raise UsageError(f'{place}: "{shown}" cannot stand in a path', f"percent-encode it: {quote(odd)}")


# The engine hashes the first body of each connection and then one in this many; it checks every length.
HASH_ONE_IN = 64
STATUS_MIN, STATUS_MAX = 200, 599
_WRITTEN_BY_ENGINE = {
    "content-length": "the engine writes it from the body; leave it out",
    "transfer-encoding": "the engine sends bodies whole; leave it out",
}


@dataclass(frozen=True)
class Written:
    """One request as typed. `expect_body`: the text itself, or @ and a file. None: not given.

    `body_parts`: a body in parts. `lines_file`: each line of it is a body. `names_itself`: whether a
    User-Agent is sent where no header gives one. `name`: its name in reports; empty: its method and path.
    """

    path: str
    method: str | None = None
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = field(default_factory=tuple)
    body: str | None = None
    body_file: str | None = None
    body_parts: Sequence[contract.BodyPart] | None = None
    lines_file: str | None = None
    content_type: str | None = None
    accept: str | None = None
    names_itself: bool = True
    expect_status: int | str | None = None
    expect_body: str | None = None
    weight: int = 1
    name: str = ""


class InFile(Frozen):
    """One entry of a request file; what it leaves out is taken from what was typed for all requests."""

    name: str = ""
    path: str = Field(min_length=1, pattern="^/")
    method: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    body_file: str | None = None
    weight: int = Field(default=1, ge=1, le=1_000_000)
    expect_status: int | str | None = None
    expect_body: str | None = None


class RequestFile(Frozen):
    """A file of several requests."""

    requests: tuple[InFile, ...] = Field(min_length=1)


def meant(written: Written, *, per_request: bool = False, literal: bool = False) -> contract.Request:
    """Return the request for the engine's spec. Raises UsageError with every mistake in it.

    A body without a method is sent with POST. `literal`: braces, and the letters of the method, are sent as
    they are. `per_request`: each request has a connection of its own.
    """
    mistakes = Mistakes()
    bodies = (written.body, written.body_file, written.body_parts, written.lines_file)
    bodiless = all(each is None for each in bodies)
    method = written.method or ("GET" if bodiless else "POST")
    method = method if literal else method.upper()
    if not header_lines.TOKEN.fullmatch(method):
        mistakes.add(f"{written.method} is no HTTP method", "write GET or POST, for instance")
    headers = _headers(written, per_request, mistakes)
    if written.body is not None and written.body_file is not None:
        mistakes.add("a body and a body file are both given", "leave one of them out")
    if written.body_file is not None:
        mistakes.of(lambda: _read("the body file", str(written.body_file)))
    parts = written.body_parts or ()
    texts = [*(value for _, value in headers), written.body or "", *(each.text or "" for each in parts)]
    mistakes.of(lambda: _check_utf8([written.path, *texts]))
    varies = not literal and _varies(written.path, texts, mistakes)
    expected = mistakes.of(lambda: expect(written.expect_status, written.expect_body, method))
    mistakes.none()
    assert expected
    # The lines of a file vary even where braces are braces.
    read = _escaped if literal and written.lines_file else template if varies or written.lines_file else str
    body = None if written.body is None else read(written.body)
    body_file = None if written.body_file is None else str(Path(written.body_file).absolute())
    return contract.Request(
        name=written.name,
        method=method,
        path=read(written.path),
        headers=tuple((name, read(value)) for name, value in headers),
        body=f"{{line:{written.lines_file}}}" if written.lines_file else body,
        body_file=body_file,
        body_parts=None if written.body_parts is None else tuple(_part(each, read) for each in parts),
        varies=varies or written.lines_file is not None,
        weight=written.weight,
        expect=expected,
    )


def _part(part: contract.BodyPart, read: Callable[[str], str]) -> contract.BodyPart:
    return part if part.text is None else contract.BodyPart(text=read(part.text))


def several(
    file: Path, shared: Written, *, per_request: bool = False, literal: bool = False
) -> tuple[contract.Request, ...]:
    """Return the requests of a TOML or JSON file, with the headers and the expected status of `shared`.

    Paths in the file are relative to it. Raises FileInvalid with every mistake.
    """
    tables = _tables(file)
    found, problems = parsing.meant(RequestFile, tables, file)
    requests = []
    for index, entry in enumerate(found.requests if found else ()):
        try:
            requests.append(
                meant(_beside(entry, shared, file.parent), per_request=per_request, literal=literal)
            )
        except UsageError as error:
            key = parsing.key_of(("requests", index), tables)
            problems += [Problem(file, key, line) for line in str(error).splitlines()]
    problems += _same_names(file, found.requests if found else ())
    if problems:
        raise FileInvalid(problems)
    return tuple(requests)


def _same_names(file: Path, entries: Sequence[InFile]) -> list[Problem]:
    names = [entry.name for entry in entries if entry.name]
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    return [
        Problem(file, "requests", f'two requests have the name "{name}"', "give each its own")
        for name in twice
    ]


def expect(written: int | str | None, body: str | None, method: str = "GET") -> contract.Expect:
    """The answer that counts as ok. `body`: its text, or @ and a file of its bytes. Raises UsageError."""
    status = _status(written)
    if body is None:
        return contract.Expect(status=status, body_bytes=None, body_sha256=None, hash_one_in=0)
    if method == "HEAD":
        raise UsageError("an answer to HEAD has no body", "leave out the expected body")
    whole = (
        _read("the expected body", body[1:])
        if body.startswith("@")
        else body.encode(errors="surrogateescape")
    )
    return contract.Expect(
        status=status,
        body_bytes=len(whole),
        body_sha256=hashlib.sha256(whole).hexdigest(),
        hash_one_in=HASH_ONE_IN,
    )


def _status(written: int | str | None) -> int | None:
    """Return the status, given as a number or typed; None for "2xx" and where none is given."""
    text = str(written).strip().lower()
    if written is None or text == "2xx":
        return None
    if not text.isdecimal():
        raise UsageError(f"the status {written} cannot be expected", "write one, such as 404, or 2xx")
    if len(text) > len(str(STATUS_MAX)) or not STATUS_MIN <= int(text) <= STATUS_MAX:
        raise UsageError(f"no answer has the status {text}", f"expect one from {STATUS_MIN} to {STATUS_MAX}")
    return int(text)


def _varies(path: str, texts: Sequence[str], mistakes: Mistakes) -> bool:
    """Whether any of them varies; each one is checked, so that all mistakes are found."""
    in_each = [
        mistakes.of(lambda: is_varying(path, in_path=True)),
        *(mistakes.of(partial(is_varying, text)) for text in texts),
    ]
    return any(in_each)


def _headers(written: Written, per_request: bool, mistakes: Mistakes) -> list[tuple[str, str]]:
    given = written.headers.items() if isinstance(written.headers, Mapping) else written.headers
    headers = list(given)
    names = {name.lower() for name, _ in headers}
    for name, value in (("Content-Type", written.content_type), ("Accept", written.accept)):
        if value is not None and name.lower() in names:
            mistakes.add(f"{name} is given twice, by its flag and as a header", "leave one of them out")
        elif value is not None:
            headers.append((name, value))
    if written.names_itself and "user-agent" not in names:
        # The server's log then shows where the load came from.
        headers.append(("User-Agent", f"crumple/{release.VERSION}"))
    for name, value in headers:
        _check_header(name, value, per_request, mistakes)
    return headers


def _check_header(name: str, value: str, per_request: bool, mistakes: Mistakes) -> None:
    header_lines.check(name, value, mistakes)
    if name.lower() in _WRITTEN_BY_ENGINE:
        mistakes.add(f"the header {name} cannot be given", _WRITTEN_BY_ENGINE[name.lower()])
    if name.lower() == "connection" and value.lower() == "close" and not per_request:
        mistakes.add("the header Connection: close asks the server to close", "add --disable-keepalive")


def _check_utf8(texts: Sequence[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            shown = text.encode(errors="backslashreplace").decode()
            raise UsageError(f"{shown} is not UTF-8", "put such a body into a file: -D FILE") from None


def _read(what: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {what} {file}: {why}", "check the path") from None


def _tables(file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        found, example = _json_tables(file), '[{"path": "/"}]'
    else:
        others = f"of a HAR, an OpenAPI document, URLs or a log, make a request file: crumple import {file}"
        found = parsing.read_toml(file, f"mend that line; {others}")
        example = 'a table [[requests]] with path = "/"'
    if not found or found == {"requests": []}:
        raise FileInvalid([Problem(file, "", "holds no request", f"write {example} into it, for instance")])
    return found


def _json_tables(file: Path) -> dict[str, Any]:
    read = _read("the request file", str(file))
    if not read.strip():
        return {}
    try:
        tables = json.loads(read)
    except ValueError as error:
        raise FileInvalid([Problem(file, "", f"is not JSON: {error}", "mend that line")]) from None
    return tables if isinstance(tables, dict) else {"requests": tables}


def _beside(entry: InFile, shared: Written, folder: Path) -> Written:
    """Return an entry of a file with what was typed for all; its own headers replace those."""
    typed = shared.headers.items() if isinstance(shared.headers, Mapping) else shared.headers
    own = {name.lower() for name in entry.headers}
    headers = [(name, value) for name, value in typed if name.lower() not in own]
    expect_body = entry.expect_body
    if expect_body is not None and expect_body.startswith("@"):
        expect_body = f"@{folder / expect_body[1:]}"
    return Written(
        path=typed_url.encoded(rooted(entry.path, folder)),
        method=entry.method,
        headers=[*headers, *((name, rooted(value, folder)) for name, value in entry.headers.items())],
        body=None if entry.body is None else rooted(entry.body, folder),
        body_file=None if entry.body_file is None else str(folder / entry.body_file),
        accept=None if "accept" in own else shared.accept,
        names_itself=shared.names_itself,
        expect_status=shared.expect_status if entry.expect_status is None else entry.expect_status,
        expect_body=expect_body,
        weight=entry.weight,
        name=entry.name,
    )
