"""The words of a command → its flags with their values, and its arguments, before these are read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from crumple.load import load_flags


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

    @property
    def arguments(self) -> list[str]:
        """All that is no flag."""
        return [*self.plain, *self.end]

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
        if self.has(name) and not is_list(of):
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


Take = Callable[[str, list[str], TypedCommand], bool]


def read(words: Sequence[str], kind: Any, take: Take = lambda word, rest, command: False) -> TypedCommand:
    """Return what was typed behind the name of a command. Flags that it does not have take no value.

    `take`: takes a flag, and its value from the rest, if it is one of another tool. Raises what that raises.
    """
    command = TypedCommand(by_name(kind))
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            command.end = [word, *rest]
            break
        if not is_flag(word):
            command.plain.append(word)
        elif not take(word, rest, command):
            _own(word, rest, command)
    return command


def _own(word: str, rest: list[str], command: TypedCommand) -> None:
    """Take a flag of crumple's own, with its value."""
    of = field_of(word, command.known)
    if of is None:
        command.given.append((word, None))
        return
    value = value_within(word, command.known)
    if takes_value(of) and value is None and rest:
        value = rest.pop(0)
    if value is not None and not takes_value(of):
        # Letters behind that of a flag without a value, or a value for it: what reads the words refuses it.
        command.given.append((word, None))
        return
    flag = word.partition("=")[0] if word.partition("=")[0] in command.known else word[:2]
    command.given.append((flag, value))


def is_flag(word: str) -> bool:
    """Return whether a word is a flag, and not an argument."""
    return word.startswith("-") and word != "-"


def field_of(word: str, known: Mapping[str, Field[Any]]) -> Field[Any] | None:
    """Return which flag a word is, alone, as a letter with its value or as --flag=value."""
    name = word.partition("=")[0]
    return known.get(word[:2] if _is_letter(word, known) else name)


def value_within(word: str, known: Mapping[str, Field[Any]]) -> str | None:
    """Return the value that a word of a flag holds; None: the next word is the value, if it takes one."""
    if _is_letter(word, known):
        return word[2:] or None
    _, equals, value = word.partition("=")
    return value if equals else None


def _is_letter(word: str, known: Mapping[str, Field[Any]]) -> bool:
    return word.partition("=")[0] not in known and not word.startswith("--")


def takes_value(of: Field[Any]) -> bool:
    """Return whether a flag is followed by a value."""
    return of.metadata["shown"]["metavar"] is not None


def by_name(kind: Any) -> dict[str, Field[Any]]:
    """Return the flags of a command by their names."""
    return {name: each for each in fields(kind) for name in load_flags.names(each)}


def is_list(of: Field[Any]) -> bool:
    """Return whether a flag may be repeated."""
    return "list[" in str(of.type)
