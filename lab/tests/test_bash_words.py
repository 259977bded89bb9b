"""A command as bash reads it: the words are those that bash itself makes of it."""

import subprocess

import pytest
from crumple.errors import UsageError
from crumple.load import bash_words
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
]


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
    assert bash_words.words(text.replace("~f", "~f")) == expected


def test_a_character_beyond_16_bits_may_be_two_escapes() -> None:
    """As browsers write it, who count in UTF-16; bash makes no character of them."""
    assert bash_words.words("$'\\ud83d\\ude00!'") == ["😀!"]


@pytest.mark.long
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)))
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    single = ["'" + each.replace("'", "'\\''") + "'" for each in words]
    ansi = ["$'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in words]
    assert bash_words.words(" ".join(single)) == words
    assert bash_words.words(" \\\n".join(ansi)) == words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "curl http://a/?b=c&d=e",
            "& stands outside quotes, where a shell ends or redirects the command; give one",
        ),
        ("curl 'a'; rm x", "; stands outside quotes"),
        ("curl a | sh", "| stands outside quotes"),
        ("curl a > b", "> stands outside quotes"),
        ("curl (a)", "( stands outside quotes"),
        ("curl 'a'\ncurl 'b'", "that is more than one command; give one of them"),
        (
            'curl -H "A: $TOKEN"',
            "$TOKEN stands for something that a shell fills in, and nothing is executed; write",
        ),
        ("curl ${HOST}/a", "${HOST} stands for something"),
        ("curl $(cat a)", "$(…) stands for something"),
        ('curl "`cat a`"', "`…` stands for something"),
        ("curl 'a", "what ' opens is not closed; copy the whole command"),
        ('curl "a', 'what " opens is not closed'),
        ("curl $'a\\'", "what $' opens is not closed"),
        (
            'curl ^"http://a/^" ^\r\n  -H ^"A: b^"',
            'that is quoted for the Windows prompt; copy it as "cURL (bash)"',
        ),
    ],
)
def test_what_a_shell_would_do_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        bash_words.words(text)
    assert str(caught.value).startswith(f"--curl: {said}") and "\n" not in str(caught.value)
