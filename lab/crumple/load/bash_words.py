"""A command as a shell reads it → its words. Nothing is executed, so what a shell would fill in is refused.

It reads what browsers copy for bash: quotes, `$'…'` with its escapes, lines that go on behind a backslash.
"""

import re
from typing import NoReturn

from crumple.errors import UsageError

# Within $'…': a backslash, and a letter, or digits of a character's number (bash(1), QUOTING).
_LETTERS = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ESCAPE = re.compile(
    r"\\(?:x(?P<byte>[0-9a-fA-F]{1,2})|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|c(?P<control>.)|(?P<other>.))",
    re.DOTALL,
)
_FILLED_IN = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\}?|\(|[0-9@*#?!$-])|`")
_ENDS = {";": ";", "|": "|", "&": "&", "<": "<", ">": ">", "(": "(", ")": ")"}
_OF_CMD = re.compile(r'\^["\r\n]|\^\\\^"')
_FOR_BASH = 'copy it as "cURL (bash)"'


def words(text: str) -> list[str]:
    """Return the words of one command. Raises UsageError."""
    if _OF_CMD.search(text):
        raise UsageError("--curl: that is quoted for the Windows prompt", _FOR_BASH)
    return _Reader(text.strip()).words()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def words(self) -> list[str]:
        found: list[str] = []
        word: str | None = None
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter in " \t":
                self._at += 1
                found += [] if word is None else [word]
                word = None
            elif self._text.startswith(("\\\n", "\\\r\n"), self._at):
                self._at = self._text.index("\n", self._at) + 1
            elif letter in "\r\n" or letter in _ENDS:
                self._refuse_end(letter)
            else:
                word = (word or "") + self._piece(letter)
        return [*found, *([] if word is None else [word])]

    def _piece(self, letter: str) -> str:
        """Return the text of a quoted piece, of an escaped character, or of one character."""
        if letter == "'":
            return self._until("'")
        if letter == '"':
            return self._double()
        if self._text.startswith("$'", self._at):
            return self._escaped()
        if self._text.startswith('$"', self._at):
            self._at += 1
            return self._double()
        self._check_not_filled_in()
        self._at += 1
        if letter == "\\" and self._at < len(self._text):
            self._at += 1
            return self._text[self._at - 1]
        return letter

    def _until(self, quote: str) -> str:
        ends = self._text.find(quote, self._at + 1)
        if ends < 0:
            self._refuse_open(quote)
        piece = self._text[self._at + 1 : ends]
        self._at = ends + 1
        return piece

    def _double(self) -> str:
        """Return what stands between double quotes."""
        said = ""
        self._at += 1
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter == '"':
                self._at += 1
                return said
            behind = self._text[self._at + 1 : self._at + 2]
            if letter == "\\" and behind in ("$", "`", '"', "\\", "\n"):
                said += "" if behind == "\n" else behind
                self._at += 2
                continue
            self._check_not_filled_in()
            said += letter
            self._at += 1
        return self._refuse_open('"')

    def _escaped(self) -> str:
        """Return what stands between `$'` and `'`, with its escapes read."""
        ends = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(self._text, self._at + 2)
        if ends is None:
            return self._refuse_open("$'")
        inside = self._text[self._at + 2 : ends.end() - 1]
        self._at = ends.end()
        units, end = bytearray(), 0
        for escape in _ESCAPE.finditer(inside):
            units += inside[end : escape.start()].encode("utf-16-le", "surrogatepass")
            units += _unit(escape)
            end = escape.end()
        units += inside[end:].encode("utf-16-le", "surrogatepass")
        return _text_of(units)

    def _check_not_filled_in(self) -> None:
        found = _FILLED_IN.match(self._text, self._at)
        if found is not None:
            shown = "`…`" if found[0] == "`" else "$(…)" if found[0] == "$(" else found[0]
            raise UsageError(
                f"--curl: {shown} stands for something that a shell fills in, and nothing is executed",
                "write its value instead",
            )

    def _refuse_end(self, letter: str) -> NoReturn:
        if letter in "\r\n":
            raise UsageError("--curl: that is more than one command", "give one of them")
        raise UsageError(
            f"--curl: {letter} stands outside quotes, where a shell ends or redirects the command",
            "give one command, with its URL in quotes",
        )

    def _refuse_open(self, quote: str) -> NoReturn:
        raise UsageError(f"--curl: what {quote} opens is not closed", "copy the whole command")


# A byte that \xHH gives, kept apart from characters until all are known.
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
