"""Fields of a form as typed (-F name=value, name=@FILE, name=<FILE) → the parts of a body of that form.

The syntax is curl's. Files are named here and read by the engine (RFC 7578, RFC 2046).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crumple.contract import BodyPartSpec
from crumple.errors import Mistakes, UsageError

MULTIPART = "multipart/form-data"
# The types that curl knows by the end of a file's name.
_TYPES = {
    ".gif": "image/gif",
    ".htm": "text/html",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".xml": "application/xml",
}
_OTHER_TYPE = "application/octet-stream"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_OPTION = re.compile(
    rf";(?P<whole>\s*(?P<name>[\w-]*)=(?P<value>\s*{_QUOTED.pattern}\s*(?=;|$)|[^;]*)|[^;]*)", re.DOTALL
)


@dataclass(frozen=True)
class Form:
    """A body of several parts."""

    content_type: str
    """With the text that separates the parts."""
    parts: tuple[BodyPartSpec, ...]


@dataclass(frozen=True)
class _Field:
    name: str
    value: BodyPartSpec
    file_name: str | None
    content_type: str | None


def form(typed: Sequence[str], kind: str = MULTIPART) -> Form:
    """Return the form that has these fields. Raises UsageError with every mistake in them.

    `kind`: the Content-Type that was typed; what separates the fields is added to it, as curl does.
    """
    mistakes = Mistakes()
    fields = [mistakes.of(partial(_field, text)) for text in typed]
    mistakes.none()
    boundary = "crumple-" + hashlib.sha256("\0".join(typed).encode(errors="replace")).hexdigest()[:32]
    disposition = "form-data" if re.match(rf"{MULTIPART}(?:[;\s]|$)", kind, re.IGNORECASE) else "attachment"
    parts = [part for field in fields if field for part in _parts(field, disposition, boundary)]
    end = BodyPartSpec(text=f"--{boundary}--\r\n")
    return Form(f"{kind}; boundary={boundary}", (*parts, end))


def literal(name: str, value: str) -> str:
    """Return a field as typed whose value is `value`, whatever that holds."""
    return f'{name}="{value.translate({ord(mark): f"{chr(92)}{mark}" for mark in (chr(92), chr(34))})}"'


def _field(typed: str) -> _Field:
    name, equals, rest = typed.partition("=")
    if not equals or not name:
        raise UsageError(f"-F {typed}: that is no field", "write -F name=value, or -F name=@FILE")
    source = rest[:1] if rest[:1] in ("@", "<") else ""
    value, options = _value(typed, rest.removeprefix(source) if source else rest)
    file_name, content_type = _options(typed, options)
    if not source:
        return _Field(name, BodyPartSpec(text=value), file_name, content_type or _type_of(file_name))
    _check_file(typed, value)
    file = str(Path(value).absolute())
    if source == "@":
        file_name = Path(value).name if file_name is None else file_name
    known = _type_of(file_name) or _type_of(value)
    if file_name is not None:
        known = known or _OTHER_TYPE
    elif known == "text/plain":
        # A field without a file name is that anyway.
        known = None
    return _Field(name, BodyPartSpec(file=file), file_name, content_type or known)


def _type_of(file_name: str | None) -> str | None:
    ends = (file_name or "").lower()
    return next((kind for end, kind in _TYPES.items() if ends.endswith(end)), None)


def _value(typed: str, text: str) -> tuple[str, str]:
    """Divide what stands behind the name into the value, which may be in double quotes, and its options."""
    quoted = _QUOTED.match(text)
    if quoted is None:
        value, mark, options = text.partition(";")
        return value, mark + options
    options = text[quoted.end() :]
    if options and not options.startswith(";"):
        raise _behind_the_quote(typed)
    return re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), options


def _options(typed: str, text: str) -> tuple[str | None, str | None]:
    """Return the file name and the type that the options say; None for each that they do not."""
    said: dict[str, str] = {}
    for option in _OPTION.finditer(text):
        name, value = option["name"], option["value"]
        if name in ("type", "filename"):
            quoted = _QUOTED.fullmatch(value.strip())
            if quoted is None and value.strip().startswith('"'):
                raise _behind_the_quote(typed)
            said[name] = re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL) if quoted else value
        elif name and [*said][-1:] == ["type"]:
            # A parameter of the type, such as charset=utf-8.
            said["type"] += option[0]
        else:
            raise UsageError(
                f'-F {typed}: ";{option["whole"]}" is neither ;type=… nor ;filename=…',
                f"put a value with a semicolon into double quotes: -F '{typed.partition('=')[0]}=\"…\"'",
            )
    return _stripped(said.get("filename")), _stripped(said.get("type"))


def _behind_the_quote(typed: str) -> UsageError:
    return UsageError(f"-F {typed}: more follows the closing quote", "put the whole value into quotes")


def _stripped(text: str | None) -> str | None:
    return text and text.strip()


def _check_file(typed: str, file: str) -> None:
    if file in ("", "-"):
        raise UsageError(f"-F {typed}: that names no file", "write -F name=@FILE")
    try:
        with Path(file).open("rb"):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"-F {typed}: cannot read {file}: {why}", "check the path") from None


def _parts(field: _Field, disposition: str, boundary: str) -> tuple[BodyPartSpec, BodyPartSpec, BodyPartSpec]:
    """Return the head of a field, its value, and the line end behind it."""
    named = f'{disposition}; name="{_escaped(field.name)}"'
    if field.file_name is not None:
        named += f'; filename="{_escaped(field.file_name)}"'
    lines = [f"--{boundary}", f"Content-Disposition: {named}"]
    if field.content_type is not None:
        lines.append(f"Content-Type: {field.content_type}")
    return BodyPartSpec(text="\r\n".join([*lines, "", ""])), field.value, BodyPartSpec(text="\r\n")


def _escaped(name: str) -> str:
    """Return a name as it may stand in quotes in the head of a field, as browsers and curl write it."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
