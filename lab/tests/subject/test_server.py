"""Reading server.toml into a ServerDescription, and reporting all its problems at once."""

from pathlib import Path

import pytest
import tiny_servers
from crumple.errors import FileInvalid
from crumple.subject import server_toml


def problems_of(folder: Path) -> dict[str, str]:
    """Key → the whole line of the problem."""
    with pytest.raises(FileInvalid) as invalid:
        server_toml.load(folder)
    return {problem.key: str(problem) for problem in invalid.value.problems}


def rewrite(folder: Path, old: str, new: str) -> None:
    file = folder / "server.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_description_has_everything_in_its_file(tmp_path):
    toml = '[build]\ncommand = [["true"]]\n[libraries]\nexpress = "5.1.0"\n'
    tiny = tiny_servers.described(tmp_path, toml=toml)
    assert (tiny.name, tiny.program, tiny.io_model) == ("tiny", "tiny", "thread-per-connection")
    assert tiny.build.command == (("true",),)
    assert tiny.libraries == {"express": "5.1.0"}
    assert tiny.start.command[-2:] == ("{port}", "{scratch}")
    with pytest.raises(ValueError, match="frozen"):
        tiny.title = "another"


def test_a_server_may_use_a_siblings_program(tmp_path):
    tiny_servers.write(tmp_path, "one")
    two = tiny_servers.write(tmp_path, "two")
    rewrite(two, 'title = "Tiny"', 'title = "Tiny"\nprogram = "one"')
    assert server_toml.load(two).program_folder == tmp_path / "servers" / "one"


def test_without_hello_nothing_checks_the_io_model(tmp_path):
    folder = tiny_servers.write(tmp_path, "tiny")
    assert server_toml.load(folder).model_is_checked
    rewrite(folder, 'workloads = ["hello"]', 'workloads = ["todos"]')
    assert not server_toml.load(folder).model_is_checked


def test_every_problem_is_reported_with_file_key_and_remedy(tmp_path):
    folder = tiny_servers.write(tmp_path, "tiny", toml="[settings.workers]\ndefault = 4\n")
    rewrite(folder, 'io_model = "thread-per-connection"', 'io_model = "magic"\ntitel = "x"\nname = "x"')
    rewrite(folder, "version = 'Python (\\d+\\.\\d+)'", "version = 'Python (\\d+'")
    rewrite(folder, 'workloads = ["hello"]', "workloads = []")
    found = problems_of(folder)
    assert set(found) == {
        "io_model",
        "titel",
        "name",
        "requires.python.version",
        "workloads",
        "settings.workers.meaning",
    }
    assert found["titel"].endswith("did you mean title?")
    assert all(str(folder / "server.toml") in line and ";" in line for line in found.values())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"{port}"', '"80"', "pass {port}"),
        ('"{scratch}"', '"{workers}"', "describe it under [settings.workers]"),
        ("Python (\\d+\\.\\d+)", "Python \\d+", "one group"),
        ('title = "Tiny"', 'title = "Tiny"\nprogram = "gone"', "no folder gone"),
        ('title = "Tiny"', "title = Tiny", "is not TOML"),
    ],
)
def test_invalid_descriptions_are_refused(tmp_path, old, new, said):
    folder = tiny_servers.write(tmp_path, "tiny")
    rewrite(folder, old, new)
    assert any(said in line for line in problems_of(folder).values())


def test_a_setting_nothing_uses_is_refused(tmp_path):
    folder = tiny_servers.write(
        tmp_path, "tiny", toml='[settings.workers]\ndefault = 4\nmeaning = "workers"\n'
    )
    assert "has no effect" in next(iter(problems_of(folder).values()))


def test_a_folder_without_server_toml_is_reported(tmp_path):
    assert "does not exist" in problems_of(tmp_path)[""]


def test_a_build_may_only_use_required_tools(tmp_path):
    folder = tiny_servers.write(tmp_path, "tiny", toml='[build]\ncommand = [["{python}", "{node}"]]\n')
    assert "[build] says {node}, which is no requirement" in problems_of(folder)[""]


@pytest.mark.parametrize("name", ["port", "python"])
def test_a_setting_that_shares_its_name_is_refused(tmp_path, name):
    toml = f'env = {{ A = "{{{name}}}" }}\n[settings.{name}]\ndefault = 4\nmeaning = "x"\n'
    folder = tiny_servers.write(tmp_path, "tiny", toml=toml)
    assert f"rename [settings.{name}]" in problems_of(folder)[""]
