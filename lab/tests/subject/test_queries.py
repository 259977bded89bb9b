"""The database's counters compared with the answers: the right number of queries, too few, too many."""

import documents
import pytest
from crumple.subject import tables
from crumple.subject.tables import Counters
from crumple.subject.workload import Query

TEN = Query(table="books", rows=10)
BEFORE = Counters(selects=7, rows_read=120)
# 20,000 right answers and 9,000 of the warm-up; 32 more were sent and are unfinished.
RECORD = documents.record()


def after(times: int, selects: int | None = None) -> Counters:
    """The counters after a server has queried `times` times."""
    return Counters(7 + (times if selects is None else selects), 120 + 10 * times)


@pytest.mark.parametrize("times", [29_000, 29_015, 29_032])
def test_between_as_many_as_answers_and_as_requests_is_no_problem(times):
    assert tables.queries_between(TEN, BEFORE, after(times)) == times
    assert tables.problems(RECORD, TEN, BEFORE, after(times)) == ()


def test_fewer_queries_than_answers_mean_that_the_server_remembers():
    (said,) = tables.problems(RECORD, TEN, BEFORE, after(28_999))
    assert said == (
        "the database was asked 28,999 times for 29,000 right answers; "
        "the server answers without asking, or keeps what the database answered"
    )


def test_rows_without_statements_are_not_the_servers_queries():
    (said,) = tables.problems(RECORD, TEN, BEFORE, after(29_000, selects=3))
    assert said.startswith("the database was asked 3 times")


def test_more_queries_than_requests_are_reported():
    (said,) = tables.problems(RECORD, TEN, BEFORE, after(29_033))
    assert said.startswith("the database was asked 29,033 times for 29,032 requests; the server asks more")
    assert tables.problems(RECORD, TEN, BEFORE, after(29_033), beside=1) == ()


def test_requests_that_were_not_sent_need_no_query():
    outcomes = documents.outcomes(ok=20_000, not_sent=32)
    record = documents.record(outcomes=outcomes)
    assert tables.problems(record, TEN, BEFORE, after(29_000)) == ()
    assert tables.problems(record, TEN, BEFORE, after(29_001))


def test_a_request_sent_again_may_query_again():
    assert tables.problems(documents.record(retried=2), TEN, BEFORE, after(29_034)) == ()


def test_statements_of_database_drivers_are_no_problem():
    assert tables.problems(RECORD, TEN, BEFORE, after(29_000, selects=29_600)) == ()


def test_if_rows_are_not_counted_statements_are():
    before, now = Counters(7, None), Counters(7 + 29_100, None)
    assert tables.queries_between(TEN, before, now) == 29_100
    assert tables.problems(RECORD, TEN, before, now) == ()
    assert tables.problems(RECORD, TEN, before, Counters(7 + 28_999, None))
