//! Timeouts of requests and of attempts to connect.

use super::*;

#[test]
fn no_connection_comes_about_in_time() {
    let slow = Script { connect_ns: 10_000 * MS, ..Script::default() };
    let record = run(closed(2, 1_000, |_| {}), slow);
    assert!(record.outcomes.connect_timeout >= 8, "{:?}", record.outcomes);
    assert_eq!((record.users, record.users_unanswered), (2, 2));
    let times = &record.histograms.timed_out;
    assert!(times.min_ns >= Some(199 * MS) && times.max_ns <= Some(201 * MS), "{times:?}");
}

#[test]
fn an_answer_that_comes_after_its_time_is_a_timeout() {
    let record = run(closed(3, 2_000, |_| {}), answering(500 * MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.outcomes.ok, 0, "{:?}", record.outcomes);
    assert_eq!(record.outcomes.timeout, 9, "{:?}", record.outcomes);
}

#[test]
fn an_answer_that_came_in_time_is_none_however_late_it_is_read() {
    // All answers come 0.1 ms before the timeout, and they are more than one turn of the loop reads.
    let script = Script { read_ns: 10_000, ..answering(500 * MS - 100_000, |_| Reply::Bytes(HELLO)) };
    let record = run(closed(1_000, 600, |_| {}), script);
    assert_eq!((record.outcomes.ok, record.outcomes.timeout), (1_000, 0), "{:?}", record.outcomes);
    assert!(record.histograms.response_time.max_ns < Some(500 * MS));
    assert!(record.arrivals.held_ns > 0, "the engine was late, and says so");
    // The beginning of an answer is no answer.
    let begin = |_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    let script = Script { read_ns: 10_000, ..answering(500 * MS - 100_000, begin) };
    let record = run(closed(1_000, 600, |_| {}), script);
    assert_eq!(record.outcomes.timeout, 1_000, "{:?}", record.outcomes);
}

#[test]
fn patience_ends_in_the_order_in_which_it_began() {
    // Half of the users are there at once, and some of them soon send again. The others begin meanwhile. The engine
    // has so many connections to open that it is late with them.
    let shape = json!({"kind": "ramp", "from_connections": 10_000, "to_connections": 20_000, "over_s": 0.005,
        "pause_ms": 0.0, "pause": "fixed"});
    let answer = |number| if number < 5_000 { Reply::Bytes(HELLO) } else { Reply::Silence };
    let record = run(spec(shape, 600, |_| {}), Script { open_ns: 1_000, ..answering(100_000, answer) });
    let late = &record.histograms.engine_lateness;
    assert!(late.max_ns > Some(10 * MS), "{late:?}");
    let times = &record.histograms.timed_out;
    assert_eq!(times.count, 20_000);
    assert!(times.max_ns < Some(501 * MS), "{times:?}");
}

#[test]
fn a_time_of_more_than_five_minutes_is_as_long_as_it_was() {
    let spec = closed(2, 340_000, |spec| spec["timeouts"]["request_s"] = json!(400.0));
    let record = run(spec, answering(330_000 * MS, |_| Reply::Bytes(HELLO)));
    let times = &record.histograms.response_time;
    assert_eq!((times.count, record.outcomes.unfinished), (2, 2), "{:?}", record.outcomes);
    let seconds = |ns: Option<f64>| ns.unwrap_or_default() / 1e9;
    assert!((seconds(times.mean_ns) - 330.0).abs() < 0.3, "{times:?}");
    assert!((seconds(times.max_ns.map(|ns| ns as f64)) - 330.0).abs() < 0.3, "{times:?}");
    assert!((users_accounted_for(&record) - 2.0).abs() < 0.01, "{}", users_accounted_for(&record));
}
