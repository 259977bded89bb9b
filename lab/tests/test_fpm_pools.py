"""Pools of php-fpm: their configuration, their status page, and FastCGI."""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from crumple.asked import fast_cgi, fpm_pools, php_fpm
from crumple.asked.fpm_pools import Counted, Pool
from crumple.asked.said import Said, Server

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
;pm.status_path = /commented-out
pm.status_path = /status
[reports]
listen = 127.0.0.1:9001
pm.max_children = ${WORKERS}
pm.status_listen = 127.0.0.1:9002
[template]
pm.max_children = 3
"""
# As php-fpm 8.2 answers ?json&full with five children, of which one answers this page.
STATUS = (
    '{"pool":"shop","process manager":"static","start time":1795920987,"accepted conn":59,"listen queue":0,'
    '"idle processes":0,"active processes":5,"total processes":5,"max children reached":0,"slow requests":0,'
    ' "processes":['
    + ",".join(
        f'{{"pid":{28467 + number},"state":"{state}","request uri":"\\/a.php?secret=1","script":"{script}"}}'
        for number, (state, script) in enumerate(
            [("Finishing", "\\/srv\\/a.php")] * 2 + [("Running", "\\/srv\\/a.php")] * 2 + [("Running", "-")]
        )
    )
    + "]}"
)


def pools(variables: Mapping[str, str]) -> list[Pool]:
    return fpm_pools.pools(MAIN, {"/etc/php/fpm/pool.d/*.conf": POOLS}.__getitem__, variables)


def read(busy: int, waiting: int, most: int | None = 5, status: str = "") -> Said:
    counted = Counted("shop", "/run/php/shop.sock", 5, busy, waiting, most, status)
    return fpm_pools.read(counted.as_text(), "the command")


def test_pools_are_those_of_included_files_that_listen() -> None:
    assert pools({"WORKERS": "7"}) == [
        Pool("shop", "/run/php/shop.sock", 5, "/status"),
        Pool("reports", "127.0.0.1:9001", 7, "", "127.0.0.1:9002"),
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


def test_a_full_pool_with_a_queue_points_to_its_children() -> None:
    full = read(5, 7)
    assert (full.points_to, full.count) == ("workers", 5)
    assert full.shows == (
        "pool shop: 5 of 5 children have a request (pm.max_children 5); 7 connections wait to be accepted"
    )


def test_a_full_pool_without_a_queue_or_one_with_room_points_to_nothing() -> None:
    assert read(5, 0).points_to == "none"
    assert read(4, 1).points_to == "none"
    # It may still start others.
    assert read(5, 3, most=8).points_to == "none"
    assert read(5, 3, most=None).count == 5


def test_a_status_page_names_scripts_and_no_uri_and_its_own_child_does_not_count() -> None:
    full = read(5, 7, status=STATUS)
    assert full.place == "/srv/a.php"
    assert full.evidence[0] == "4 × /srv/a.php"
    assert "secret" not in str(full)
    assert read(0, 0, status=STATUS).shows.startswith("pool shop: 4 of 5")


def test_a_request_of_fastcgi_has_its_parameters_whatever_their_length() -> None:
    sent = fast_cgi.request({"SCRIPT_NAME": "/status", "LONG": "x" * 300})
    assert b"\x0b\x07SCRIPT_NAME/status" in sent
    assert b"\x04\x80\x00\x01\x2cLONG" + b"x" * 300 in sent
    assert sent.endswith(b"\x01\x05\x00\x01\x00\x00\x00\x00")


def test_an_answer_of_fastcgi_is_put_together_of_its_records() -> None:
    answer = (
        b"\x01\x06\x00\x01\x00\x18\x02\x00Status: 404 Gone\r\n\r\nbod\0\0"
        b"\x01\x07\x00\x01\x00\x03\x00\x00err"
        b"\x01\x06\x00\x01\x00\x01\x00\x00y"
        b"\x01\x03\x00\x01\x00\x08\x00\x00\0\0\0\0\0\0\0\0"
    )
    answer = answer.replace(b"\x00\x18\x02", bytes([0, len(b"Status: 404 Gone\r\n\r\nbod"), 2]))
    assert fast_cgi.body(answer) == (404, "body")
    assert fast_cgi.is_whole(answer)
    assert not fast_cgi.is_whole(answer[:-1])


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
        counted = [php_fpm._counted(Pool("shop", listen), 5) for listen in (path, f"127.0.0.1:{port}")]
        for each in opened:
            each.close()
    assert [(each.busy, each.waiting) for each in counted] == [(1, 2), (1, 2)]


def test_this_process_is_no_php_fpm() -> None:
    assert php_fpm.applies(Server((os.getpid(),))) == ""


def test_a_command_asks_the_status_page_where_it_is_served() -> None:
    counted = Counted("shop", "/run/php/shop.sock", 5, 0, 0, 5)
    shown = php_fpm.command(php_fpm.Target(Pool("shop", "/run/php/shop.sock", 5, "/status"), counted))
    assert shown.startswith("SCRIPT_NAME=/status ")
    assert shown.endswith("cgi-fcgi -bind -connect /run/php/shop.sock")
    assert json.loads(counted.as_text())["pool"] == "shop"
