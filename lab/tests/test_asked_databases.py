"""What databases list of their sessions, as real ones printed it; no password and no value is shown."""

import json

import pytest
from crumple.asked import database_url, mysql_activity, postgres, postgres_activity, redis_replies, statements
from crumple.asked.database_url import Database
from crumple.asked.said import Peer, Server

# Eight clients of PostgreSQL 15 that update one row, each in a transaction with a wait.
ROW_LOCK = """\
pid,state,wait_event_type,wait_event,blocked_by,xact_s,query
19769,active,Lock,transactionid,{19763},0.178,update stock set n=n+1 where id=1;
19768,active,Lock,transactionid,{19763},0.339,update stock set n=n+1 where id=1;
19764,active,Lock,transactionid,{19763},0.397,update stock set n=n+1 where id=1;
19763,active,IO,WALSync,,0.123,end;
19762,active,Lock,transactionid,{19763},0.449,update stock set n=n+1 where id=1;
19761,idle,Client,ClientRead,,,update stock set n=n+1 where id=1;
"""
HEADER = "pid,state,wait_event_type,wait_event,blocked_by,xact_s,query\n"


def rows(*each: str) -> str:
    return HEADER + "".join(f"{number},{row}\n" for number, row in enumerate(each, 1))


def test_a_row_lock_of_postgres_names_who_holds_it_and_how_many_wait() -> None:
    read = postgres_activity.read(ROW_LOCK, "psql")
    assert (read.points_to, read.count) == ("row-lock", 1)
    assert read.place == "update stock set n=n+? where id=?;"
    assert read.shows == (
        "5 of 6 sessions have a statement or a transaction: 4 wait for a lock (transactionid)"
        " and 1 wait for IO:WALSync"
    )
    assert read.evidence[0].startswith(
        "session 19763 blocks 4: wait for IO:WALSync, in its transaction for 0.123 s"
    )


def test_sessions_in_a_row_have_one_head_and_two_rows_have_two() -> None:
    # 3 waits for 2, which waits for 1; 5 waits for 4.
    update = "0.1,update stock set n = 1"
    chain = rows(
        f'"idle in transaction",Client,ClientRead,,{update}',
        f"active,Lock,transactionid,{{1}},{update}",
        f"active,Lock,tuple,{{2}},{update}",
        f'"idle in transaction",Client,ClientRead,,{update}',
        f"active,Lock,transactionid,{{4}},{update}",
    )
    read = postgres_activity.read(chain, "")
    assert (read.points_to, read.count) == ("row-lock", 2)
    assert [line.partition(":")[0] for line in read.evidence[:2]] == [
        "session 1 blocks 2",
        "session 4 blocks 1",
    ]


def test_a_circle_of_sessions_that_wait_for_one_another_ends() -> None:
    circle = rows("active,Lock,transactionid,{2},1,x", "active,Lock,transactionid,{1},1,x")
    assert postgres_activity.read(circle, "").count is None


def test_an_advisory_lock_is_a_gate() -> None:
    waiting = rows(*["active,Lock,advisory,{9},1,select pg_advisory_lock(1)"] * 3)
    assert postgres_activity.read(waiting, "").points_to == "gate"


def test_sessions_that_all_belong_to_idle_transactions_are_held() -> None:
    held = '"idle in transaction",Client,ClientRead,,1,select 1'
    assert (postgres_activity.read(rows(*[held] * 5), "").points_to) == "connection-pool"
    assert postgres_activity.read(rows(*[held] * 5), "").count == 5
    # With a free session nobody has to wait for one.
    assert (
        postgres_activity.read(rows(*[held] * 5, "idle,Client,ClientRead,,,select 1"), "").points_to == "none"
    )


def test_statements_that_run_point_to_the_database() -> None:
    running = rows(*["active,,,,0.1,select count(*) from stock"] * 3, *["idle,Client,ClientRead,,,x"] * 9)
    assert postgres_activity.read(running, "").points_to == "dependency"
    assert postgres_activity.read(rows(*["idle,Client,ClientRead,,,x"] * 9), "").points_to == "none"


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        (
            "select *\n  from users where name = 'O''Brien' and id = 17",
            "select * from users where name = ? and id = ?",
        ),
        ("select 'cut off in the mid", "select ?"),
        ("select $$a 'b' c$$, $1, t1.c2 from t1", "select ?, $1, t1.c2 from t1"),
        ("ALTER USER shop PASSWORD 'x", "ALTER USER shop PASSWORD …"),
        ("select " + "a, " * 100, ("select " + "a, " * 100)[:99] + "…"),
    ],
)
def test_values_of_statements_are_not_shown(statement: str, shown: str) -> None:
    assert statements.shown(statement) == shown


def test_what_stands_in_double_quotes_is_a_value_of_mysql_and_a_name_of_postgres() -> None:
    statement = 'select a from "t" where b = "s3cret"'
    assert statements.shown(statement, strings_in_double_quotes=True) == "select a from ? where b = ?"
    assert statements.shown('select "a" from "t"') == 'select "a" from "t"'


