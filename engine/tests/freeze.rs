//! A server that answers at once and then, for a while, not at all: what each request waits for is
//! known beforehand, in every shape.

mod peer;

use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use peer::record::{count, longer_than, times};
use peer::{HELLO, for_seconds, open, play, read_request, run, spec};
use serde_json::{Value, json};

const FOR_EVER: Duration = Duration::from_secs(3600);

/// A peer that answers at once, but for `length` from `from` after its first request on, when it does
/// not answer before that is over.
fn frozen(from: Duration, length: Duration) -> String {
    let began = Arc::new(OnceLock::new());
    play(move |mut socket| {
        socket.set_nodelay(true).unwrap();
        while read_request(&mut socket) {
            let freezes = *began.get_or_init(Instant::now) + from;
            let now = Instant::now();
            if (freezes..freezes + length).contains(&now) {
                thread::sleep(freezes + length - now);
            }
            if socket.write_all(HELLO).is_err() {
                return;
            }
        }
    })
}

/// Ten seconds against a peer that freezes for the second in their middle.
fn frozen_second(shape: Value) -> Value {
    let address = frozen(Duration::from_millis(4500), Duration::from_secs(1));
    let mut spec = spec(&address, 0);
    spec["shape"] = shape;
    spec["stop"] = for_seconds(10.0);
    spec["timeouts"]["request_s"] = json!(5.0);
    run(&spec)
}

/// Asserts that the quantiles of `times` are those expected, given in milliseconds; prints them.
/// Nothing can be faster than the freeze allows; 100 ms are for this machine to work off what it left.
fn assert_quantiles(what: &str, times: &Histogram<u64>, expected_ms: &[(f64, f64)]) {
    for &(quantile, expected_ms) in expected_ms {
        let measured_ms = times.value_at_quantile(quantile) as f64 / 1e6;
        println!(
            "{what}: p{:<5} expected {expected_ms:6.1} ms, measured {measured_ms:6.1}",
            quantile * 100.0
        );
        let lawful = expected_ms - 2.0..expected_ms + 100.0;
        assert!(lawful.contains(&measured_ms), "{what}, p{}: {measured_ms} ms", quantile * 100.0);
    }
}

#[test]
fn an_open_shape_counts_every_request_that_was_due_in_the_freeze() {
    let record = frozen_second(open(64, 1000.0));
    assert_eq!(record["scheduled"], 10_000);
    let open_at_the_end = count(&record, "not-sent") + count(&record, "unfinished");
    assert!(open_at_the_end < 20, "those due in the last instants: {:#}", record["outcomes"]);
    assert_eq!(count(&record, "ok") + open_at_the_end, 10_000);
    // The 1,000 requests due in the frozen second waited for 1 to 1,000 ms. They are the slowest of
    // 10,000, so the quantile q of all is the (10,000 q - 9,000)th of them.
    let response = times(&record, "response_time");
    let expected_ms =
        [(0.5, 0.0), (0.75, 0.0), (0.95, 500.0), (0.98, 800.0), (0.99, 900.0), (0.999, 990.0), (1.0, 1000.0)];
    assert_quantiles("open", &response, &expected_ms);
    assert!(response.mean() >= 49.5e6, "1,000 of 10,000 waited for half a second each on average");
    // Counted from when they were sent, all but one on each connection look fast.
    let service = times(&record, "service_time");
    assert_eq!(longer_than(&service, 500), 64);
    assert_quantiles("open, from sent", &service, &[(0.5, 0.0), (0.99, 0.0)]);
    assert!(longer_than(&times(&record, "lateness"), 250) >= 600, "they waited for a connection");
    let own = times(&record, "engine_lateness").value_at_quantile(0.99);
    assert!(own < 20_000_000, "the freeze is not the engine's own lateness: {own} ns");
}

