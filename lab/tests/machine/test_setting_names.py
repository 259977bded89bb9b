"""The names of settings: what each program calls its number of workers, and what it is now."""

import os
import re
from pathlib import Path
from typing import get_args

import pytest
from crumple.limit.finding import Cause
from crumple.machine import setting_names
from crumple.machine.setting_names import ProgramCall, Setting


def of(words: str, cause: str, folder: Path = Path("/nowhere")) -> Setting:
    return next(each for each in setting_names.of_process(ProgramCall(words, folder)) if each.cause == cause)


def test_each_entry_names_a_cause_and_has_patterns_that_compile() -> None:
    for entry in setting_names.entries():
        assert entry["cause"] in get_args(Cause) and "{n}" in entry["write"]
        assert "{" not in entry.get("where", "")
        for name in ("matches", "now", "each", "file"):
            assert re.compile(entry.get(name, "")) is not None


@pytest.mark.parametrize(
    ("words", "cause", "now", "written"),
    [
        ("/usr/bin/python3 /usr/bin/gunicorn -w 4 app:app", "workers", 4, "-w 8"),
        ("gunicorn --workers=4 app:app", "workers", 4, "-w 8"),
        ("gunicorn -w 2 --threads 4 app:app", "workers", 2, "-w 2"),
        ("gunicorn app:app", "workers", None, "-w 8"),
        ("/opt/python3 -m uvicorn app:app --workers 2", "one-loop", 2, "--workers 8"),
        ("puma 6.4.2 -t 5:5 config.ru", "workers", 5, "-t 8:8"),
        ("java -Dserver.tomcat.threads.max=10 -jar shop.jar", "workers", 10, "server.tomcat.threads.max=8"),
        ("/usr/lib/jvm/bin/java -jar shop.jar", "connection-pool", None,
         "spring.datasource.hikari.maximum-pool-size=8"),
        ("Go: ./shop", "connection-pool", None, "db.SetMaxOpenConns(8)"),
        ("JavaScript: node server.mjs", "one-loop", None, "8 processes"),
    ],
)  # fmt: skip
def test_a_setting_is_spelt_as_the_program_spells_it(
    words: str, cause: str, now: int | None, written: str
) -> None:
    found = of(words, cause)
    assert (found.now, found.written(8)) == (now, written)


def test_the_number_of_today_is_read_from_the_file_that_the_command_line_names(tmp_path: Path) -> None:
    pool = tmp_path / "pool.d" / "www.conf"
    pool.parent.mkdir()
    pool.write_text("[www]\n; pm.max_children = 9\npm.max_children = 5\n")
    (tmp_path / "php-fpm.conf").write_text("include=pool.d/*.conf\n")
    found = of(f"php-fpm: master process ({tmp_path}/php-fpm.conf)", "workers")
    assert (found.now, found.file, found.written(10)) == (5, str(pool), "pm.max_children = 10")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "puma.rb").write_text("threads 3, 7\n")
    assert of("puma 6.4.2 (tcp://0.0.0.0:3000) [shop]", "workers", tmp_path).now == 7


def test_a_library_is_known_to_be_used_where_its_number_is_found() -> None:
    assert of("java -jar shop.jar", "workers").library
    assert not of("java -Dserver.tomcat.threads.max=10 -jar shop.jar", "workers").library
    assert of("Go: ./shop", "connection-pool").library and not of("gunicorn app:app", "workers").library


@pytest.mark.parametrize("words", ["./shop --listen 8080", "Go: ./shop", "python3 server.py", "sponge"])
def test_a_program_that_is_not_known_has_no_setting_for_its_workers(words: str) -> None:
    assert not [
        each for each in setting_names.of_process(ProgramCall(words, Path("/"))) if each.cause == "workers"
    ]


def test_files_are_those_that_the_program_sees_and_no_pipe(tmp_path: Path) -> None:
    """In a container / is another folder, and what has no end is not read."""
    (tmp_path / "app" / "config").mkdir(parents=True)
    (tmp_path / "app" / "config" / "puma.rb").write_text("threads 5, 7\n")
    running = ProgramCall("puma", Path("/app"), tmp_path)
    found = next(each for each in setting_names.of_process(running) if each.cause == "workers")
    assert (found.now, found.file) == (7, "/app/config/puma.rb")
    (tmp_path / "app" / "config" / "puma.rb").unlink()
    os.mkfifo(tmp_path / "app" / "config" / "puma.rb")
    assert next(each for each in setting_names.of_process(running) if each.cause == "workers").now is None
