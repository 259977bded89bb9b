"""A command line without a command: a URL is loaded, a saved file is repeated, all else is a mistake."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller
from crumple import cli
from crumple.commands import load
from crumple.commands.left_out import is_url, with_verb
from crumple.errors import UsageError
from crumple.load.load_flags import LoadFlags

COMMANDS = cli.COMMANDS


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "word",
    [
        "http://localhost:8080/",
        "HTTPS://example.org",
        "ftp://example.org",
        "localhost",
        "localhost/orders?a=1",
        "localhost:8080",
        "shop:8080/orders",
        ":8080",
        ":8080/orders",
        "127.0.0.1",
        "127.0.0.1:8080/",
        "[::1]:8080/",
        "[::1]",
        "[fe80::1%eth0]:8080",
        "example.org",
        "example.org/a/b",
        "my_service.local?x",
        "container:shop-api",
        "container:shop-api/orders?a=1",
        "container:shop-api:8000/orders",
        "container:",
    ],
)
def test_a_word_that_can_only_be_a_url_is_loaded(word: str) -> None:
    assert is_url(word)
    assert with_verb([word, "-c", "5"], COMMANDS) == ["load", word, "-c", "5", "--first-look"]


@pytest.mark.parametrize(
    "word", ["load", "orders", "/orders", "./server", "a/b", "", "-", "..", "shop:", "a:b"]
)
def test_other_words_are_no_urls(word: str) -> None:
    assert not is_url(word)


def test_the_name_of_a_file_is_no_url() -> None:
    assert is_url("shop.har")
    Path("shop.har").touch()
    assert not is_url("shop.har")
    with pytest.raises(UsageError, match=r"there is no command shop\.har"):
        with_verb(["shop.har"], COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "200", "-c", "50", "http://localhost:8080/"],
        ["--json", "localhost:8080"],
        ["-H", "Host: localhost", ":8080", "--debug"],
    ],
)
def test_flags_may_stand_before_the_url(words: list[str]) -> None:
    assert with_verb(words, COMMANDS) == ["load", *words, "--first-look"]


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["-V"], ["-c", "5"], ["-x", "localhost:3128"]])
def test_without_a_url_flags_stay_those_of_crumple(words: list[str]) -> None:
    assert with_verb(words, COMMANDS) == words


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_stays_as_it_is(command: str) -> None:
    assert with_verb([command, "localhost:8080"], COMMANDS) == [command, "localhost:8080"]


def test_a_saved_file_says_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(load, "put_on", lambda url, flags: seen.append((url, flags)) or 0)
    call = caller(monkeypatch, capsys)
    Path("shop.toml").write_text('command = "load"\narguments = [":8080"]\nconnections = 20\n')
    assert call("shop.toml", "-z", "5s") == (0, "", "")
    assert call("localhost:8080", "-c", "3") == (0, "", "")
    assert seen == [
        (":8080", LoadFlags(connections=20, duration="5s")),
        ("localhost:8080", LoadFlags(connections=3, first_look=True)),
    ]
    for text in ("", 'command = "frob"\n'):
        Path("shop.toml").write_text(text)
        said = 'shop.toml names no command; add command = "load", for instance\n'
        assert call("shop.toml") == (2, "", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laod", "localhost"), "there is no command laod; did you mean load?"),
        (("versu",), "there is no command versu; did you mean versus or servers?"),
        (("frob",), "there is no command frob; see: crumple --help"),
        (("-c", "5"), "No such option: -c; see: crumple --help"),
    ],
)
def test_a_mistake_names_the_nearest_commands(call: Call, words: tuple[str, ...], said: str) -> None:
    assert call(*words) == (2, "", f"{said}\n")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)
