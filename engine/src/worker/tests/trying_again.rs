//! When a connection that failed, or for which a backlog had no room, is tried again.

use super::*;

#[test]
fn what_fails_is_not_tried_again_at_once() {
    let resets = |_| Reply::Reset;
    let record = run(closed(4, 1_000, |_| {}), answering(0, resets));
    assert!((380..=404).contains(&record.outcomes.reset), "4 users every 10 ms: {:?}", record.outcomes);
    let refused = Script { connect: |_| Err(Errno::CONNREFUSED), ..Script::default() };
    let record = run(closed(4, 1_000, |_| {}), refused);
    assert!((380..=404).contains(&record.outcomes.refused), "{:?}", record.outcomes);
}

#[test]
fn a_full_backlog_is_waited_for() {
    let connect = |number| if number < 100 { Err(Errno::AGAIN) } else { Ok(()) };
    let record =
        run(closed(4, 1_000, |_| {}), Script { connect, ..answering(10 * MS, |_| Reply::Bytes(HELLO)) });
    assert_eq!((record.outcomes.refused, record.connections_opened), (0, 4), "{:?}", record.outcomes);
    assert!(record.histograms.connect_time.max_ns > Some(20 * MS), "a try each millisecond, by four");
    let never = Script { connect: |_| Err(Errno::AGAIN), ..Script::default() };
    let record = run(closed(4, 1_000, |_| {}), never);
    assert_eq!(record.outcomes.total() - record.outcomes.unfinished, record.outcomes.connect_timeout);
    assert!((12..=20).contains(&record.outcomes.connect_timeout), "{:?}", record.outcomes);
}

#[test]
fn who_has_not_begun_does_not_wait_for_all_who_open_again() {
    let spec = closed(1_000, 1_000, |spec| {
        spec["connection"] = json!("per-request");
        spec["stop"] = json!({"kind": "requests", "requests": 4_000, "within_s": 1.0});
    });
    let record = run(spec, answering(MS, |_| Reply::Bytes(HELLO)));
    assert_eq!(record.users, 1_000, "{:?}", record.outcomes);
}

#[test]
fn one_tries_for_all_whether_a_backlog_has_room() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static TRIES: AtomicU32 = AtomicU32::new(0);
    let connect = |_| {
        TRIES.fetch_add(1, Relaxed);
        Err(Errno::AGAIN)
    };
    let spec = closed(500, 1_000, |spec| spec["timeouts"] = json!({"connect_s": 5.0, "request_s": 5.0}));
    run(spec, Script { connect, ..Script::default() });
    let tries = TRIES.load(Relaxed);
    assert!((500..=1_600).contains(&tries), "500 first ones, and one each millisecond: {tries}");
}

#[test]
fn what_goes_over_a_free_connection_does_not_wait_for_those_that_are_opened() {
    // Opening a connection takes the engine a millisecond, in which two requests come due. Once 64 are open it reads
    // the answers, a millisecond for each, and every answer frees a connection for one of the requests that wait.
    let script = Script { open_ns: MS, read_ns: MS, ..answering(MS, |_| Reply::Bytes(HELLO)) };
    let spec = open(1_000, 2_000.0, 1_000, |spec| {
        spec["stop"] = json!({"kind": "requests", "requests": 128, "within_s": 1.0});
    });
    let record = run(spec, script);
    assert_eq!(record.outcomes.ok, 128, "{:?}", record.outcomes);
    let late = &record.histograms.engine_lateness;
    assert!(late.max_ns <= Some(65 * MS), "as late as the connections delayed it: {late:?}");
}