#[test]
fn a_closed_shape_sees_one_slow_answer_per_connection() {
    // Ten users who pause for 10 ms: 1,000 requests per second, if nothing else takes time.
    let record =
        frozen_second(json!({"kind": "closed", "connections": 10, "pause_ms": 10.0, "pause": "fixed"}));
    let ok = count(&record, "ok");
    assert!((7_000..=9_010).contains(&ok), "nine seconds' worth at most, for none is due meanwhile: {ok}");
    let response = times(&record, "response_time");
    assert_eq!(longer_than(&response, 500), 10);
    assert_quantiles("closed", &response, &[(0.5, 0.0), (0.99, 0.0), (1.0, 990.0)]);
}

#[test]
fn a_freeze_until_the_end_leaves_requests_unfinished_and_not_sent() {
    let mut spec = spec(&frozen(Duration::from_secs(1), FOR_EVER), 0);
    spec["shape"] = open(50, 1000.0);
    spec["stop"] = for_seconds(2.0);
    spec["timeouts"]["request_s"] = json!(10.0);
    let record = run(&spec);
    assert_eq!(record["scheduled"], 2_000);
    // Answered are those due before the freeze. Of the others one is on each connection, and waits the
    // longest; the rest found none.
    let ok = count(&record, "ok");
    assert!((1_000..=1_100).contains(&ok), "{ok}");
    assert_eq!(count(&record, "unfinished"), 50);
    assert_eq!(count(&record, "not-sent"), 2_000 - ok - 50);
    assert_eq!(record["not_sent"]["too_late"], record["outcomes"]["not-sent"]);
    let ages = times(&record, "unfinished_age");
    let (oldest_ms, youngest_ms) = (ages.max() as f64 / 1e6, ages.min() as f64 / 1e6);
    let due_before_the_end_ms = (2_000 - ok) as f64;
    assert!((oldest_ms - due_before_the_end_ms).abs() < 2.0, "{oldest_ms} of {due_before_the_end_ms}");
    assert!((oldest_ms - youngest_ms - 49.0).abs() < 2.0, "{youngest_ms} to {oldest_ms}");
}

#[test]
fn a_freeze_until_the_end_of_a_closed_shape_is_one_unfinished_request_per_connection() {
    let mut spec = spec(&frozen(Duration::from_millis(300), FOR_EVER), 0);
    spec["shape"]["connections"] = json!(7);
    spec["stop"] = for_seconds(1.0);
    spec["timeouts"]["request_s"] = json!(10.0);
    let record = run(&spec);
    assert_eq!(count(&record, "unfinished"), 7);
    assert_eq!(count(&record, "ok") + 7, record["scheduled"].as_u64().unwrap());
    let ages = times(&record, "unfinished_age");
    assert!(ages.min() >= 500_000_000 && ages.max() <= 850_000_000, "{} to {}", ages.min(), ages.max());
}

#[test]
fn patience_ends_in_the_queue_as_it_does_on_the_wire() {
    let mut spec = spec(&frozen(Duration::from_millis(500), FOR_EVER), 0);
    spec["shape"] = open(10, 1000.0);
    spec["stop"] = for_seconds(1.5);
    let record = run(&spec);
    let ok = count(&record, "ok");
    assert!((500..=600).contains(&ok), "none that was due in the freeze: {ok}");
    // Each connection gives up after 0.3 s, and is opened anew for a request that is about to be given up too.
    let rest = count(&record, "timeout") + count(&record, "not-sent") + count(&record, "unfinished");
    assert_eq!(ok + rest, record["scheduled"].as_u64().unwrap(), "{:#}", record["outcomes"]);
    assert!(count(&record, "timeout") >= 20 && count(&record, "not-sent") > 200, "{:#}", record["outcomes"]);
    let given_up = times(&record, "timed_out");
    assert!(given_up.min() >= 299_000_000 && given_up.max() < 450_000_000, "{}", given_up.max());
    assert!(times(&record, "unfinished_age").max() <= 330_000_000);
}
