"""crumple map: of a request, of all cells, as JSON, and what cannot be asked."""

import json
import random
from pathlib import Path

import made_maps
import pytest
from command_line import Call, with_store
from crumple.results import json_schemas
from jsonschema import Draft202012Validator

REQUEST = ("--wait", "80ms", "--compute", "3ms", "--users", "500")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple map …` in a project that has a kept map and no run."""
    found = with_store(monkeypatch, capsys, tmp_path, "map")
    data = made_maps.data(made_maps.first_trials(random.Random(1)))
    Path("studies/wait-or-compute.json").write_text(data.model_dump_json())
    monkeypatch.setenv("COLUMNS", "130")
    return found


def test_a_request_is_answered(call: Call) -> None:
    code, out, err = call(*REQUEST)
    assert code == 0
    assert "Which I/O model serves best: 80 ms of waiting, 3 ms of computing, 500 users?" in out
    assert "For your requests: " in out
    assert "of another machine, as none is measured here: crumple run wait-or-compute" in err


def test_what_is_whole_is_so_as_a_float(call: Call) -> None:
    # 9 * 1e-3 * 1e9 / 1e6 is no whole number.
    assert call("--wait", "9ms", "--compute", "0us")[0] == 0


def test_without_a_request_the_map_is_shown(call: Call) -> None:
    code, out, _ = call()
    assert code == 0 and "500 users" in out and "event loop per core" in out
    assert "60 users" in call("--users", "100")[1]


def test_as_json_it_conforms_to_its_schema(call: Call) -> None:
    schema = Draft202012Validator(json_schemas.strict(json_schemas.schema("map")))
    whole, asked = json.loads(call("--json")[1]), json.loads(call(*REQUEST, "--json")[1])
    schema.validate(whole)
    schema.validate(asked)
    assert (len(whole["cells"]), len(asked["request"]["servers"])) == (144, 8)
    kept = json.loads(Path("studies/wait-or-compute.json").read_text())
    Draft202012Validator(json_schemas.strict(json_schemas.schema("kept-map"))).validate(kept)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--wait", "80ms"), "a request needs --wait and --compute"),
        (("--wait", "2s", "--compute", "0"), "the map reaches from 0 to 500 ms"),
        (("--wait", "0", "--compute", "60ms"), "the map reaches from 0 to 50 ms"),
        (("--wait", "0", "--compute", "0", "--users", "5000"), "the map reaches from 8 to 2,000 users"),
        (
            ("--wait", "400us", "--compute", "100us"),
            "--wait 400us: the map has whole ms; write --wait 0ms or",
        ),
        (("--wait", "80ms", "--compute", "0.0004ms"), "--compute 0.0004ms: the map has whole us"),
        (("no-such-run",), "there is no run no-such-run"),
        (("no-such.json",), "cannot read no-such.json"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(call: Call, flags: tuple[str, ...], said: str) -> None:
    code, out, err = call(*flags)
    assert code != 0 and out == ""
    assert said in err and len(err.splitlines()) == 1


def test_without_any_map_it_says_how_to_measure_one(call: Call) -> None:
    Path("studies/wait-or-compute.json").unlink()
    code, _, err = call()
    assert code != 0 and "crumple run wait-or-compute" in err
