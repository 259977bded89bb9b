"""A command line as a shell reads it → its words, its redirections and the marks between commands.

Nothing is executed. A variable is filled in if it is known; what only a shell could fill in is refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from crumple.errors import UsageError
from crumple.typed.shell_files import Files
from crumple.typed.shell_word import Pieces

# Within $'…': a backslash, and a letter, or digits of a character's number (bash(1), QUOTING).
_LETTERS = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ESCAPE = re.compile(
    r"\\(?:x(?P<byte>[0-9a-fA-F]{1,2})|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|c(?P<control>.)|(?P<other>.))",
    re.DOTALL,
)
_FILLED_IN = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\}?|\(|[0-9@*#?!$-])|`")
_VARIABLE = re.compile(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<when>:?[-=?+])(?P<otherwise>[^}$`\\]*))?\})"
)
# What stands for a variable without a value, outside double quotes.
_QUOTED_OR_NOT = re.compile(r"""(?P<quote>['"]?)(?P<text>[^'"]*)(?P=quote)""")
# What only repeats a file or a text that stands there.
_CAT = re.compile(r"\$\(\s*(?:cat\s|<)\s*(?P<file>[\w./@%+-]+)\s*\)")
_CAT_DOCUMENT = re.compile(
    r"\$\(\s*cat\s*<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n"
    r"(?P<body>.*?)^(?P<indent>\t*)(?P=end)\s*\)",
    re.DOTALL | re.MULTILINE,
)
_LINE_GOES_ON = re.compile(r"\\(?:\r?\n|\Z)")
# In a shell blanks behind the backslash end the line. Whoever copies a page does not see them. A comment
# there is a note on the page.
_GOES_ON_BEHIND_BLANKS = re.compile(r"\\[ \t]+(?:#[^\n]*)?(?:\n|\r\n|\Z)")
_REDIRECTION = re.compile(r"(?:\d*(?:<<<|<<-?|<>|<&|>>|>\||>&|<|>)|&>>?)(?!\()")
_MARK = re.compile(r"\|\||&&|\|&|;;|[<>]\(|[;|&()]")
_ENDS_A_WORD = frozenset(" \t\r\n|&;()<>")


Environment = Callable[[str], str | None]


@dataclass
class Variables:
    """What `$NAME` stands for."""

    environment: Environment | None = None
    """Returns the value of a variable that is not known here; None: such a variable is refused."""
    known: dict[str, str] = field(default_factory=dict)
    """The values by name."""
    filled: set[str] = field(default_factory=set)
    """Values that were taken from the environment."""
    files: Files = field(default_factory=Files)
    """The files that the commands read."""
    _unsure: set[str] = field(default_factory=set)

    def assign(self, name: str, value: str | None) -> None:
        """Take note of an assignment. None: what is assigned is not known without executing it."""
        self.known.pop(name, None)
        self._unsure.discard(name)
        if value is None:
            self._unsure.add(name)
        else:
            self.known[name] = value

    def value(self, name: str, when: str = "", otherwise: str = "") -> str:
        """Return the value of a variable, as `${NAME:-otherwise}` says. Raises UsageError."""
        found = self._found(name)
        is_absent = found is None or (when.startswith(":") and not found)
        match when[-1:]:
            case "+":
                return "" if is_absent else otherwise
            case "-" | "=" if is_absent:
                if when.endswith("="):
                    self.known[name] = otherwise
                return otherwise
        if found is None or (is_absent and when):
            raise UsageError(f"--curl: the variable {name} is not set", f"export {name}=…")
        return found

    def _found(self, name: str) -> str | None:
        """Return the value as it is; None: there is none. Raises UsageError if nobody knows."""
        if name in self.known:
            return self.known[name]
        if name in self._unsure:
            raise UsageError(
                f"--curl: ${name} is set by a command before curl, and nothing is executed",
                "write its value instead",
            )
        if self.environment is None:
            raise UsageError(
                f"--curl: ${name} is a variable of the shell",
                f"export {name} and add --env, or write its value instead",
            )
        found = self.environment(name)
        if found is not None:
            self.filled.add(found)
        return found

    def hidden(self, text: str) -> str:
        """Return the text without the values that were taken from the environment."""
        for value in sorted(filter(None, self.filled), key=len, reverse=True):
            text = text.replace(value, "…")
        return text


@dataclass(frozen=True)
class Word:
    """A word, and the text in which it stands from `at` to `end`."""

    text: str
    at: int
    end: int
    is_bare: bool = True
    """Whether it has neither quotes nor escapes."""
    is_pattern: bool = False
    """Whether bash puts names of files in its place."""


@dataclass
class Redirection:
    """Where a command reads or writes."""

    how: str
    """The operator, such as `2>`."""
    target: str
    at: int
    end: int
    body: str | None = None
    """The text to read, if it stands in the command line."""


@dataclass(frozen=True)
class EndOfCommand:
    """What ends a command: `|`, `&&`, a line's end, …."""

    text: str
    at: int
    end: int


Token = Word | Redirection | EndOfCommand


class Reader:
    """Reads a command line from its beginning. `at`: how far it has come.

    `has_blanks_behind`: blanks stood behind a backslash at a line's end, which was read as going on.
    """

    def __init__(self, text: str, variables: Variables) -> None:
        self.text = text
        self.at = 0
        self.has_blanks_behind = False
        self._may_assign = True
        self._variables = variables
        self._documents: list[tuple[Redirection, bool]] = []

    def tokens(self) -> Iterator[Token]:
        """Yield what the command line consists of. Raises UsageError."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if goes_on := self._match(_LINE_GOES_ON):
                self.at = goes_on.end()
            elif goes_on := self._match(_GOES_ON_BEHIND_BLANKS):
                self.at, self.has_blanks_behind = goes_on.end(), True
            elif letter in " \t":
                self.at += 1
            elif letter == "#":
                self.at = self._line_end()
            elif letter in "\r\n":
                begins = self.at
                self.at += 2 if self.text.startswith("\r\n", begins) else 1
                self._read_documents()
                self._may_assign = True
                yield EndOfCommand("\n", begins, self.at)
            elif found := self._match(_REDIRECTION):
                yield self._redirection(found)
            elif found := self._match(_MARK):
                self.at, self._may_assign = found.end(), True
                yield EndOfCommand(found[0], found.start(), found.end())
            else:
                yield from self._words()

    def skip_line(self) -> None:
        """Go behind the present line, and behind the here-documents of what has been read of it."""
        self.at = min(self._line_end() + 1, len(self.text))
        self._read_documents()

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.at)

    def _line_end(self) -> int:
        ends = self.text.find("\n", self.at)
        return len(self.text) if ends < 0 else ends

    def _redirection(self, found: re.Match[str]) -> Redirection:
        how, self.at = found[0], found.end()
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        words = [] if self.at >= len(self.text) or self.text[self.at] in "\r\n" else self._words(splits=False)
        if not words:
            raise UsageError(f"--curl: {how} lacks what stands behind it", "copy the whole command")
        made = Redirection(how, words[0].text, found.start(), self.at)
        if how.lstrip("0123456789") == "<<<":
            made.body = f"{made.target}\n"
        elif "<<" in how:
            self._documents.append((made, words[0].is_bare))
        return made

    def _read_documents(self) -> None:
        for document, is_filled in self._documents:
            lines = []
            while self.at < len(self.text):
                ends = self._line_end()
                line, self.at = self.text[self.at : ends].removesuffix("\r"), min(ends + 1, len(self.text))
                line = line.lstrip("\t") if document.how.endswith("-") else line
                if line == document.target:
                    break
                lines.append(f"{line}\n")
            body = "".join(lines)
            document.body = Reader(body, self._variables)._filled("", "$`\\\n") if is_filled else body
        self._documents.clear()

    def _words(self, *, splits: bool = True) -> list[Word]:
        """Return the word that begins here; several or none where a variable outside quotes has blanks."""
        begins, pieces = self.at, Pieces(may_assign=self._may_assign, splits=splits)
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_A_WORD:
            goes_on = self._match(_LINE_GOES_ON)
            if goes_on is not None:
                self.at = goes_on.end()
                continue
            if self._match(_GOES_ON_BEHIND_BLANKS):
                break
            if found := self._match(_VARIABLE):
                pieces.add_filled_in(self._value(found, is_quoted=False))
                continue
            if repeated := self._match(_CAT) or self._match(_CAT_DOCUMENT):
                pieces.add_filled_in(self._repeated(repeated))
                continue
            before, letter = self.at, self.text[self.at]
            piece = self._piece(letter)
            pieces.add(piece, is_quoted=self.at != before + 1)
        made = [
            Word(text, begins, self.at, pieces.is_bare, is_pattern=is_pattern)
            for text, is_pattern in pieces.words()
        ]
        if splits:
            names_a_setter = pieces.is_bare and [each.text for each in made] == ["export"]
            self._may_assign = self._may_assign and (pieces.is_assignment or names_a_setter)
        return made

    def _piece(self, letter: str) -> str:
        """Return the text of a quoted piece, of an escaped character, or of one character."""
        if letter == "'":
            return self._until("'")
        if letter == '"':
            return self._double()
        if self.text.startswith("$'", self.at):
            return self._escaped()
        if self.text.startswith('$"', self.at):
            self.at += 1
            return self._double()
        self._check_not_filled_in()
        self.at += 1
        if letter == "\\" and self.at < len(self.text):
            self.at += 1
            return self.text[self.at - 1]
        return letter

    def _until(self, quote: str) -> str:
        ends = self.text.find(quote, self.at + 1)
        if ends < 0:
            _refuse_open(quote)
        piece = self.text[self.at + 1 : ends]
        self.at = ends + 1
        return piece

    def _double(self) -> str:
        """Return what stands between double quotes."""
        self.at += 1
        said = self._filled('"', '$`"\\\n')
        if self.at >= len(self.text):
            _refuse_open('"')
        self.at += 1
        return said

    def _filled(self, until: str, escaped: str) -> str:
        """Return the text with its variables filled in. `escaped`: what a backslash may stand before."""
        said = ""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == until:
                break
            found = self._match(_VARIABLE)
            if found is not None:
                said += self._value(found, is_quoted=True)
                continue
            if repeated := self._match(_CAT) or self._match(_CAT_DOCUMENT):
                said += self._repeated(repeated)
                continue
            behind = self.text[self.at + 1 : self.at + 2]
            if letter == "\\" and behind and behind in escaped:
                said += "" if behind == "\n" else behind
                self.at += 2
                continue
            self._check_not_filled_in()
            said += letter
            self.at += 1
        return said

    def _value(self, found: re.Match[str], *, is_quoted: bool) -> str:
        self.at = found.end()
        otherwise = found["otherwise"] or ""
        if is_quoted:
            otherwise = otherwise.replace('"', "")
        elif plain := _QUOTED_OR_NOT.fullmatch(otherwise):
            otherwise = plain["text"]
        else:
            raise UsageError(
                f"--curl: {found[0]} has quotes within, from which only a shell makes words",
                "write its value instead",
            )
        return self._variables.value(found["bare"] or found["name"], found["when"] or "", otherwise)

    def _repeated(self, found: re.Match[str]) -> str:
        """Return what cat writes, as `$(cat …)` stands for it. Raises UsageError."""
        self.at = found.end()
        if "file" in found.re.groupindex:
            return self._variables.files.read(found["file"]).rstrip("\n")
        body = re.sub(r"(?m)^\t+", "", found["body"]) if found["tabs"] else found["body"]
        if not found["quote"]:
            body = Reader(body, self._variables)._filled("", "$`\\\n")
        return body.rstrip("\n")

    def _escaped(self) -> str:
        """Return what stands between `$'` and `'`, with its escapes read."""
        ends = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(self.text, self.at + 2)
        if ends is None:
            _refuse_open("$'")
        inside = self.text[self.at + 2 : ends.end() - 1]
        self.at = ends.end()
        units, end = bytearray(), 0
        for escape in _ESCAPE.finditer(inside):
            units += inside[end : escape.start()].encode("utf-16-le", "surrogatepass")
            units += _unit(escape)
            end = escape.end()
        units += inside[end:].encode("utf-16-le", "surrogatepass")
        # bash ends what it quotes so at a NUL.
        return _text_of(units).partition("\0")[0]

    def _check_not_filled_in(self) -> None:
        found = self._match(_FILLED_IN)
        if found is not None:
            shown = "`…`" if found[0] == "`" else "$(…)" if found[0] == "$(" else found[0]
            raise UsageError(
                f"--curl: {shown} stands for something that a shell fills in, and nothing is executed",
                "write its value instead",
            )


def _refuse_open(quote: str) -> NoReturn:
    raise UsageError(f"--curl: what {quote} opens is not closed", "copy the whole command")


# Added to a byte that \xHH gives, so that it is known from a character until all bytes of one are there:
# these
# are lone surrogates, as of the error handler surrogateescape.
_BYTE = 0xDC00


def _unit(escape: re.Match[str]) -> bytes:
    """Return what an escape stands for, in UTF-16: browsers write a character beyond it as two escapes."""
    if digits := escape["short"] or escape["long"]:
        return chr(min(int(digits, 16), 0x10FFFF)).encode("utf-16-le", "surrogatepass")
    if digits := escape["byte"] or escape["octal"]:
        code = int(digits, 16 if escape["byte"] else 8) & 0xFF
        return chr(code if code < 0x80 else _BYTE + code).encode("utf-16-le", "surrogatepass")
    if control := escape["control"]:
        return chr(ord(control) & 0x1F).encode("utf-16-le")
    other = escape["other"]
    known = _LETTERS.get(other)
    text = chr(known) if known is not None else other if other in "\\'\"?" else f"\\{other}"
    return text.encode("utf-16-le", "surrogatepass")


def _text_of(units: bytearray) -> str:
    """Return the text; bytes that make up a character of UTF-8 become that character."""
    text = units.decode("utf-16-le", "surrogatepass")
    if not re.search("[\ud800-\udfff]", text):
        return text
    raw = b"".join(
        bytes([ord(each) - _BYTE]) if 0xDC80 <= ord(each) <= 0xDCFF else each.encode("utf-8", "surrogatepass")
        for each in text
    )
    return raw.decode("utf-8", "surrogateescape")
