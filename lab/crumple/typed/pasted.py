"""What people paste around a command of curl → that command, what it reads on stdin, and what is left out.

Pipes, redirections, further commands, assignments, prompts and comments are not executed. What is left out is
listed. A second command of curl, and whatever decides whether or how often curl runs, is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import NoReturn

from crumple.errors import UsageError
from crumple.typed import shell_before
from crumple.typed.bash_words import EndOfCommand, Reader, Redirection, Variables, Word
from crumple.typed.shell_before import ASSIGNMENT, Simple, Stdin, is_input

_PROMPT = re.compile(r"\s*[^\n'\"|;&=]*[$%#>❯»][ \t]+(?=curl(?:\.exe)?\s)")
_SUBSTITUTED = re.compile(
    r"\s*(?:(?:export|local|readonly|echo)\s+)?(?:[A-Za-z_]\w*=)?\"?\$\(\s*(?=curl(?:\.exe)?\s)"
)
_PROMPTS = frozenset("$%❯»")
_BEFORE = frozenset(("time", "sudo", "env", "command", "exec", "nohup", "builtin", "export"))
_DECIDES = frozenset(
    ("for", "while", "until", "if", "case", "select", "do", "then", "{", "function", "xargs")
)
_CURL_BEHIND = re.compile(r"(?:^|&&|\|\||[;|&\n(])\s*(?:[$%#] )?curl(?:\.exe)?\s")
_OF_CMD = re.compile(r'\^["\r\n]|\^\\\^"')
_CMD_LINE_GOES_ON = re.compile(r"\^[ \t]*(?:\r?\n|\Z)")
_POWERSHELL_LINE_GOES_ON = re.compile(r"`[ \t]*(?:\r?\n|\Z)")
_COMMENT_LINES = re.compile(r"(?m)^\s*#.*$")


@dataclass(frozen=True)
class CommandLine:
    """The words behind `curl`, and what it reads on stdin."""

    words: tuple[str, ...]
    stdin: Stdin
    left_out: tuple[str, ...]
    """What a shell would do beside it, each in a few words without values."""


def read(text: str, variables: Variables) -> CommandLine:
    """Return the command of curl that a shell would run. Raises UsageError."""
    text = _of_one_shell(text)
    left_out: list[str] = []
    if within := _SUBSTITUTED.match(text):
        left_out.append(f"{text[: text.index('$(')].strip().rstrip(chr(34))}$(…)")
        text = text[within.end() :]
    reader = Reader(text, variables)
    before: Simple | None = None
    first = ""
    for simple in _commands(reader):
        words = _without_what_stands_before(simple, left_out)
        if words and is_curl(words[0].text):
            return _found(reader, simple, words, before, variables, left_out)
        first = first or next(iter(simple.texts), "")
        _check_decides_nothing(simple)
        shell_before.take(simple, before, variables, left_out)
        before = simple
    raise UsageError(
        f'--curl: a command of curl begins with curl, and this with "{first or "nothing"}"',
        'copy the request as "cURL (bash)"',
    )


def is_curl(word: str) -> bool:
    """Return whether a word names the program."""
    return PureWindowsPath(word).name in ("curl", "curl.exe")


def _of_one_shell(text: str) -> str:
    """Return the text as bash would take it: without a prompt, and with its lines joined as in bash."""
    text = text.strip()
    # Where these shells do not quote as bash does, the lines are left as they are, and refused further on.
    for goes_on, unlike_bash in ((_CMD_LINE_GOES_ON, ("^", "'")), (_POWERSHELL_LINE_GOES_ON, ("`", "''"))):
        joined = goes_on.sub(" ", text)
        if not any(each in joined for each in unlike_bash):
            text = joined
    if _OF_CMD.search(text):
        raise UsageError("--curl: that is quoted for the Windows prompt", 'copy it as "cURL (bash)"')
    prompt = _PROMPT.match(text)
    is_comment = prompt is not None and prompt[0].strip().startswith("#") and _CURL_BEHIND.search(text, 1)
    return text[prompt.end() :] if prompt and not is_comment else text


def _commands(reader: Reader) -> Iterator[Simple]:
    """Yield one command after the other; the reader stands behind what ended it."""
    simple = Simple()
    for token in reader.tokens():
        if isinstance(token, Word):
            simple.words.append(token)
        elif isinstance(token, Redirection):
            simple.redirections.append(token)
        elif "(" in token.text:
            _refuse_mark(token)
        else:
            if simple.words or simple.redirections:
                simple.ended_by = token.text
                yield simple
            simple = Simple()
    if simple.words or simple.redirections:
        yield simple


def _without_what_stands_before(simple: Simple, left_out: list[str]) -> list[Word]:
    """Return the words from the command's name on; what stands before the name of curl is left out."""
    words = simple.words
    while words and words[0].is_bare and words[0].text in _PROMPTS:
        words = words[1:]
    simple.words = words
    at = next((number for number, word in enumerate(words) if is_curl(word.text)), None)
    if at is None:
        return words
    before = [_shown_before(word) for word in words[:at]]
    if not all(before):
        return words
    left_out += [each for each in before if each != "-"]
    return words[at:]


