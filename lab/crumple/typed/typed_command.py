"""A command that may have flags of another load generator → the flags of crumple's own that it comes to.

This reads words; what a tool does by default is added in `like`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field
from typing import Any

from crumple.errors import UsageError
from crumple.habits import remedies
from crumple.habits.tool import Flag, Tool
from crumple.load import load_flags
from crumple.typed import saved_command


@dataclass
class TypedCommand:
    """A command without its name."""

    known: Mapping[str, Field[Any]]
    given: list[tuple[str, str | None]] = field(default_factory=list)
    """Flags of crumple's own, with their values."""
    typed: dict[str, str] = field(default_factory=dict)
    """Flags of the tool by their first name."""
    plain: list[str] = field(default_factory=list)
    """The arguments."""
    end: list[str] = field(default_factory=list)
    """The words from "--" on."""

    def has(self, *names: str) -> bool:
        """Return whether one of these flags was given."""
        return any(self._name(flag) in names for flag, _ in self.given)

    def value(self, name: str) -> str | None:
        """Return the last value of a flag; None: it was not given."""
        return next((value for flag, value in reversed(self.given) if self._name(flag) == name), None)

    def values(self, name: str) -> list[str]:
        """Return all values of a flag."""
        return [value or "" for flag, value in self.given if self._name(flag) == name]

    def put(self, name: str, value: str | None = None) -> None:
        """Give a flag a value instead of that which it has, or one more if it may be repeated."""
        of = next((each for each in self.known.values() if each.name == name), None)
        if of is None:
            return
        if self.has(name) and not saved_command.is_list(of):
            self.given = [(flag, value if self._name(flag) == name else own) for flag, own in self.given]
        else:
            self.given.append((self._shortest(of), value))

    def drop(self, name: str) -> None:
        """Take a flag back."""
        self.given = [each for each in self.given if self._name(each[0]) != name]

    def words(self) -> list[str]:
        """Return the command as words, with flags of crumple's own."""
        flags = [word for flag, value in self.given for word in _words(flag, value)]
        return [*self.plain, *flags, *self.end]

    def _name(self, flag: str) -> str:
        return self.known[flag].name if flag in self.known else ""

    @staticmethod
    def _shortest(of: Field[Any]) -> str:
        long, *others = load_flags.names(of)
        return next((name for name in others if len(name) == len("-x")), long)


def _words(flag: str, value: str | None) -> list[str]:
    """Return a flag and its value as words; a value that looks like a flag is joined to it."""
    if value is None:
        return [flag]
    if value.startswith("-"):
        return [f"{flag}={value}" if flag.startswith("--") else flag + value]
    return [flag, value]


def read(words: Sequence[str], kind: Any, tool: Tool | None) -> TypedCommand:
    """Return what was typed behind the name of a command. Raises UsageError.

    `tool`: whose flags mean what they mean there; None: all flags are crumple's.
    """
    command = TypedCommand(saved_command.by_name(kind))
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            command.end = [word, *rest]
            break
        if not saved_command.is_flag(word):
            command.plain.append(word)
        elif tool is None or not _take(word, rest, command, tool):
            _own(word, rest, command)
    return command


def _own(word: str, rest: list[str], command: TypedCommand) -> None:
    """Take a flag of crumple's own, with its value."""
    of = saved_command.field_of(word, command.known)
    if of is None:
        command.given.append((word, None))
        return
    value = saved_command.value_within(word, command.known)
    if saved_command.takes_value(of) and value is None and rest:
        value = rest.pop(0)
    flag = word.partition("=")[0] if word.partition("=")[0] in command.known else word[:2]
    command.given.append((flag, value))


def _take(word: str, rest: list[str], command: TypedCommand, tool: Tool) -> bool:
    """Take a flag of the tool with its value, or return False. Raises UsageError if it is refused."""
    if tool.grammar == "go":
        name, equals, value = word.partition("=")
        flag = tool.flag(f"-{name.lstrip('-')}")
        if flag is None:
            return False
        if flag.takes_value and not equals:
            value = _next(name, rest)
        elif not flag.takes_value and equals and value.lower() in ("false", "0", "f"):
            command.typed[flag.names[0]] = "false"
            return True
        _give(flag, name, value, command, tool)
        return True
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        flag = tool.flag(name)
        if flag is None:
            return False
        _give(flag, name, value if equals or not flag.takes_value else _next(name, rest), command, tool)
        return True
    return _take_letters(word, rest, command, tool)


def _take_letters(word: str, rest: list[str], command: TypedCommand, tool: Tool) -> bool:
    """Take letters behind one hyphen, of which the last may have a value."""
    letters = word[1:]
    while letters:
        name, letters = f"-{letters[0]}", letters[1:]
        flag = tool.flag(name)
        if flag is None:
            if len(letters) + len(name) == len(word):
                return False
            raise UsageError(f"{word}: {tool.name} has no {name}", "write each flag by itself")
        if not flag.takes_value:
            _give(flag, name, "", command, tool)
            continue
        _give(flag, name, letters.removeprefix("=") or _next(name, rest), command, tool)
        break
    return True


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{name} needs a value", "write it behind the flag")
    return rest.pop(0)


def _give(flag: Flag, name: str, value: str, command: TypedCommand, tool: Tool) -> None:
    if flag.gives is None:
        raise UsageError(f"--like {tool.name}: {name} cannot be taken over", remedies.of(flag))
    command.typed[flag.names[0]] = value
    words = list(flag.gives(value))
    while words:
        ours = words.pop(0)
        of = command.known[ours]
        taken = words.pop(0) if saved_command.takes_value(of) else None
        if not saved_command.is_list(of):
            command.drop(of.name)
        command.given.append((ours, taken))
