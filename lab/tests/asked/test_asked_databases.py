"""What databases list of their sessions, as real ones printed it; no password and no value is shown."""

import pytest
from crumple.asked import mysql, postgres_activity, statements
from crumple.asked.found import SourceFinding

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


def counts(read: SourceFinding) -> dict[str, tuple[int, int]]:
    return {name: (part.number, part.of) for name, part in read.parts.items() if part.number}


def test_a_row_lock_of_postgres_names_who_holds_it_and_how_many_wait() -> None:
    read = postgres_activity.read(ROW_LOCK)
    assert counts(read) == {"held_up": (4, 5), "runs": (1, 6)}
    assert read.parts["held_up"].does == "sessions wait for a lock: update stock set n=n+? where id=?;"
    assert read.shows == (
        "5 of 6 sessions have a statement or a transaction: 4 wait for a lock (transactionid)"
        ", 1 wait for IO:WALSync"
    )
    assert read.evidence == ("session 19763 blocks 4, in its transaction for 0.123 s: end;",)


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
    read = postgres_activity.read(chain)
    assert counts(read) == {"held_up": (3, 5), "held": (2, 5)}
    assert [line.partition(",")[0] for line in read.evidence] == ["session 1 blocks 2", "session 4 blocks 1"]


def test_a_circle_of_sessions_that_wait_for_one_another_ends() -> None:
    circle = rows("active,Lock,transactionid,{2},1,x", "active,Lock,transactionid,{1},1,x")
    assert postgres_activity.read(circle).evidence == ()


def test_sessions_that_are_idle_in_a_transaction_are_held_and_others_run() -> None:
    held, free = '"idle in transaction",Client,ClientRead,,1,select 17', "idle,Client,ClientRead,,,select 1"
    read = postgres_activity.read(rows(*[held] * 5, free, "active,,,,0.1,select count(*) from stock"))
    assert counts(read) == {"held": (5, 7), "runs": (1, 7)}
    assert read.parts["held"].does == "sessions are idle in a transaction; the last: select ?"
    assert counts(postgres_activity.read(rows(*[free] * 9))) == {}


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
    assert statements.without_values(statement) == shown


def test_a_backslash_ends_no_string_in_postgresql() -> None:
    assert statements.without_values("select 'a\\' , 'secretvalue' from t") == "select ? , ? from t"
    assert statements.without_values("select E'a\\' , b', c from t") == "select ?, c from t"


def test_what_stands_in_double_quotes_is_a_value_of_mysql_and_a_name_of_postgres() -> None:
    statement = 'select a from "t" where b = "s3cret"'
    assert (
        statements.without_values(statement, strings_in_double_quotes=True) == "select a from ? where b = ?"
    )
    assert statements.without_values('select "a" from "t"') == 'select "a" from "t"'


Waits = list[tuple[int, int]] | None


def processes(waits: Waits, **info: str) -> SourceFinding:
    """What a process list shows as MariaDB 10.11 gives it; a state and no statement: "Sleep"."""
    listed = [
        {
            "id": int(name[1:]),
            "command": state.split("|")[0],
            "state": "",
            "query": state.split("|")[1] or None,
        }
        for name, state in info.items()
    ]
    return mysql.read((listed, waits))


def test_a_row_lock_of_mysql_names_who_holds_it() -> None:
    update = "Query|update stock set n=n+1 where id=1"
    # MariaDB lists each that waits with all before it.
    read = processes([(8, 7), (9, 8), (9, 7)], c7="Sleep|", c8=update, c9=update, c5="Sleep|")
    assert counts(read) == {"held_up": (2, 2)}
    assert read.parts["held_up"].does == "connections wait for a lock: update stock set n=n+? where id=?"
    assert read.shows == "2 of 4 connections have a statement: 2 wait for a lock and 0 run"
    assert read.evidence == ("connection 7 blocks 2: no statement",)


def test_a_lock_of_a_table_is_one_that_connections_wait_for() -> None:
    listed = [
        {"id": number, "command": "Query", "state": state, "query": 'select "s3cret"'}
        for number, state in enumerate(["Waiting for table metadata lock"] * 3 + ["Sending data"])
    ]
    read = mysql.read((listed, []))
    assert counts(read) == {"held_up": (3, 4), "runs": (1, 4)}
    assert "s3cret" not in str(read)


def test_statements_of_mysql_that_run_are_counted_and_unread_waits_are_named() -> None:
    read = processes(None, c1="Query|select 1", c2="Query|select 1")
    assert counts(read) == {"runs": (2, 2)}
    assert read.shows.endswith("lock waits could not be read: it takes the privilege PROCESS")
    assert counts(processes([], c1="Sleep|", c2="Sleep|")) == {}
