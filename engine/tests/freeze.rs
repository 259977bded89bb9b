//! A server that answers at once, and for some time not at all. In every shape, what each request waits for is known.
//! Upper bounds come from what the peer did by its own clock, as a busy machine may make the peer late, too.

mod peer;

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use peer::record::{count, longer_than, times};
use peer::witness::{Exchange, Stalls, Witness, number_requests, unstalled, witnessed};
use peer::{for_seconds, impatient, open, run, spec};
use serde_json::{Value, json};

const FOR_EVER: Duration = Duration::from_secs(3600);
/// The rate of the open shapes. It is low enough for a machine that is busy with other work.
const PER_S: u64 = 250;
const GAP_MS: u64 = 1000 / PER_S;

/// Plays a peer that answers at once, except for `length` from `from` after its first request on. During this time it
/// answers nothing.
fn frozen(from: Duration, length: Duration) -> (String, Witness) {
    let began = Arc::new(OnceLock::new());
    witnessed(move |read| {
        let freezes = *began.get_or_init(|| read) + from;
        let now = Instant::now();
        if (freezes..freezes + length).contains(&now) {
            thread::sleep(freezes + length - now);
        }
    })
}

/// Runs a trial of ten seconds against a peer that freezes for the second in the middle.
fn frozen_second(shape: Value) -> (Value, Witness) {
    let (address, witness) = frozen(Duration::from_millis(4500), Duration::from_secs(1));
    let mut spec = spec(&address, 0);
    number_requests(&mut spec);
    spec["shape"] = shape;
    spec["stop"] = for_seconds(10.0);
    (run(&spec), witness)
}

/// Returns when the request with this number is due in an even schedule.
fn due(exchange: &Exchange) -> Duration {
    Duration::from_millis((exchange.number - 1) * GAP_MS)
}

/// Returns when the schedule began, by the request that came soonest after it was due.
fn schedule_began(exchanges: &[Exchange]) -> Instant {
    exchanges.iter().map(|exchange| exchange.read - due(exchange)).min().unwrap()
}

/// Returns the least and the most that the answered requests took since they were due, by the peer's clock, in ms.
fn waited_ms(exchanges: &[Exchange]) -> (Vec<f64>, Vec<f64>) {
    let began = schedule_began(exchanges);
    let waited = |exchange: &Exchange, until: Instant| {
        until.saturating_duration_since(began + due(exchange)).as_secs_f64() * 1e3
    };
    let bounds = exchanges.iter().enumerate().filter_map(|(at, exchange)| {
        let arrived_by = arrived_by(exchange, &exchanges[at + 1..], began)?;
        Some((waited(exchange, exchange.answered?.0), waited(exchange, arrived_by)))
    });
    let (mut least, mut most): (Vec<f64>, Vec<f64>) = bounds.unzip();
    least.sort_by(f64::total_cmp);
    most.sort_by(f64::total_cmp);
    (least, most)
}

/// Returns when the answer had arrived at the latest. That is when the peer had written it, unless a request waited for
/// this connection: the engine sent that one as soon as it had the answer, which a busy machine delays.
fn arrived_by(exchange: &Exchange, later: &[Exchange], began: Instant) -> Option<Instant> {
    let (begun, written) = exchange.answered?;
    let next = later.iter().find(|next| next.connection == exchange.connection);
    Some(next.filter(|next| began + due(next) <= begun).map_or(written, |next| next.read.max(written)))
}