def _shown_before(word: Word) -> str:
    """Return how a word that may stand before curl is shown; "-" for an option; empty: it may not."""
    assigned = ASSIGNMENT.fullmatch(word.text)
    if assigned is not None:
        return f"{assigned[1]}=…"
    return word.text if word.text in _BEFORE else "-" if word.text.startswith("-") else ""


def _check_decides_nothing(simple: Simple) -> None:
    name = next(iter(simple.texts), "")
    if name in _DECIDES:
        raise UsageError(
            f"--curl: {name} decides whether or how often curl runs, and nothing is executed",
            "give the command of curl alone",
        )


def _found(
    reader: Reader,
    simple: Simple,
    words: list[Word],
    before: Simple | None,
    variables: Variables,
    left_out: list[str],
) -> CommandLine:
    _check_names(words)
    of_line = ""
    if reader.has_blanks_behind:
        left_out.append("blanks behind a backslash")
    if simple.ended_by not in ("", "\n"):
        of_line = f"{simple.ended_by}{reader.text[reader.at :].partition(chr(10))[0]}\n"
        reader.skip_line()
    fed = before if before and before.ended_by in ("|", "|&") else None
    for each in simple.redirections:
        if each.how in (">", "1>", ">|", "2>", "&>") and each.target != "/dev/null":
            # The shell empties the file before curl reads it.
            variables.files.write(each.target, each.how, str)
    rest = of_line + reader.text[reader.at :]
    left_out += [f"{each.how}{each.target}" for each in simple.redirections if not is_input(each)]
    left_out += _shown_behind(rest)
    return CommandLine(
        words=tuple(word.text for word in words[1:]),
        stdin=shell_before.stdin(simple, fed, variables.files),
        left_out=tuple(left_out),
    )


def _check_names(words: list[Word]) -> None:
    """Refuse a word that stands for names of files. Raises UsageError."""
    pattern = next((word.text for word in words if word.is_pattern), None)
    if pattern is not None:
        raise UsageError(
            f"--curl: {pattern} outside quotes stands for the names of files in a shell",
            "put it into quotes, or write the names",
        )


def _shown_behind(rest: str) -> list[str]:
    """Return what follows the command, shortened to the name of what would run. Raises UsageError."""
    rest = _COMMENT_LINES.sub("", rest).strip().lstrip(')"').strip()
    if _CURL_BEHIND.search(rest):
        raise UsageError(
            "--curl: that is more than one command of curl",
            "give one of them; for several requests write --request-file FILE",
        )
    if rest.startswith("-"):
        raise UsageError(
            f"--curl: a line begins with {rest.split()[0]}, and the line before it ends the command",
            "end that line with a backslash",
        )
    mark = re.match(r"[|&;]+", rest)
    name = rest[mark.end() if mark else 0 :].split(maxsplit=1)[:1]
    shown = " ".join([*([mark[0]] if mark else []), *(_without_value(each) for each in name)])
    return [shown] if shown.strip("&;") else []


def _without_value(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}=…" if equals else word


def _refuse_mark(mark: EndOfCommand) -> NoReturn:
    raise UsageError(
        f"--curl: {mark.text} stands outside quotes, where a shell begins or ends a group of commands",
        "give one command, with its URL in quotes",
    )
