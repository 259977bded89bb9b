"""What is not installed is said in one sentence with a line to type, before anything is measured."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path

import made_results
import pytest
import synthetic_load
from command_line import Call, caller
from crumple import extras, start
from crumple.documents import result
from crumple.drawing.numerals import NARROW
from crumple.errors import CrumpleError

LAB = Path(__file__).parents[2]
NEED = "need more than is installed here:"
# rich brings markdown_it itself.
WITH_EXTRAS = {module for each in extras.EXTRAS.values() for module in each.packages.values()} - {
    "markdown_it"
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Modules that are not found here, to be filled."""
    without: set[str] = set()
    find = importlib.util.find_spec

    def found(name: str) -> ModuleSpec | None:
        return None if name in without else find(name)

    monkeypatch.setattr(extras, "find_spec", found)
    return without


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((LAB / "pyproject.toml").read_text())["project"]
    stated = {
        name: sorted(each.partition(">")[0] for each in packages)
        for name, packages in project["optional-dependencies"].items()
    }
    assert stated == {name: sorted(extra.packages) for name, extra in extras.EXTRAS.items()}


@pytest.mark.parametrize(
    ("command", "without", "said"),
    [
        (("versus", "http://a:1/", "http://a:2/"), "numpy", f"versus and compare {NEED} numpy"),
        (("run", "todo-json"), "pymysql", f"servers and studies {NEED} pymysql"),
        (
            ("load", "http://localhost:1/", "--html", "a.html"),
            "jinja2",
            "a page (--html) needs more than is installed here: jinja2",
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_is_done(
    command: tuple[str, ...], without: str, said: str, absent: set[str], call: Call
) -> None:
    absent.add(without)
    code, out, err = call(*command)
    assert (code, out) == (1, "")
    package = said.rpartition(" ")[2]
    assert err == f"{said}; run: {sys.executable} -m pip install {package}\n" or "uv pip install" in err
    assert err.count("\n") == 1


def test_an_import_that_fails_later_is_said_too(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> int:
        raise ModuleNotFoundError("No module named 'numpy.typing'", name="numpy.typing")

    monkeypatch.setattr("crumple.commands.completion.show", fails)
    code, _, err = call("completion", "bash")
    assert code == 1 and err.startswith("versus and compare need more than is installed here: numpy; run: ")


def test_another_module_that_is_missing_is_a_bug(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> int:
        raise ModuleNotFoundError("No module named 'crumple.gone'", name="crumple.gone")

    monkeypatch.setattr("crumple.commands.completion.show", fails)
    with pytest.raises(ModuleNotFoundError):
        call("completion", "bash")


@pytest.mark.parametrize(
    ("mark", "pip", "line"),
    [
        ("pipx_metadata.json", True, "pipx inject crumple numpy"),
        ("none", True, "{0} -m pip install numpy"),
        ("none", False, "uv pip install --python {0} numpy"),
        ("../.bootstrap/venv/bin/uv", False, "{1}/.bootstrap/venv/bin/uv pip install --python {0} numpy"),
    ],
)
def test_the_line_is_that_of_the_installer(
    mark: str, pip: bool, line: str, absent: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / ".venv"
    prefix.mkdir()
    (prefix / mark).resolve().parent.mkdir(parents=True, exist_ok=True)
    (prefix / mark).resolve().touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    absent.add("numpy")
    if not pip:
        absent.add("pip")
    elif importlib.util.find_spec("pip") is None:
        monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "numpy" else object())
    with pytest.raises(CrumpleError) as refused:
        extras.check("versus", page=False)
    assert refused.value.remedy == f"run: {line.format(sys.executable, tmp_path)}"


@pytest.mark.parametrize(
    ("platform", "kernel", "said"),
    [
        ("linux", "5.11.0-rc1", ""),
        ("linux", "6.18.44-fc", ""),
        ("linux", "10.1", ""),
        ("linux", "unreadable", ""),
        ("linux", "5.10.0-30-amd64", "needs Linux 5.11 or later, and this kernel is 5.10.0-30-amd64"),
        ("linux", "4.18.0", "needs Linux 5.11 or later, and this kernel is 4.18.0"),
        ("darwin", "23.5.0", "needs Linux 5.11 or later, and this is darwin"),
    ],
)
def test_a_system_that_will_not_do_is_named_in_one_sentence(platform: str, kernel: str, said: str) -> None:
    why = start.unfit(platform, kernel)
    assert why.startswith(said) and bool(why) == bool(said) and "\n" not in why


def test_it_ends_at_once_on_such_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(sys, "argv", ["crumple", "load", "http://localhost/"])
    with pytest.raises(SystemExit, match=r"^crumple: needs Linux 5\.11 or later, and this is darwin;"):
        start.main()


@pytest.mark.starts
@pytest.mark.parallel
def test_stored_loads_are_listed_and_shown_without_the_packages_of_any_extra(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {sorted(WITH_EXTRAS)!r}:\n"
        "            raise ModuleNotFoundError(f'no {name}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from crumple.start import main; main()"
    )
    kept = {"CRUMPLE_RUNS": str(tmp_path), "COLUMNS": "100"}
    folder = tmp_path / "results"
    folder.mkdir()
    document = made_results.of_load(synthetic_load.closed(), name="a")
    (folder / "a.json").write_text(result.text(document))
    for arguments in (["list"], ["show", "a"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **kept},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "10,000 /s ok" in done.stdout.replace(NARROW, " ")
    # A load is exported as CSV without them, too.
    to = ["export", "a", "--to", str(tmp_path / "a.csv"), "--table", "trials"]
    done = subprocess.run(
        [sys.executable, "-c", code, *to],
        capture_output=True,
        text=True,
        env={**os.environ, **kept},
        check=False,
    )
    assert done.returncode == 0 and (tmp_path / "a.csv").read_text().count("\n") == 2, done.stderr
