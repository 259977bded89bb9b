"""A fixture for `conftest`: tests use the builds in the user's cache, and add nothing to it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from crumple import project

# Tools that build servers have their downloads in the user's cache, too, and may keep using them.
KEPT_BY_TOOLS = {"UV_CACHE_DIR": "uv", "GOCACHE": "go-build", "PIP_CACHE_DIR": "pip"}
SERVERS = {path.name for path in (Path(__file__).parents[3] / "servers").iterdir()}
# Each folder in these is complete, named by its content, and only read after it was made.
REUSED = ("servers", "database")


@pytest.fixture(scope="session", autouse=True)
def users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary cache folder for all tests, with links to the builds that exist in the user's."""
    users = project.cache()
    before = _made_up(users)
    own = tmp_path_factory.mktemp("cache")
    _lead_to(users, own / "crumple")
    with pytest.MonkeyPatch.context() as patch:
        for variable, name in KEPT_BY_TOOLS.items():
            patch.setenv(variable, os.environ.get(variable, str(users.parent / name)))
        patch.setenv("XDG_CACHE_HOME", str(own))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield users
    left = sorted(_made_up(users) - before)
    assert not left, f"tests left {', '.join(left)} in {users}; keep XDG_CACHE_HOME as `users_cache` sets it"


def _made_up(cache: Path) -> set[str]:
    """Builds of servers that are not the project's; those of its own servers the user may be adding now."""
    return {
        str(path.relative_to(cache))
        for path in (cache / "servers").glob("*")
        # What is unfinished, or locks a build, has more after a dot: node-http-0123.building-x.
        if path.name.partition(".")[0].rpartition("-")[0] not in SERVERS
    }


def _lead_to(cache: Path, own: Path) -> None:
    for kind in REUSED:
        (own / kind).mkdir(parents=True)
        for there in (cache / kind).glob("*"):
            # Skip unfinished builds: they have a dot in the name, finished ones have none.
            if there.is_dir() and "." not in there.name:
                (own / kind / there.name).symlink_to(there)