@pytest.mark.parametrize(
    ("url", "without"),
    [
        (
            "postgres://shop:s3cret@db:6000/stock?sslmode=require",
            "postgresql://shop@db:6000/stock?sslmode=require",
        ),
        ("postgres://shop@db/stock?password=s3cret", "postgresql://shop@db:5432/stock"),
        ("postgres://a%40b:s3cret@[::1]/x", "postgresql://a%40b@[::1]:5432/x"),
        ("postgres:///x?host=/run/pg&password=s3cret", "postgresql:///x?host=/run/pg&port=5432"),
    ],
)
def test_a_password_of_a_url_is_kept_apart(url: str, without: str) -> None:
    database = database_url.named(url, 5432)
    assert database is not None
    assert database.password == "s3cret"
    assert database.url("postgresql") == without
    assert "s3cret" not in repr(database)
    assert "s3cret" not in postgres.command(database)


def test_a_database_that_is_named_comes_before_a_dependency() -> None:
    peers = (Peer("10.0.0.1:80"), Peer("10.0.0.2:5432"))

    def asked(*urls: str) -> Database | None:
        return database_url.of(Server((1,), peers, urls), ("postgres",), 5432, lambda peer: peer.port == 5432)

    assert asked() == Database("10.0.0.2", 5432)
    assert asked("mysql://x", "postgres://y") == Database("y", 5432)
    assert database_url.of(Server((1,)), ("postgres",), 5432, lambda peer: True) is None


def processes(waits: list[tuple[int, int]] | None, **info: str) -> str:
    """A process list as MariaDB 10.11 gives it; a state and no statement: "Sleep"."""
    listed = [
        {
            "id": int(name[1:]),
            "command": state.split("|")[0],
            "time": 0,
            "state": "",
            "info": state.split("|")[1] or None,
        }
        for name, state in info.items()
    ]
    return json.dumps({"processes": listed, "waits": waits, "held": {"7": 2}})


def test_a_row_lock_of_mysql_names_who_holds_it() -> None:
    update = "Query|update stock set n=n+1 where id=1"
    # MariaDB lists each that waits with all before it.
    text = processes([(8, 7), (9, 8), (9, 7)], c7="Sleep|", c8=update, c9=update, c5="Sleep|")
    read = mysql_activity.read(text, "mysql")
    assert (read.points_to, read.count, read.place) == ("row-lock", 1, "update stock set n=n+? where id=?")
    assert read.shows == "2 of 4 connections have a statement: 2 wait for a row"
    assert read.evidence[0] == "connection 7 blocks 2, in its transaction for 2 s: Sleep, no statement"


def test_statements_of_mysql_that_run_point_to_it_and_unread_waits_are_named() -> None:
    read = mysql_activity.read(processes(None, c1="Query|select 1", c2="Query|select 1"), "")
    assert read.points_to == "dependency"
    assert read.shows.endswith("lock waits could not be read")
    assert mysql_activity.read(processes([], c1="Sleep|", c2="Sleep|"), "").points_to == "none"


def reply(value: object) -> bytes:
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(reply, value))
    if isinstance(value, int):
        return b":%d\r\n" % value
    text = str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(text), text)


def redis_text(used_us: int, clients: list[str], slow: list[object]) -> str:
    """What Redis 7 answers if LRANGE has used so much of half a second."""
    before = "# Commandstats\r\ncmdstat_lrange:calls=40,usec=1000,usec_per_call=25.00,rejected_calls=0\r\n"
    after = before.replace("calls=40,usec=1000", f"calls=50,usec={1000 + used_us}")
    listed = "".join(f"{client}\n" for client in clients)
    parts = (["100", "900000"], before, ["101", "400000"], after, listed, slow)
    return b"".join(map(reply, parts)).decode()


def test_redis_is_busy_by_what_its_commands_took_in_between() -> None:
    slow = [[2, 100, 60_000, ["LRANGE", "feed:17", "0", "s3cret"]], [1, 5, 99_000, ["KEYS", "*"]]]
    read = redis_replies.read(redis_text(400_000, ["id=4 flags=N cmd=lrange"], slow), "redis-cli")
    assert (read.points_to, read.count, read.place) == ("dependency", 1, "LRANGE")
    assert (
        read.shows
        == "its one thread spends 80% of the time in 20 commands per second; 1 client, 0 of them blocked"
    )
    # An entry of long before the load is left out.
    assert read.evidence == ("LRANGE: 80% of the time", "slow log: 1 × LRANGE feed:…, up to 60.0 ms")
    assert redis_replies.read(redis_text(200_000, [], []), "").points_to == "none"


def test_clients_of_redis_that_are_blocked_are_a_gate() -> None:
    blocked = [f"id={number} flags=b cmd=blpop" for number in range(3)]
    read = redis_replies.read(redis_text(0, [*blocked, "id=9 flags=N cmd=get"], []), "")
    assert (read.points_to, read.place) == ("gate", "blpop")
    assert read.shows.endswith("4 clients, 3 of them blocked")


def test_replies_are_whole_or_not_yet() -> None:
    first = reply(["1", ["a", 2]])
    whole = first + b"+OK\r\n-ERR no\r\n$-1\r\n"
    assert redis_replies.values(whole) == [["1", ["a", 2]], "OK", "-ERR no", None]
    ends = {0: 0, 3: 0, len(first) - 1: 0, len(first): 1, len(whole) - 1: 3}
    assert {end: len(redis_replies.values(whole[:end])) for end in ends} == ends


def test_a_refused_command_of_redis_leaves_the_others() -> None:
    replies = b"-NOPERM\r\n" * 4 + reply("id=1 flags=N cmd=get\n") + b"-NOPERM\r\n"
    read = redis_replies.read(replies.decode(), "")
    assert (read.points_to, read.shows) == ("none", "1 client, 0 of them blocked")
