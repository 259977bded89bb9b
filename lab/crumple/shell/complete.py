"""What may be typed next: the words of a command line → candidates, a line each, as a shell asks at each Tab.

It imports neither typer nor what the commands need, as a Tab is to be answered within a tenth of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from crumple.shell import values
from crumple.shell.described import Argument, Command, Described, Option
from crumple.shell.values import FILES

# What is offered, and what it means.
Candidate = tuple[str, str]
# Letters of a meaning beside a candidate; a longer one is cut.
MEANING_MAX = 70


def main(described: Described, arguments: Sequence[str]) -> int:
    """Print the candidates. `arguments`: the shell's name, then the words after `crumple` up to the cursor.

    The last of the words is the one that is being typed; it may be empty.
    """
    shell, *words = arguments or ["bash"]
    offered = candidates(described, joined(words or [""]))
    cut = _begun_before(words) if shell == "bash" else ""
    for candidate in offered:
        # A name from the disk may hold what controls a terminal. Not `commands.output`, which imports rich.
        if candidate[0].isprintable():
            print(_line(shell, candidate, cut))
    return 0


def candidates(described: Described, words: Sequence[str]) -> list[Candidate]:
    """Return what the last word may become; FILES: files as well."""
    *before, typed = words
    at = next((place for place, word in enumerate(before) if not word.startswith("-")), None)
    if at is None:
        if typed.startswith("-"):
            return _options(described["top"], before, typed)
        named = ((name, command["said"][0]) for name, command in described["commands"].items())
        return [each for each in named if each[0].startswith(typed)]
    command = described["commands"].get(before[at])
    if command is None:
        return []
    if "--" in before[at:]:
        return [(FILES, "")]
    return _of_command(described, command, before[at + 1 :], typed)


def joined(words: Sequence[str]) -> list[str]:
    """Return the words with "--scale", "=", "quick" as one, as bash takes them apart."""
    whole: list[str] = []
    for word in words:
        follows = whole and whole[-1].startswith("--")
        if (follows and word == "=" and "=" not in whole[-1]) or (follows and whole[-1].endswith("=")):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def _begun_before(words: Sequence[str]) -> str:
    """Return what bash holds for another word than the one that is being typed: "--scale=" """
    whole = joined(words)[-1] if words else ""
    own = words[-1] if words and words[-1] != "=" else ""
    return whole[: len(whole) - len(own)]


@dataclass(frozen=True)
class _Read:
    """What stands before the word: how many arguments, and the option whose value comes next."""

    arguments: int
    waiting: Option | None


def _read(command: Command, before: Sequence[str]) -> _Read:
    arguments, waiting = 0, None
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-") and len(word) > 1:
            option = _named(command, word)
            waiting = option if option is not None and option["metavar"] and "=" not in word else None
        else:
            arguments += 1
    return _Read(arguments, waiting)


def _of_command(described: Described, command: Command, before: Sequence[str], typed: str) -> list[Candidate]:
    read = _read(command, before)
    if read.waiting is not None:
        return _values(described, read.waiting, typed)
    name, is_value, value = typed.partition("=")
    if is_value and name.startswith("--"):
        option = _named(command, name)
        if option is None:
            return []
        return [(_after(f"{name}=", word), said) for word, said in _values(described, option, value)]
    if typed.startswith("-"):
        return _options(command, before, typed)
    taken = command["arguments"]
    if not taken or (read.arguments >= len(taken) and not taken[-1]["many"]):
        return _options(command, before, typed) if not typed else []
    return _values(described, taken[min(read.arguments, len(taken) - 1)], typed)


def _after(name: str, word: str) -> str:
    return word if word == FILES else f"{name}{word}"


def _named(command: Command, word: str) -> Option | None:
    name = word.partition("=")[0]
    return next((option for option in command["options"] if name in option["names"]), None)


def _options(command: Command, before: Sequence[str], typed: str) -> list[Candidate]:
    """Return the options that begin so, by their long names, without those that are given already."""
    given = {id(option) for word in before if (option := _named(command, word)) and not option["many"]}
    return [
        (name, option["help"])
        for option in command["options"]
        if id(option) not in given
        for name in option["names"]
        if name.startswith(typed) and (name.startswith("--") or len(typed) == len(name))
    ]


def _values(described: Described, of: Option | Argument, typed: str) -> list[Candidate]:
    # Only the last name of a list is being typed.
    done, comma, last = typed.rpartition(",") if of["metavar"] == "A,B" else ("", "", typed)
    known = of["among"] or values.named(of["metavar"], described)
    return [(each if each == FILES else f"{done}{comma}{each}", "") for each in known if _fits(each, last)]


def _fits(word: str, typed: str) -> bool:
    return word == FILES or word.startswith(typed)


def _line(shell: str, candidate: Candidate, cut: str) -> str:
    word, said = candidate
    if word == FILES or shell == "bash":
        return word.removeprefix(cut)
    if shell == "zsh":
        # A colon ends the word there.
        word = word.replace(":", "\\:")
    meaning = _short(said)
    between = ":" if shell == "zsh" else "\t"
    return f"{word}{between}{meaning}" if meaning else word


def _short(said: str) -> str:
    """Return the first sentence, or its beginning."""
    first = said.partition(". ")[0].removesuffix(".")
    return first if len(first) <= MEANING_MAX else f"{first[: MEANING_MAX - 1].rstrip()}…"