fn at_quantile(sorted: &[f64], quantile: f64) -> f64 {
    sorted[((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// A machine that stands still for this long freezes the answers, too: before the peer does, or for longer.
const STALL: Duration = Duration::from_millis(300);

/// One request more or less, the time that the quickest took to the peer, and the rounding of the histogram.
const TOLERANCE_MS: f64 = GAP_MS as f64 + 2.0;

#[test]
fn an_open_shape_counts_every_request_that_was_due_in_the_freeze() {
    let (record, witness) = frozen_second(open(64, PER_S as f64));
    assert_eq!(record["scheduled"], 10 * PER_S);
    let left = count(&record, "not-sent") + count(&record, "unfinished");
    assert_eq!(count(&record, "ok") + left, 10 * PER_S, "{:#}", record["outcomes"]);
    let exchanges = witness.exchanges();
    let mut numbers: Vec<u64> = exchanges.iter().map(|exchange| exchange.number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "only the last are left");
    assert!(exchanges.len() as u64 - count(&record, "ok") <= 64, "whatever was answered in time is ok");
    let (least_ms, most_ms) = waited_ms(&exchanges);
    // The requests due in the frozen second waited for up to 1,000 ms, however busy the machine is. They are a tenth
    // of all requests. So the quantile q is at least the wait of a request that was due (10 q - 9) seconds into that
    // second, counted from its end.
    let response = times(&record, "response_time");
    println!("arrivals: {}", record["arrivals"]);
    for (quantile, frozen_ms) in
        [(0.5, 0.0), (0.75, 0.0), (0.95, 500.0), (0.98, 800.0), (0.99, 900.0), (0.999, 990.0), (1.0, 1000.0)]
    {
        let measured_ms = response.value_at_quantile(quantile) as f64 / 1e6;
        let (least_ms, most_ms) = (at_quantile(&least_ms, quantile), at_quantile(&most_ms, quantile));
        println!("p{:<5} {measured_ms:6.1} ms, of {least_ms:6.1} to {most_ms:6.1}", quantile * 100.0);
        assert!(measured_ms >= frozen_ms - TOLERANCE_MS, "p{}: {measured_ms} ms", quantile * 100.0);
        let lawful = least_ms - TOLERANCE_MS..most_ms + TOLERANCE_MS;
        assert!(lawful.contains(&measured_ms), "p{}: {measured_ms} ms of {lawful:?}", quantile * 100.0);
    }
    assert!(response.mean() >= 49e6, "a tenth waited for half a second each on average");
    // From when they were sent, all requests look fast except one on each connection: 64 and not 250.
    let slow = longer_than(&times(&record, "service_time"), 500);
    assert!((64..100).contains(&slow), "{slow}");
    let late = longer_than(&times(&record, "lateness"), 250);
    assert!(late >= 100, "they waited for a connection: {late}");
    let own = longer_than(&times(&record, "engine_lateness"), 250);
    assert!(2 * own < late, "the freeze is not the engine's own lateness: {own} of {late}");
}

#[test]
fn a_closed_shape_sees_one_slow_answer_per_connection() {
    // Ten users who pause for 40 ms send 250 requests per second, if nothing else takes time.
    let shape = json!({"kind": "closed", "connections": 10, "pause_ms": 40.0, "pause": "fixed"});
    let (record, witness) = unstalled(STALL, || frozen_second(shape.clone()));
    let ok = count(&record, "ok");
    assert!(ok <= 9 * 250 + 10, "nine seconds' worth at most, for none is due meanwhile: {ok}");
    assert!((ok..=ok + 10).contains(&witness.answered()), "{ok} of {}", witness.answered());
    let response = times(&record, "response_time");
    assert_eq!(longer_than(&response, 800), 10);
    let held = |exchange: &Exchange| Some(exchange.answered?.0 - exchange.read);
    let longest_ns = witness.exchanges().iter().filter_map(held).max().unwrap().as_nanos() as u64;
    assert!(response.max() + 1_000_000 >= longest_ns, "{} of {longest_ns}", response.max());
    assert!(response.value_at_quantile(0.95) < 500_000_000, "it does not show in 95 of 100");
}

#[test]
fn a_freeze_until_the_end_leaves_requests_unfinished_and_not_sent() {
    let (record, witness) = unstalled(STALL, || {
        let (address, witness) = frozen(Duration::from_secs(1), FOR_EVER);
        let mut spec = spec(&address, 0);
        number_requests(&mut spec);
        spec["shape"] = open(50, PER_S as f64);
        spec["stop"] = for_seconds(2.0);
        (run(&spec), witness)
    });
    assert_eq!(record["scheduled"], 2 * PER_S);
    let ok = count(&record, "ok");
    assert_eq!(ok, witness.answered());
    assert_eq!(count(&record, "unfinished"), 50, "one on each connection");
    assert_eq!(count(&record, "not-sent"), 2 * PER_S - ok - 50, "the rest found none");
    assert_eq!(record["not_sent"]["too_late"], record["outcomes"]["not-sent"]);
    // The requests that the peer has not answered say how old each is when the phase ends.
    let in_hand = witness.exchanges().into_iter().filter(|exchange| exchange.answered.is_none());
    let mut expected = Histogram::<u64>::new(3).unwrap();
    for exchange in in_hand {
        expected.record((Duration::from_secs(2) - due(&exchange)).as_nanos() as u64).unwrap();
    }
    let ages = times(&record, "unfinished_age");
    assert_eq!(ages.len(), expected.len());
    for quantile in [0.0, 0.02, 0.25, 0.5, 0.75, 0.98, 1.0] {
        let (age, expected) = (ages.value_at_quantile(quantile), expected.value_at_quantile(quantile));
        assert!(age.abs_diff(expected) <= 2_000_000, "p{}: {age} of {expected}", quantile * 100.0);
    }
}

#[test]
fn a_freeze_until_the_end_of_a_closed_shape_is_one_unfinished_request_per_connection() {
    let (address, witness) = frozen(Duration::from_millis(300), FOR_EVER);
    let mut spec = spec(&address, 0);
    spec["shape"]["connections"] = json!(7);
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    assert_eq!(count(&record, "unfinished"), 7);
    assert_eq!(count(&record, "ok"), witness.answered());
    assert_eq!(count(&record, "ok") + 7, record["scheduled"].as_u64().unwrap());
    // Each was sent when the last answer on its connection was sent, and the peer has read it.
    let exchanges = witness.exchanges();
    let in_hand = exchanges.iter().filter(|exchange| exchange.answered.is_none());
    let sent = |unanswered: &Exchange| {
        let before = exchanges.iter().rev().filter(|before| before.connection == unanswered.connection);
        before.filter_map(|before| before.answered).next().unwrap().0..unanswered.read
    };
    let (from, to): (Vec<_>, Vec<_>) = in_hand.map(sent).map(|sent| (sent.start, sent.end)).unzip();
    let apart_ns = (*to.iter().max().unwrap() - *from.iter().min().unwrap()).as_nanos() as u64;
    let ages = times(&record, "unfinished_age");
    assert!(ages.min() >= 300_000_000 && ages.max() <= 1_000_000_000, "{} to {}", ages.min(), ages.max());
    assert!(ages.max() - ages.min() <= apart_ns + 2_000_000, "{} to {}", ages.min(), ages.max());
}

#[test]
fn patience_ends_in_the_queue_as_it_does_on_the_wire() {
    let stalls = Stalls::watch();
    let (address, witness) = frozen(Duration::from_millis(500), FOR_EVER);
    let mut spec = impatient(&address, 0);
    spec["shape"] = open(10, PER_S as f64);
    spec["stop"] = for_seconds(1.5);
    let record = run(&spec);
    let ok = count(&record, "ok");
    assert_eq!(ok, witness.answered());
    // Each connection times out after 0.3 s, and is opened anew for a request that is about to time out, too.
    let rest = count(&record, "timeout") + count(&record, "not-sent") + count(&record, "unfinished");
    assert_eq!(ok + rest, record["scheduled"].as_u64().unwrap(), "{:#}", record["outcomes"]);
    assert!(count(&record, "timeout") >= 20 && count(&record, "not-sent") > 50, "{:#}", record["outcomes"]);
    let slack_ns = 2 * stalls.longest_ns();
    let given_up = times(&record, "timed_out");
    assert!(
        given_up.min() >= 299_000_000 && given_up.max() < 450_000_000 + slack_ns,
        "{} to {}, slack {slack_ns}",
        given_up.min(),
        given_up.max()
    );
    let oldest_ns = times(&record, "unfinished_age").max();
    assert!(oldest_ns <= 330_000_000 + slack_ns, "{oldest_ns}, slack {slack_ns}");
}
