"""Names of functions as a screen has room for them. Pure.

Template arguments, parameters, hashes and most of a path say little of what a function does.
"""

import re

# How many parts at the end of a path a short name keeps, and the most characters that it has: half a line.
PARTS, CHARS_MAX = 2, 60
# The hash that the compiler of Rust adds.
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_OPERATOR = re.compile(r"operator(<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\))")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|\{anonymous\}::")
# "<server::Cart as core::fmt::Display>::fmt": the type, and what it implements.
_IMPLEMENTS = re.compile(r"^<(.*)>(::.*)$")


def short(name: str) -> str:
    """Return the name without template arguments, parameters and hashes, and with the end of its path."""
    plain = _ANONYMOUS.sub("", _RUST_HASH.sub("", name))
    if _OPERATOR.search(plain) is None:
        found = _IMPLEMENTS.match(plain)
        if found is not None and _closes_at_end(found[1]):
            plain = f"{_of_type(found[1])}{found[2]}"
        plain = _without(plain, "<", ">")
        # Go writes a receiver as "(*Server)", after a dot.
        if "::" in plain or "/" not in plain:
            plain = _without_parameters(plain)
    # The path of a package of Go.
    if "/" in plain and "::" not in plain and " " not in plain:
        plain = plain.rsplit("/", 1)[1]
    parts = [each for each in plain.split("::") if each]
    plain = "::".join(parts[-PARTS:]) or name
    return plain if len(plain) <= CHARS_MAX else f"{plain[: CHARS_MAX - 1]}…"


def _of_type(words: str) -> str:
    """The type of "TYPE as TRAIT", without its arguments."""
    depth = 0
    for at, each in enumerate(words):
        depth += (each == "<") - (each == ">" and words[at - 1 : at] != "-")
        if not depth and words.startswith(" as ", at):
            return words[:at]
    return words


def _closes_at_end(words: str) -> bool:
    """Whether no bracket of these words closes one that was opened before them."""
    depth = 0
    for at, each in enumerate(words):
        depth += (each == "<") - (each == ">" and words[at - 1 : at] != "-")
        if depth < 0:
            return False
    return not depth


def _without(name: str, opens: str, closes: str) -> str:
    """The name without what is in such brackets; as it is if one closes that was not opened.

    One that is not closed begins what the record had no room for.
    """
    kept, depth = [], 0
    for at, each in enumerate(name):
        is_arrow = each == ">" and name[at - 1 : at] == "-"
        if each == opens:
            depth += 1
        elif each == closes and not is_arrow:
            depth -= 1
            if depth < 0:
                return name
        elif not depth:
            kept.append(each)
    return "".join(kept)


def _without_parameters(name: str) -> str:
    """The name without the parameters of C++, as in "Parser::next(char const*) const"."""
    at = name.find("(")
    return name[:at] if at > 0 and name[at - 1] != "." else name
