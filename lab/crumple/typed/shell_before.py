"""A command that stands before curl → what it leaves behind for curl: variables, files, text on stdin.

Nothing is executed: of a few commands it is known what they write, and of a few more that they write no file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from crumple.errors import UsageError
from crumple.typed.bash_words import Redirection, Variables, Word
from crumple.typed.shell_files import Files

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
# Hides the value of NAME+=… and NAME[0]=….
_ASSIGNED = re.compile(r"(?<=\w)(?:\[.*\])?\+?=.*", re.DOTALL)
# They write no file but the one that a redirection names, and they stay in the folder.
_WRITE_NO_FILE = frozenset(
    (
        ":", "[", "cat", "cut", "date", "declare", "diff", "echo", "egrep", "export", "expr", "false", "grep",
        "head", "jq", "local", "ls", "mkdir", "printf", "pwd", "read", "readonly", "seq", "set", "shopt",
        "sleep", "stat", "tail", "test", "tr", "true", "type", "typeset", "ulimit", "uname", "unset", "wait",
        "wc", "which", "whoami",
    )
)  # fmt: skip
_GO_ELSEWHERE = frozenset(("cd", "pushd", "popd"))
# They give variables other values, in a way that only a shell follows.
_SET_ANY_VARIABLE = frozenset((".", "eval", "source"))
_SET_VARIABLES = frozenset(("declare", "let", "local", "mapfile", "read", "readonly", "typeset", "unset"))
_ASSIGNS_OTHERWISE = re.compile(r"\w+(\[.*\])?\+?=", re.DOTALL)
# They succeed, so what follows && is executed.
_SUCCEED = frozenset((":", "cat", "cd", "echo", "export", "mkdir", "printf", "set", "true"))
_STDOUT = frozenset((">", ">|", "1>", "1>|"))


@dataclass
class Simple:
    """One command, as far as it has been read."""

    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    ended_by: str = ""

    @property
    def texts(self) -> list[str]:
        """Return the texts of its words."""
        return [word.text for word in self.words]

    @property
    def name(self) -> str:
        """Return the name of what runs, or how it redirects where nothing does; never what is assigned."""
        named = [text for text in self.texts if not ASSIGNMENT.fullmatch(text)]
        if named:
            return _ASSIGNED.sub("=…", named[0])
        return "" if self.texts else next((each.how for each in self.redirections), "")


@dataclass
class Stdin:
    """What curl reads on stdin. `text` or `file`: it, or a file of it; `fed_by`: a command that writes it."""

    text: str | None = None
    file: str = ""
    fed_by: str = ""
    files: Files = field(default_factory=Files)
    _is_read: bool = False

    def read(self, option: str) -> str:
        """Return it. Raises UsageError if it is not known here, or has been read."""
        if self._is_read:
            raise UsageError(
                f"--curl: curl's {option} reads stdin, which another option has read", "keep one of them"
            )
        self._is_read = True
        if self.text is not None:
            return self.text
        if not self.file:
            source = f"what {self.fed_by} writes, and nothing is executed" if self.fed_by else "stdin"
            raise UsageError(f"--curl: curl's {option} reads {source}", "write it to a file, and name that")
        return self.files.read(self.file)


def stdin(simple: Simple, fed: Simple | None, files: Files) -> Stdin:
    """Return what curl reads: a redirection says it, or a command before it that writes what it was given."""
    inputs = [each for each in simple.redirections if is_input(each)]
    if inputs:
        last = inputs[-1]
        return Stdin(last.body, "" if last.body is not None else last.target, files=files)
    known = Stdin(fed_by=fed.name if fed else "", files=files)
    if fed is None or any(not is_input(each) for each in fed.redirections):
        return known
    match fed.texts:
        case ["cat", file] if not _is_option([file]) and not fed.words[1].is_pattern:
            return Stdin(file=file, files=files)
    known.text = _output(fed)
    return known


def is_input(redirection: Redirection) -> bool:
    """Return whether a redirection says what is read."""
    return redirection.how.lstrip("0").startswith("<")


def take(simple: Simple, before: Simple | None, variables: Variables, left_out: list[str]) -> None:
    """Take over what a command before curl leaves behind; the command is listed as left out."""
    _take_files(simple, before, variables.files)
    texts = simple.texts[1:] if simple.texts[:1] == ["export"] else simple.texts
    found = [ASSIGNMENT.fullmatch(text) for text in texts]
    is_certain = _is_executed(before) and simple.ended_by not in ("|", "|&", "&")
    if texts and all(found):
        for each in filter(None, found):
            variables.assign(each[1], each[2] if is_certain else None)
        return
    if simple.name in _SET_ANY_VARIABLE:
        variables.known.clear()
    if simple.name in _SET_VARIABLES or _ASSIGNS_OTHERWISE.match(texts[0] if texts else ""):
        for text in texts:
            variables.assign(re.split(r"[^\w]", text, maxsplit=1)[0], None)
    if texts:
        left_out.append(f"{simple.name} {simple.ended_by}".replace("\n", "").strip())


def _take_files(simple: Simple, before: Simple | None, files: Files) -> None:
    name = simple.name
    is_assignment = all(ASSIGNMENT.fullmatch(text) for text in simple.texts)
    if name in _GO_ELSEWHERE:
        files.move(name)
    elif not is_assignment and name not in _WRITE_NO_FILE:
        files.changed_by = name
    is_certain = simple.ended_by != "&" and _is_executed(before)
    for each in simple.redirections:
        if is_input(each) or each.target == "/dev/null" or re.search(r"&\Z", each.how):
            continue
        is_known = is_certain and each.how in _STDOUT and _writes_once(simple)
        files.write(each.target, name, partial(_output, simple) if is_known else _unknown)


def _is_executed(before: Simple | None) -> bool:
    """Return whether a command is executed for certain, by that which stands before it."""
    if before is None or before.ended_by in ("\n", ";", "&", "|", "|&"):
        return True
    succeeds = before.name in _SUCCEED or all(ASSIGNMENT.fullmatch(text) for text in before.texts)
    return before.ended_by == "&&" and succeeds


def _unknown() -> None:
    """Return that a text is not known."""


def _writes_once(simple: Simple) -> bool:
    return sum(not is_input(each) for each in simple.redirections) == 1


def _output(simple: Simple) -> str | None:
    """Return what a command writes; None: it is not known without executing it."""
    if any(word.is_pattern for word in simple.words):
        return None
    match simple.texts:
        case []:
            return ""
        case ["echo", "-n", *said] if not _is_option(said):
            return " ".join(said)
        case ["echo", *said] if not _is_option(said):
            return " ".join(said) + "\n"
        case ["printf", text] if not re.search(r"[\\%]|^-", text):
            return text
        case ["printf", "%s", text]:
            return text
        case ["printf", "%s\\n", text]:
            return f"{text}\n"
        case ["cat"] | ["cat", "-"]:
            inputs = [each for each in simple.redirections if is_input(each)]
            return inputs[-1].body if inputs else None
    return None


def _is_option(words: Sequence[str]) -> bool:
    return bool(words) and words[0].startswith("-")
