"""What `--try` changes of a server: slots of a command, its environment, and settings."""

import pytest
from crumple.diagnose import change
from crumple.errors import UsageError
from crumple.limit.remedy import Number

COMMAND = ("gunicorn", "-w", "{WORKERS=4}", "-b", ":{port}", "app:{APP=shop}")


def test_a_slot_has_its_own_value_unless_another_is_tried() -> None:
    assert change.fill(COMMAND, {}) == ("gunicorn", "-w", "4", "-b", ":{port}", "app:shop")
    assert change.fill(COMMAND, {"WORKERS": "8"})[2] == "8"


def test_a_name_that_is_no_slot_is_a_variable_of_the_environment() -> None:
    found = change.of_command(COMMAND, {"WORKERS": "8", "POOL": "20"}, {"POOL": "10"})
    assert found is not None
    assert found.says == "WORKERS=8 and POOL=20 in its environment"
    assert found.numbers == (Number("WORKERS", 4, 8), Number("POOL", 10, 20))
    assert change.environment(COMMAND, found) == {"POOL": "20"}


def test_a_variable_that_is_not_set_has_no_number_before() -> None:
    found = change.of_command(COMMAND, {"POOL": "20", "APP": "other"}, {})
    assert found is not None and found.numbers == (Number("POOL", None, 20),)


def test_the_secret_of_a_variable_is_not_said() -> None:
    found = change.of_command(COMMAND, {"API_TOKEN": "hunter2"}, {})
    assert found is not None and "hunter2" not in found.says and found.values["API_TOKEN"] == "hunter2"


def test_a_setting_is_compared_with_what_it_is() -> None:
    found = change.of_settings({"workers": "400"}, {"workers": 200, "pool": 10})
    assert found is not None and found.says == "workers=400"
    assert found.numbers == (Number("workers", 200, 400),)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["WORKERS"], "--try WORKERS: that changes nothing; write --try NAME=VALUE"),
        (["=8"], "--try =8: that changes nothing; write --try NAME=VALUE"),
        (["WORKERS=8", "WORKERS=9"], "--try WORKERS: it is given two values, and all --try are one change"),
        (["WORKERS=4"], "--try WORKERS=4: it has that value already; try another one"),
        (["WORKER=8"], "--try WORKER: the command has no such slot; did you mean WORKERS?"),
        (["my pool=8"], "--try my pool: that is neither a slot of the command nor the name of a variable"),
        (["PORT=80"], "--try PORT: the server is given its port in it; change another variable"),
    ],
)
def test_a_mistake_is_one_line(typed: list[str], line: str) -> None:
    with pytest.raises(UsageError) as mistake:
        change.of_command(COMMAND, change.read(typed), {})
    assert str(mistake.value).startswith(line)


def test_a_variable_that_is_set_may_be_called_nearly_as_a_slot() -> None:
    found = change.of_command(COMMAND, {"WORKER": "8"}, {"WORKER": "2"})
    assert found is not None and found.says == "WORKER=8 in its environment"


def test_nothing_is_changed_without_it() -> None:
    assert change.of_command(COMMAND, change.read(None), {}) is None
