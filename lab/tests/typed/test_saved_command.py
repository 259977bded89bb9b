"""--save writes a command that can be repeated: with the same flags, and without its secrets."""

import dataclasses
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller
from crumple import cli
from crumple.commands import diagnose, find, load, saving, versus
from crumple.errors import UsageError
from crumple.load.load_flags import LoadFlags
from crumple.typed import typed_command
from crumple.typed.saved_command import NOT_SAVED, expand
from crumple.typed.saved_file import SavedFile
from crumple.typed.typed_command import is_list, takes_value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

URL = "http://127.0.0.1:8080/"
# Their callbacks change the environment.
COLOURS = ("color", "no_color")
# The one always holds a secret; the other holds one as far as is known if its quotes are not closed.
SECRETS = ("basic_auth", "from_")
# No word made of these is a secret.
TEXT = st.text("ab =:/${}'\"\\\n\té-.,;#[]", max_size=12)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The flags, and the arguments as they were typed, that commands are called with."""
    called: list[Any] = []

    def note(_: Any, flags: Any) -> int:
        called.append((flags, typed_command.read(sys.argv[2:], type(flags)).arguments))
        return 0

    monkeypatch.chdir(tmp_path)
    for module, name in (
        (load, "put_on"),
        (find, "breaking_point"),
        (diagnose, "server"),
        (versus, "versions"),
    ):
        monkeypatch.setattr(module, name, note)
    return called


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def value(of: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    kind = str(of.type)
    if not takes_value(of):
        return st.just(True)
    if is_list(of):
        return st.lists(TEXT, min_size=1, max_size=3)
    if "int" in kind:
        return st.integers(-5, 10**12)
    return TEXT.map(Path) if "Path" in kind else TEXT


@st.composite
def commands(draw: st.DrawFn) -> tuple[str, Any, list[str]]:
    verb = draw(st.sampled_from(sorted(cli.SAVED)))
    kind = cli.saved_kinds(verb)[verb]
    known = {
        each.name: each
        for each in dataclasses.fields(kind)
        if each.name not in (*NOT_SAVED, *COLOURS, *SECRETS)
    }
    chosen = draw(st.lists(st.sampled_from(sorted(known)), unique=True, max_size=8))
    flags = kind(**{name: draw(value(known[name])) for name in chosen})
    arguments = [draw(st.sampled_from([URL, "go-nethttp", "./mine@main"]))]
    if verb in ("diagnose", "versus"):
        arguments += draw(st.sampled_from([[], ["--", "./old", "--port", "{port}", "--", "-c"]]))
    return verb, flags, arguments


@pytest.mark.long
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commands())
def test_what_was_saved_is_repeated_with_the_same_flags(
    seen: list[Any], call: Call, tmp_path: Path, command: tuple[str, Any, list[str]]
) -> None:
    verb, flags, arguments = command
    file = tmp_path / "saved.toml"
    written = SavedFile(verb, arguments, flags)
    file.write_text(written.text(file), encoding="utf-8")
    assert written.variables == {}
    assert call(verb, str(file))[0] == 0
    assert seen.pop() == (flags, arguments)


def saved(file: Path, text: str) -> str:
    file.write_text(f'command = "load"\narguments = ["{URL}"]\n{text}', encoding="utf-8")
    return str(file)


def test_flags_and_arguments_typed_beside_the_file_win(seen: list[Any], call: Call, tmp_path: Path) -> None:
    file = saved(tmp_path / "a.toml", 'rate = 50\nduration = "5s"\nheader = ["A: 1"]\nquiet = true\n')
    assert call("load", "-z7s", file, "-H", "B: 2", "http://127.0.0.1:9090/")[0] == 0
    flags, arguments = seen.pop()
    assert arguments == ["http://127.0.0.1:9090/"]
    assert (flags.rate, flags.duration, flags.header, flags.quiet) == ("50", "7s", ["B: 2"], True)
    call("load", "--rate", "9", file)
    assert (seen[0][0].rate, seen[0][0].duration, seen[0][1]) == ("9", "5s", [URL])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("conections = 5", "conections: unknown key; did you mean connections?"),
        ('save = "b.toml"', "save: unknown key; known: "),
        ("quiet = 1", "quiet: is neither true nor false; write true, or leave it out"),
        ("rate = true", "rate: is neither text nor a number; write it as behind --rate, in quotes"),
        ('header = "A: 1"', 'header: is no list of texts; write ["…", "…"]'),
        ('rate = "${CRUMPLE_NOT_SET}"', "rate: needs the variable CRUMPLE_NOT_SET, which is not set; export"),
        ("rate = ", "is not TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_a_line(text: str, said: str, call: Call, tmp_path: Path) -> None:
    file = saved(tmp_path / "a.toml", text)
    code, out, err = call("load", file)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert said.partition(";")[0] in err


def test_all_that_is_wrong_is_said_at_once(call: Call, tmp_path: Path) -> None:
    assert call("load", saved(tmp_path / "a.toml", "a = 1\nb = 2\nquiet = 3"))[2].count("\n") == 3


def test_a_file_of_another_command_or_of_none_is_refused(seen: list[Any], call: Call, tmp_path: Path) -> None:
    saved(tmp_path / "a.toml", "warm-up = '2s'")
    code, _, err = call("find", "a.toml")
    assert (code, err) == (2, 'a.toml: command: is "load"; repeat it with crumple load a.toml\n')
    (tmp_path / "b.toml").write_text("[[requests]]\npath = '/'\n")
    assert call("load", "b.toml")[2] == 'b.toml: command: is missing; add command = "load" at the top\n'
    assert call("load", "none.toml")[2] == "none.toml: does not exist; check the path\n"
    assert seen == []


def test_what_only_ends_like_a_file_is_a_url(seen: list[Any], call: Call) -> None:
    for url in ("http://127.0.0.1/a.toml", "127.0.0.1:80/a.toml"):
        call("load", url)
        assert seen.pop()[1] == [url]


def test_secrets_are_variables_and_no_part_of_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flags = LoadFlags(
        header=["Authorization: Bearer abc123", "Accept: text/html", "X-Api-Key: verysecret"],
        basic_auth="me:hunter2",
        proxy="http://you:pass9@localhost:3128",
        proxy_header=["Proxy-Authorization: Basic zzz9"],
        key="client.key",
        body="price=${5}",
    )
    url = "http://127.0.0.1:8080/a?access_token=t0k3n&b=1"
    written = SavedFile("load", [url], flags)
    file = tmp_path / "a.toml"
    file.write_text(written.text(file))
    text = file.read_text()
    for secret in ("abc123", "verysecret", "hunter2", "pass9", "zzz9", "t0k3n"):
        assert secret not in text
    assert tomllib.loads(text)["header"][0] == "Authorization: ${CRUMPLE_AUTHORIZATION}"
    values = {
        "CRUMPLE_AUTHORIZATION": "Bearer abc123",
        "CRUMPLE_X_API_KEY": "verysecret",
        "CRUMPLE_BASIC_AUTH": "hunter2",
        "CRUMPLE_PROXY": "you:pass9",
        "CRUMPLE_PROXY_AUTHORIZATION": "Basic zzz9",
        "CRUMPLE_URL": "t0k3n",
    }
    assert set(written.variables) == set(values)
    for name, said in values.items():
        monkeypatch.setenv(name, said)
    words = expand(["load", str(file)], cli.saved_kinds("load"))
    assert words[-1] == url
    assert {"--header=Authorization: Bearer abc123", "--basic-auth=me:hunter2", "--key=client.key"} < {*words}
    assert {"--proxy=http://you:pass9@localhost:3128", "--body=price=${5}"} < {*words}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            LoadFlags(body='{"password": "hunter2"}'),
            "the body holds a secret (password), which the file must",
        ),
        (LoadFlags(form=["a=b", "token=hunter2"]), "the field token holds a secret, which the file must not"),
        (LoadFlags(header=["Authorization: a…b"]), "Authorization holds a secret beside …"),
        (LoadFlags(body="\udc80"), "a flag is not UTF-8"),
    ],
)
def test_what_cannot_be_saved_is_refused_in_a_sentence(flags: LoadFlags, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        SavedFile("load", [URL], flags)
    assert str(refused.value).startswith(f"--save: {said}") and "hunter2" not in str(refused.value)


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    there = tmp_path / "load.toml"
    there.write_text("# edited")
    with pytest.raises(UsageError, match="there is such a file already; name another file, or remove it"):
        saving.save("load", LoadFlags(save=there), [URL])
    assert there.read_text() == "# edited"


def test_a_file_that_could_not_be_repeated_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"x\.json: it keeps the command, as TOML; name it .*/x\.toml, or keep"
    ):
        saving.save("load", LoadFlags(save=tmp_path / "x.json"), [URL])
    assert not [*tmp_path.iterdir()]


def test_the_file_is_readable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crumple", "load", URL, "-c", "20", "--save", "load.toml"])
    saving.save("load", LoadFlags(connections=20, header=["Accept: text/html"], save=Path("load.toml")))
    assert (tmp_path / "load.toml").read_text() == (
        "# crumple load load.toml repeats this. Flags typed beside the file win.\n"
        'command = "load"\n'
        'arguments = ["http://127.0.0.1:8080/"]\n'
        "\n"
        "# Load\n"
        "connections = 20\n"
        "\n"
        "# Request\n"
        'header = ["Accept: text/html"]\n'
    )


def test_words_are_read_as_the_command_line_reads_them() -> None:
    words = ["-c", "5", "-c7", "--rate=3", "a", "--quiet", "b", "-disable-keepalive", "c", "--", "-c", "x"]
    found = typed_command.read(words, LoadFlags)
    assert found.plain == ["a", "b", "c"] and found.end == ["--", "-c", "x"]
    assert {found.known[flag].name for flag, _ in found.given} == {
        "connections",
        "rate",
        "quiet",
        "disable_keepalive",
    }
