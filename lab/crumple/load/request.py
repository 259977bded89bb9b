"""A request as typed → what the engine sends, and the answer that it expects. Nonsense is refused."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from crumple import contract, release
from crumple.errors import FileInvalid, Mistakes, Problem, UsageError
from crumple.load import flag_files, header_lines
from crumple.load.typed_request import TypedRequest
from crumple.load.varying import escape, is_varying, template

# The engine hashes the first body of each connection, and then one in 64; it checks the length of each.
HASH_ONE_IN = 64
# The statuses of final answers (RFC 9110, 15): those below 200 are interim, and none is above 599.
STATUS_MIN, STATUS_MAX = 200, 599
_WRITTEN_BY_ENGINE = {
    "content-length": "the engine writes it from the body; leave it out",
    "transfer-encoding": "the engine sends bodies whole; leave it out",
}


def make_all(
    typed: Sequence[TypedRequest], *, per_request: bool = False, literal: bool = False
) -> tuple[contract.RequestSpec, ...]:
    """Return requests as `make` does. Raises UsageError, and FileInvalid if they are those of a file."""
    made: list[contract.RequestSpec] = []
    problems: list[Problem] = []
    for each in typed:
        try:
            made.append(make(each, per_request=per_request, literal=literal))
        except UsageError as error:
            if each.file is None:
                raise
            problems += [Problem(each.file, each.key, line) for line in str(error).splitlines()]
    problems += _same_names(typed)
    if problems:
        raise FileInvalid(problems)
    return tuple(made)


def make(typed: TypedRequest, *, per_request: bool = False, literal: bool = False) -> contract.RequestSpec:
    """Return a request for the engine's spec. Raises UsageError with every mistake in it.

    A body without a method is sent with POST. `literal`: braces, and the letters of the method, are sent as
    they are. `per_request`: each request has a connection of its own.
    """
    mistakes = Mistakes()
    bodies = (typed.body, typed.body_file, typed.body_parts, typed.lines_file)
    bodiless = all(each is None for each in bodies)
    method = typed.method or ("GET" if bodiless else "POST")
    method = method if literal else method.upper()
    if not header_lines.TOKEN.fullmatch(method):
        mistakes.add(f"{typed.method} is no HTTP method", "write GET or POST, for instance")
    headers = _headers(typed, per_request, mistakes)
    if typed.body is not None and typed.body_file is not None:
        mistakes.add("a body and a body file are both given", "leave one of them out")
    if typed.body_file is not None:
        mistakes.of(lambda: _read_named("the body file", str(typed.body_file)))
    parts = typed.body_parts or ()
    texts = [*(value for _, value in headers), typed.body or "", *(each.text or "" for each in parts)]
    mistakes.of(lambda: _check_utf8([typed.path, *texts]))
    varies = not literal and _varies(typed.path, texts, mistakes)
    expected = mistakes.of(lambda: expect(typed.expect_status, typed.expect_body, method))
    mistakes.none()
    assert expected
    # The lines of a file vary even where braces are braces.
    read = escape if literal and typed.lines_file else template if varies or typed.lines_file else str
    body = None if typed.body is None else read(typed.body)
    body_file = None if typed.body_file is None else str(Path(typed.body_file).absolute())
    return contract.RequestSpec(
        name=typed.name,
        method=method,
        path=read(typed.path),
        headers=tuple((name, read(value)) for name, value in headers),
        body=f"{{line:{typed.lines_file}}}" if typed.lines_file else body,
        body_file=body_file,
        body_parts=None if typed.body_parts is None else tuple(_part(each, read) for each in parts),
        varies=varies or typed.lines_file is not None,
        weight=typed.weight,
        expect=expected,
    )


def _part(part: contract.BodyPartSpec, read: Callable[[str], str]) -> contract.BodyPartSpec:
    return part if part.text is None else contract.BodyPartSpec(text=read(part.text))


def _same_names(typed: Sequence[TypedRequest]) -> list[Problem]:
    names = [each.name for each in typed if each.name]
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    return [
        Problem(each.file, "requests", f'two requests have the name "{name}"', "give each its own")
        for name in twice
        for each in typed[:1]
        if each.file is not None
    ]


def _read_named(what: str, file: str) -> bytes:
    return flag_files.read(f"cannot read {what} {file}", file)


def expect(typed: int | str | None, body: str | None, method: str = "GET") -> contract.ExpectSpec:
    """The answer that counts as ok. `body`: its text, or @ and a file of its bytes. Raises UsageError."""
    status = _status(typed)
    if body is None:
        return contract.ExpectSpec(status=status, body_bytes=None, body_sha256=None, hash_one_in=0)
    if method == "HEAD":
        raise UsageError("an answer to HEAD has no body", "leave out the expected body")
    whole = (
        _read_named("the expected body", body[1:])
        if body.startswith("@")
        else body.encode(errors="surrogateescape")
    )
    return contract.ExpectSpec(
        status=status,
        body_bytes=len(whole),
        body_sha256=hashlib.sha256(whole).hexdigest(),
        hash_one_in=HASH_ONE_IN,
    )


def _status(typed: int | str | None) -> int | None:
    """Return the status, given as a number or typed; None for "2xx" and where none is given."""
    text = str(typed).strip().lower()
    if typed is None or text == "2xx":
        return None
    if not text.isdecimal():
        raise UsageError(f"the status {typed} cannot be expected", "write one, such as 404, or 2xx")
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


def _headers(typed: TypedRequest, per_request: bool, mistakes: Mistakes) -> list[tuple[str, str]]:
    headers = list(typed.headers)
    names = {name.lower() for name, _ in headers}
    for name, value in (("Content-Type", typed.content_type), ("Accept", typed.accept)):
        if value is not None and name.lower() in names:
            mistakes.add(f"{name} is given twice, by its flag and as a header", "leave one of them out")
        elif value is not None:
            headers.append((name, value))
    if typed.names_itself and "user-agent" not in names:
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
