"""Workloads: the request with its parameters, the exact answer, and the problems of wrong files."""

import hashlib
from pathlib import Path

import documents
import pytest
from crumple.errors import FileInvalid, UsageError
from crumple.subject import workload

ROOT = Path(__file__).parents[3]


def _written(folder: Path, text: str) -> Path:
    file = folder / "hello.toml"
    file.write_text(text)
    return file


def test_missing_parameters_have_their_defaults(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    assert hello.name == "hello"
    assert hello.request_with({}).path == "/hello?delay_ms=0"
    assert hello.request_with({"delay_ms": 100}).path == "/hello?delay_ms=100"
    assert hello.request_with({}).headers == (("Accept", "text/plain"),)


def test_a_value_cannot_change_the_path(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    assert hello.request_with({"delay_ms": "1&x=/"}).path == "/hello?delay_ms=1%26x%3D%2F"


def test_an_unknown_parameter_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    hello = workload.load(_written(tmp_path, documents.WORKLOAD_TOML))
    with pytest.raises(UsageError, match="did you mean delay_ms"):
        hello.request_with({"delay": 1})


def test_the_engine_gets_the_length_and_hash_of_the_answer(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("Hello, World!", "Grüße")
    expect = workload.load(_written(tmp_path, text)).request_with({}).expect
    assert expect.body_bytes == 7
    assert expect.body_sha256 == hashlib.sha256("Grüße".encode()).hexdigest()


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("default = 0", "defualt = 0").replace(
        "[answer]", "[answer]\nstatus = 20"
    )
    with pytest.raises(FileInvalid) as caught:
        workload.load(_written(tmp_path, text))
    keys = {problem.key for problem in caught.value.problems}
    assert keys == {"parameters.delay_ms.default", "parameters.delay_ms.defualt", "answer.status"}


def test_a_placeholder_must_be_a_parameter(tmp_path: Path) -> None:
    text = documents.WORKLOAD_TOML.replace("{delay_ms}", "{delay}")
    with pytest.raises(FileInvalid, match=r"\{delay\} is no parameter; did you mean delay_ms"):
        workload.load(_written(tmp_path, text))


MIX = (ROOT / "contract" / "workloads" / "mix.toml").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bytes": -1}, "workload mix takes no bytes=-1; write a whole number from 0 to 10000000"),
        ({"wait_ms": "60001"}, "workload mix takes no wait_ms=60001; write a whole number from 0 to 60000"),
        ({"spin_us": "1e3"}, "workload mix takes no spin_us=1e3; write a whole number from 0 to 10000000"),
        ({"spin_us": 0.5}, "workload mix takes no spin_us=0.5; write a whole number from 0 to 10000000"),
    ],
)
def test_a_value_out_of_range_is_reported_with_the_range(
    given: dict[str, int | float | str], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        workload.find(ROOT)["mix"].request_with(given)
    assert str(caught.value) == said


def test_an_unknown_choice_is_reported_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="workload file takes no fill=slow; write each or bulk"):
        workload.find(ROOT)["file"].answer_to({"fill": "slow"})


def test_a_computed_answer_follows_the_parameters() -> None:
    mix = workload.find(ROOT)["mix"]
    request = mix.request_with({"bytes": "27", "spin_us": 5})
    assert request.path == "/mix?wait_ms=0&spin_us=5&bytes=27"
    assert request.expect.body_bytes == 27 and request.expect.hash_one_in == workload.HASH_ONE_IN
    assert mix.answer_to({"bytes": "27"}).check(b"abcdefghijklmnopqrstuvwxyza") is None


def test_for_a_fresh_answer_the_engine_gets_only_the_length() -> None:
    expect = workload.find(ROOT)["file"].request_with({}).expect
    assert (expect.body_bytes, expect.body_sha256, expect.hash_one_in) == (108_000, None, 0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "answer: has no body; write one of body, computed and fresh"),
        ('body = "x"\ncomputed = "mix"', "answer: has body and computed; write one of"),
        ('computed = "magic"', "answer.computed: "),
        ("fresh = { bytes = 0, lowest = 65, highest = 121 }", "answer.fresh.bytes: "),
    ],
)
def test_an_answer_has_one_body(tmp_path: Path, answer: str, said: str) -> None:
    text = documents.WORKLOAD_TOML.replace('body = "Hello, World!"', answer)
    assert "Hello, World!" not in text
    with pytest.raises(FileInvalid) as caught:
        workload.load(_written(tmp_path, text))
    assert said in str(caught.value)


def test_a_default_out_of_range_is_reported(tmp_path: Path) -> None:
    text = MIX.replace("default = 13", "default = -13")
    with pytest.raises(
        FileInvalid, match=r"parameters\.bytes\.default: -13 is no value of it; write a whole"
    ):
        workload.load(_written(tmp_path, text))


def test_workloads_that_query_a_database_name_the_rows() -> None:
    asked = {name: each.database for name, each in workload.find(ROOT).items() if each.database}
    assert {name: (query.table, query.rows) for name, query in asked.items()} == {
        "options": ("wp_options", 50),
        "rows": ("books", 10),
    }


def test_the_projects_own_workloads_are_valid() -> None:
    for name, each in workload.find(ROOT).items():
        assert each.name == name and each.answer_to({}).length
