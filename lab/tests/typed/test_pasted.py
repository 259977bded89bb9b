"""What stands around a command of curl: it is left out and listed, or decides something and is refused."""

from pathlib import Path

import pytest
from crumple.errors import UsageError
from crumple.typed import pasted
from crumple.typed.bash_words import Variables
from crumple.typed.pasted import CommandLine


def read(text: str) -> CommandLine:
    """Return the command that is read with no environment."""
    return pasted.read(text, Variables())


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("curl a", ()),
        ("$ curl a", ()),
        ("% curl a", ()),
        ("# curl a", ()),
        ("me@host:~/x$ curl a", ()),
        ("[me@host ~]$ curl a", ()),
        (r"PS C:\Users\me> curl a", ()),
        ("# first this:\ncurl a   # then that\n# end", ()),
        ("# curl is a client\ncurl a", ()),
        ("curl a | jq '.[] | x' | less", ("| jq",)),
        ("curl a > b 2>&1 3<c", (">b", "2>&1", "3<c")),
        ("curl >b a 2>/dev/null | sh", (">b", "2>/dev/null", "| sh")),
        ("curl a && echo 'secret'", ("&& echo",)),
        ("curl a || SECRET=1 b", ("|| SECRET=…",)),
        ("curl a; echo", ("; echo",)),
        ("curl a &", ()),
        ("A=secret time -p curl a", ("A=…", "time")),
        ("cd x && curl a", ("cd &&",)),
        ("T=secret make x; curl a", ("make ;",)),
        ("T+=secret; T[0]=secret; curl a", ("T=… ;", "T=… ;")),
        ("set -e\ncurl a\n\necho done", ("set", "echo")),
        ("T=1; export U=2; curl a", ()),
        ("R=$(curl a | jq .x); echo $R", ("R=$(…)", "| jq")),
        ('echo "$(curl a)"', ("echo $(…)",)),
        ("curl a\n$(x) `y` 'z", ("$(x)",)),
        ("curl \\ \n a", ("blanks behind a backslash",)),
        ("curl ^\r\n a", ()),
        ("curl `\n a", ()),
    ],
)
def test_the_command_is_found_and_the_rest_is_listed_without_values(
    text: str, left_out: tuple[str, ...]
) -> None:
    found = read(text)
    assert (found.words, found.left_out) == (("a",), left_out)


@pytest.mark.parametrize(
    ("text", "stdin"),
    [
        ("curl a <<E\nb\nE\n", "b\n"),
        ("curl a <<E | x\nb\nE", "b\n"),
        ("curl a <<E &&\nb\nE\nx", "b\n"),
        ("curl a <<< b", "b\n"),
        ("echo b  c | curl a", "b c\n"),
        ("echo -n b | curl a", "b"),
        ("printf b | curl a", "b"),
        ("printf '%s' 'b\\n' | curl a", "b\\n"),
        ("cat file | curl a", "of the file"),
        ("curl a < file", "of the file"),
        ("curl < file a <<< c", "c\n"),
    ],
)
def test_stdin_is_what_stands_in_the_line_or_in_a_file(
    text: str, stdin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("of the file")
    assert read(text).stdin.read("-d @-") == stdin


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("curl a", "curl's -d @- reads stdin; write it to a file, and name that"),
        (
            "jq -n 1 | curl a",
            "curl's -d @- reads what jq writes, and nothing is executed; write it to a file",
        ),
        ("echo -e a | curl a", "curl's -d @- reads what echo writes"),
        ("printf 'a\\n' | curl a", "curl's -d @- reads what printf writes"),
        ("cat none | x | curl a", "curl's -d @- reads what x writes"),
        ("curl a < none", "cannot read none: No such file or directory; check the path"),
    ],
)
def test_stdin_that_is_not_known_is_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text).stdin.read("-d @-")
    assert str(caught.value).startswith(f"--curl: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            'a command of curl begins with curl, and this with "nothing"; copy the request as "cURL (bash)"',
        ),
        ("wget a", 'a command of curl begins with curl, and this with "wget"'),
        ("docker run x/curl a", 'a command of curl begins with curl, and this with "docker"'),
        ("curl a\ncurl b", "that is more than one command of curl; give one of them"),
        ("curl a && curl b", "that is more than one command of curl"),
        ("curl a | curl -d @- b", "that is more than one command of curl"),
        (
            "curl a\n -H b",
            "a line begins with -H, and the line before it ends the command; end that line with a",
        ),
        (
            "for i in 1 2; do curl a; done",
            "for decides whether or how often curl runs, and nothing is executed; give",
        ),
        ("if true; then curl a; fi", "if decides whether"),
        (
            "(curl a)",
            "( stands outside quotes, where a shell begins or ends a group of commands; give one command",
        ),
        ("curl a(b)", "( stands outside quotes"),
        ("curl -d @<(x) a", "<( stands outside quotes"),
        ('curl ^"http://a/^" ^\r\n  -H ^"A: b^"', "that is quoted for the Windows prompt; copy it as"),
    ],
)
def test_what_decides_which_requests_are_made_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert str(caught.value).startswith(f"--curl: {said}") and "\n" not in str(caught.value)


def test_a_variable_that_is_assigned_before_is_known() -> None:
    assert read('T=1 ; export U="b c"\ncurl "$T" $U').words == ("1", "b", "c")
    with pytest.raises(UsageError, match="T is a variable of the shell"):
        read('T=1 curl "$T"')


@pytest.mark.parametrize(
    "before",
    [
        "test -f x && T=2",
        "test -f x || T=2",
        "T=2 &",
        "T=2 | x",
        "T+=2",
        "unset T",
        "read -r T",
        "declare -i T=2",
    ],
)
def test_a_variable_that_a_command_may_set_is_refused_also_with_an_environment(before: str) -> None:
    text = f'T=1; {before}\ncurl "$T"'
    with pytest.raises(UsageError, match="T is set by a command before curl, and nothing is executed"):
        pasted.read(text, Variables({"T": "3"}.get))
    assert pasted.read(text.replace("curl", "T=4\ncurl"), Variables({"T": "3"}.get)).words == ("4",)


def test_a_file_of_variables_is_not_read_and_the_environment_is() -> None:
    assert pasted.read('T=1; source .env; curl "$T"', Variables({"T": "3"}.get)).words == ("3",)


def test_an_error_about_a_command_before_curl_does_not_show_what_is_assigned() -> None:
    stdin = read("T=secret make x; curl -d @file a").stdin
    with pytest.raises(UsageError, match=r"^--curl: make may write file before curl reads it"):
        stdin.files.read("file")
