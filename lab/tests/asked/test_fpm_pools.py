"""Pools of php-fpm: their configuration, and what their sockets show."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from crumple.asked import fpm_pools, php_fpm
from crumple.asked.found import AskedServer, SourceFinding
from crumple.asked.fpm_pools import Pool, PoolState
from crumple.observation.answers import AskedPart

MAIN = """
[global]
error_log = /var/log/php-fpm.log ; a comment
include=/etc/php/fpm/pool.d/*.conf
"""
POOLS = """
[shop]
listen = /run/php/$pool.sock
pm = dynamic
pm.max_children = 5
;pm.max_children = 50
[reports]
listen = 127.0.0.1:9001
pm.max_children = ${WORKERS}
[template]
pm.max_children = 3
"""


def pools(variables: Mapping[str, str]) -> list[Pool]:
    return fpm_pools.pools(MAIN, {"/etc/php/fpm/pool.d/*.conf": POOLS}.__getitem__, variables)


def read(busy: int, waiting: int, most: int | None = 5, *, is_behind: bool = False) -> SourceFinding:
    pool = Pool("shop", "/run/php/shop.sock", most)
    return fpm_pools.read(PoolState(pool, 5, busy, waiting, is_behind))


def test_pools_are_those_of_included_files_that_listen() -> None:
    assert pools({"WORKERS": "7"}) == [
        Pool("shop", "/run/php/shop.sock", 5),
        Pool("reports", "127.0.0.1:9001", 7),
    ]


def test_a_number_by_an_unknown_variable_is_not_known() -> None:
    assert pools({})[1].children_most is None


def test_a_file_that_includes_itself_is_read_to_an_end() -> None:
    assert fpm_pools.pools("include = a", lambda _: "include = a", {}) == []


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("/run/php.sock", "/run/php.sock"),
        ("9000", ("127.0.0.1", 9000)),
        ("*:9000", ("127.0.0.1", 9000)),
        ("[::]:9000", ("::1", 9000)),
        ("10.0.0.1:9000", ("10.0.0.1", 9000)),
    ],
)
def test_what_a_pool_listens_on_is_a_path_or_a_port(listen: str, address: object) -> None:
    assert Pool("shop", listen).address == address


def test_a_full_pool_with_a_queue_says_so() -> None:
    full = read(5, 7)
    said = "children of pool shop have a request (pm.max_children 5)"
    assert full.parts == {"occupied": AskedPart(5, 5, f"{said}, and 7 connections wait to be accepted")}
    assert full.shows == f"5 of 5 {said}; 7 connections wait to be accepted"


def test_a_pool_behind_the_server_is_held_up_if_more_wait_and_no_child_may_be_added() -> None:
    def held_up(busy: int, waiting: int, most: int | None = 5) -> float:
        return read(busy, waiting, most, is_behind=True).parts["held_up"].share

    assert held_up(5, 7) == 1.0
    assert held_up(5, 0) == 0.0
    assert held_up(4, 1) == 0.0
    # It may still start others.
    assert held_up(5, 3, most=8) == 0.0
    assert held_up(5, 3, most=None) == 1.0


def test_connections_of_a_socket_are_told_apart_by_whether_they_are_accepted(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.create_server(("127.0.0.1", 0)) as over_tcp:
        listener.bind(path)
        listener.listen(8)
        opened = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for each in opened:
            each.connect(path)
        port = over_tcp.getsockname()[1]
        opened += [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        opened += [listener.accept()[0], over_tcp.accept()[0]]
        counted = [
            php_fpm._on_path(path, os.getpid()),
            php_fpm._on_port(port, os.getpid()),
        ]
        for each in opened:
            each.close()
    assert counted == [(1, 2), (1, 2)]


def test_this_process_is_no_php_fpm() -> None:
    assert php_fpm.applies(AskedServer((os.getpid(),))) == ""
