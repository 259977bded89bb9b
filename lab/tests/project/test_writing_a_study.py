"""docs/writing-a-study.md: its example is a study, and none of its servers grows while it is measured."""

import re
from pathlib import Path

import pytest
from crumple import project
from crumple.commands.project_files import Project
from crumple.study.study import Study

PAGE = (project.root() / "docs" / "writing-a-study.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path: Path) -> Study:
    """The first example of the page."""
    found = re.search(r"```toml\n(.*?)```", PAGE, re.S)
    assert found
    file = tmp_path / "example.toml"
    file.write_text(found[1], encoding="utf-8")
    return Project.here().study(str(file))


def test_the_example_is_a_study(example: Study) -> None:
    assert {name for each in example.experiments.values() for name in each.scales} == {"quick", "published"}


def test_all_workers_that_the_example_asks_for_are_there_from_the_start(example: Study) -> None:
    variants = {name for each in example.experiments.values() for name in each.servers if "[workers" in name}
    assert not variants, "Apache would still fork while it is measured"
    assert "php-apache[start_workers=256,workers=256]" in example.experiments["ramp"].servers
