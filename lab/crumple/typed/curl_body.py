"""The options of curl that give a body (-d, --json, -F, -T, …) → the flags that send the same."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote_plus

from crumple.errors import UsageError
from crumple.load import form
from crumple.typed.shell_before import Stdin
from crumple.typed.shell_files import Files

_FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
_SEMICOLON = re.compile(";")
_QUOTED = re.compile(r'"((?:\\[\\"]|[^"\\]|\\(?![\\"]))*)"')
_TYPE = re.compile(r"[^/ ]{1,127}/[^;, \n]{1,127}")


@dataclass(frozen=True)
class Datum:
    """One option that adds to a body, by its long name."""

    option: str
    value: str


def data(added: Sequence[Datum], stdin: Stdin) -> str:
    """Return what -d and its like send. Raises UsageError."""
    said = ""
    for number, each in enumerate(added):
        said += ("&" if number and each.option != "--json" else "") + _datum(each, stdin)
    return said


def type_of(added: Sequence[Datum]) -> str:
    """Return the type that curl sends with it."""
    return JSON if any(each.option == "--json" for each in added) else _FORM


def of_data(added: Sequence[Datum], stdin: Stdin) -> dict[str, Any]:
    """Return the flags that send it. Raises UsageError."""
    (first, *others) = added
    is_file = first.value.startswith("@") and first.value != "@-"
    if not others and is_file and first.option in ("--data-binary", "--json"):
        file = _named(first.option, first.value[1:])
        if stdin.files.written(file) is None:
            return {"body_file": file}
    body = data(added, stdin)
    # A body that begins with @ names a file to a load; a second @ says that it does not.
    return {"body": f"@{body}" if body.startswith("@") else body}


def urlencode(option: str, value: str, stdin: Stdin) -> str:
    """Return what --data-urlencode sends of a value. Raises UsageError."""
    found = re.match(r"([^=@]*)([=@])", value)
    if found is None:
        return quote_plus(value, errors="surrogateescape")
    name, mark = found[1], found[2]
    content = value[found.end() :]
    said = quote_plus(content if mark == "=" else _read(option, content, stdin), errors="surrogateescape")
    return f"{name}={said}" if name else said


def query(value: str, stdin: Stdin) -> str:
    """Return what --url-query adds to the URL. Raises UsageError."""
    return value[1:] if value.startswith("+") else urlencode("--url-query", value, stdin)


def upload(file: str, files: Files) -> dict[str, Any]:
    """Return the flags that send a file as -T does. Raises UsageError."""
    if file in ("-", "."):
        raise UsageError(f"--curl: curl's -T {file} sends stdin in chunks", "write it to a file, and -T FILE")
    if re.search(r"[{\[]", file):
        raise UsageError(f"--curl: curl's -T {file} stands for several files", "name one of them")
    files.check(file)
    return {"body_file": _named("-T", file)}


def header_lines(file: str, stdin: Stdin) -> list[str]:
    """Return the headers that -H @FILE names. Raises UsageError."""
    lines = _read("-H", file, stdin).splitlines()
    return [line for line in lines if line.strip()]


def _datum(each: Datum, stdin: Stdin) -> str:
    option, value = each.option, each.value
    if option == "--data-urlencode":
        return urlencode(option, value, stdin)
    if option == "--data-raw" or not value.startswith("@"):
        return value
    text = _read(option, value[1:], stdin)
    return text if option in ("--data-binary", "--json") else re.sub("[\r\n\0]", "", text)


def _named(option: str, file: str) -> str:
    if not file:
        raise UsageError(f"--curl: curl's {option} @ names no file", f"write {option} @FILE")
    return file


def _read(option: str, file: str, stdin: Stdin) -> str:
    if file == "-":
        return stdin.read(f"{option} @-")
    text = stdin.files.read(_named(option, file))
    if re.search("[\udc80-\udcff]", text):
        raise UsageError(
            f"--curl: curl's {option} @{file} holds no text", "send it alone, with --data-binary @FILE"
        )
    return text


def field(typed: str, files: Files, left_out: Callable[[str], None]) -> str:
    """Return a field of a form as -F here takes it, from one as -F of curl does. Raises UsageError.

    curl passes over what it does not know, and sends a value only up to a semicolon: `left_out` is called
    with what it leaves out.
    """
    name, equals, rest = typed.partition("=")
    if not equals or not name:
        raise UsageError(f"--curl: curl's -F {typed}: that names no field", "write -F name=value")
    if rest[:1] == "(":
        raise UsageError(f"--curl: curl's -F {name}=( begins a form within the form", "write each field")
    source = rest[:1] if rest[:1] in ("@", "<") else ""
    reader = _Words(rest[len(source) :].lstrip(), left_out, until="," if source == "@" else "")
    value = reader.word()
    said, kind, has_kind_open = "", "", False
    while reader.next_option():
        if reader.begins("type=") and not has_kind_open:
            kind, has_kind_open = reader.plain(keep_blanks=True), True
            if not _TYPE.match(kind):
                raise UsageError(f"--curl: curl's -F {name}: {kind} is no type", "write ;type=text/plain")
        elif reader.begins("filename="):
            said, has_kind_open = f"{said};filename={_quoted(reader.word())}", False
        elif found := next((each for each in ("headers=", "encoder=") if reader.begins(each)), None):
            raise UsageError(f"--curl: a field of a form has no {found[:-1]} here", "leave it out")
        elif has_kind_open:
            kind += f";{reader.plain(keep_blanks=True)}"
        else:
            reader.word()
            left_out(f"curl's -F {name}: what follows a semicolon is not sent")
    if not reader.ends():
        raise UsageError(f"--curl: curl's -F {name} sends several files in one field", "name one of them")
    if source and value == "-":
        raise UsageError(f"--curl: curl's -F {name}={source}- reads stdin", "name a file")
    if source:
        files.check(value)
    # curl sends the quotes of a type, which a form as typed here would take off.
    kind = _quoted(kind.strip()) if '"' in kind else kind.strip()
    return f"{name}={source}{_quoted(value)}" + (f";type={kind}" if kind else "") + said


def _quoted(text: str) -> str:
    return form.literal("", text)[1:]


class _Words:
    """Reads a field as curl does: words that semicolons divide, each in double quotes or not."""

    def __init__(self, text: str, left_out: Callable[[str], None], until: str) -> None:
        self._text, self._at = text, 0
        self._left_out = left_out
        self._plain = re.compile(f"[^;{until}]*")

    def next_option(self) -> bool:
        """Return whether an option follows, and go to its beginning."""
        return self._goes_behind(_SEMICOLON)

    def begins(self, name: str) -> bool:
        """Return whether an option has this name, and go behind it."""
        return self._goes_behind(re.compile(rf"\s*{name}\s*", re.IGNORECASE))

    def ends(self) -> bool:
        """Return whether nothing is left."""
        return self._at == len(self._text)

    def word(self) -> str:
        """Return a word, with what a backslash stands for."""
        quoted = _QUOTED.match(self._text, self._at)
        if quoted is None:
            return self.plain()
        self._at = quoted.end()
        if self.plain():
            self._left_out("curl's -F: what follows a closing quote is not sent")
        return re.sub(r'\\([\\"])', r"\1", quoted[1])

    def plain(self, *, keep_blanks: bool = False) -> str:
        """Return what stands before the next semicolon."""
        found = self._plain.match(self._text, self._at)
        assert found
        self._at = found.end()
        return found[0] if keep_blanks else found[0].rstrip()

    def _goes_behind(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found is not None


def refuse_several(given: Sequence[str]) -> NoReturn:
    """Refuse options that each give a body."""
    raise UsageError(f"--curl: curl's {' and '.join(given)} each give a body", "keep one of them")
