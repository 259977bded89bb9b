"""A command as bash reads it: the words are those that bash itself makes of it."""

import subprocess

import pytest
from crumple.errors import UsageError
from crumple.typed.bash_words import Reader, Redirection, Variables, Word
from hypothesis import given
from hypothesis import strategies as st

# What browsers and people write, each as it would be pasted.
TEXTS = [
    "curl 'http://a/?b=c&d=e' -H 'A: b'",
    "curl 'http://a/' \\\n  -H 'A: b' \\\r\n  --compressed",
    "curl http://a/b\\ c d\\'e",
    'curl "a b" "c\\"d" "e\\\\f" "g\\h" "i!j" "k$" "l\\$m" "n\\`o" "p\\\nq"',
    "curl a'b'\"c\"$'d'e '' \"\"",
    "curl $'\\u0021 \\n \\t \\r \\' \\\" \\\\ \\a\\b\\e\\f\\v \\x41 \\101 \\cA \\z \\?'",
    "curl $'caf\\xc3\\xa9 caf\\u00e9 \\U0001f600' ä",
    'curl $"x y"',
    "curl a#b ?c=d *e ~f % 'it'\\''s'",
    "curl\t'a'\t  'b'  ",
    "curl a\\\nb {a} {} a{b}c ,{,",
]


def words(text: str, **known: str) -> list[str]:
    """Return the words of a command line that has nothing else."""
    tokens = list(Reader(text, Variables(None, known)).tokens())
    assert all(isinstance(each, Word) for each in tokens), tokens
    return [each.text for each in tokens if isinstance(each, Word)]


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("text", TEXTS)
def test_the_words_are_those_of_bash(text: str) -> None:
    # -f: no names of files are filled in; a tilde stands for a folder only alone or before a slash.
    told = subprocess.run(
        ["bash", "-fc", f'told() {{ printf "%s\\0" "$@"; }}; told {text.replace(chr(13), "")}'],
        capture_output=True, check=True, env={"LC_ALL": "C.UTF-8", "HOME": "/", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    expected = told.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    assert words(text) == expected


def test_a_character_beyond_16_bits_may_be_two_escapes() -> None:
    """As browsers write it, who count in UTF-16; bash makes no character of them."""
    assert words("$'\\ud83d\\ude00!'") == ["😀!"]


@pytest.mark.long
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)))
def test_what_is_quoted_comes_back(typed: list[str]) -> None:
    single = ["'" + each.replace("'", "'\\''") + "'" for each in typed]
    ansi = ["$'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in typed]
    assert words(" ".join(single)) == typed
    assert words(" \\\n".join(ansi)) == typed


def test_a_variable_outside_quotes_may_be_several_words_or_none() -> None:
    assert words('a $X b"$X"c ${X}d $Y "$Y"', X="1 2", Y="") == ["a", "1", "2", "b1 2c", "1", "2d", ""]


def test_blanks_and_a_comment_behind_a_backslash_do_not_end_the_line() -> None:
    assert words("a \\  \n b\\ \t\r\n c \\  # note\n d # e") == ["a", "b", "c", "d"]


def test_a_here_document_is_read_behind_its_line() -> None:
    text = "a <<E <<-'F' b\n$X\\$\\\nc\nE\n\t$X\n\tF\nd"
    tokens = list(Reader(text, Variables(None, {"X": "1"})).tokens())
    assert [each.body for each in tokens if isinstance(each, Redirection)] == ["1$c\n", "$X\n"]
    assert [each.text for each in tokens if isinstance(each, Word)] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'curl -H "A: $TOKEN"',
            "$TOKEN is a variable of the shell; export TOKEN and add --env, or write its value instead",
        ),
        ("curl ${HOST:-b}/a", "$HOST is a variable of the shell"),
        (
            "curl ${HOST%x}/a",
            "${HOST%x} stands for something that a shell fills in, and nothing is executed; write",
        ),
        ("curl $(x a)", "$(…) stands for something"),
        ("curl $1", "$1 stands for something"),
        ('curl "`cat a`"', "`…` stands for something"),
        (
            "curl {a,b} x{1..3}",
            "braces outside quotes stand for several words in a shell; put what has braces",
        ),
        ("curl 'a", "what ' opens is not closed; copy the whole command"),
        ('curl "a', 'what " opens is not closed'),
        ("curl $'a\\'", "what $' opens is not closed"),
        ("curl a >", "> lacks what stands behind it"),
    ],
)
def test_what_a_shell_would_do_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        words(text)
    assert str(caught.value).startswith(f"--curl: {said}") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$A ${A} \"$A\" '$A'", ["x", "x", "x", "$A"]),
        ("${A:-b} ${B-c} ${B:-'d'} ${C:-e} ${C-e}f", ["x", "c", "d", "e", "f"]),
    ],
)
def test_the_environment_fills_in_where_it_is_looked_at(text: str, filled: list[str]) -> None:
    variables = Variables({"A": "x", "C": ""}.get)
    assert [each.text for each in Reader(text, variables).tokens() if isinstance(each, Word)] == filled
    assert variables.filled >= {"x"} and variables.hidden("axb") == "a…b"
    with pytest.raises(UsageError, match="the variable D is not set; export D=…"):
        list(Reader("$D", variables).tokens())
