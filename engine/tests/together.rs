//! Two engines that put on a part each of one load, from the same instant on, do together what one engine does.

mod peer;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use crumple_engine::clock::now_ns;
use peer::held::Held;
use peer::record::assert_consistent;
use peer::tried::until_shown;
use peer::witness::{Exchange, number_requests, witnessed};
use peer::{HELLO, answering, for_seconds, open, refusal, spec};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;
/// How far ahead the instant is that all are told.
const AHEAD: Duration = Duration::from_millis(500);
/// How late a peer reads one, at most, of several requests that are sent in time. A gap between two is longer.
const AT_BEST: Duration = Duration::from_millis(3);

/// Returns the specs of all parts of a load, or of its whole if there is one part.
fn parts(spec: &Value, of: usize) -> Vec<Value> {
    let part = |index: usize| {
        let mut part = spec.clone();
        part["begins"] = json!("told");
        part["part"] = if of > 1 { json!({"index": index, "of": of}) } else { Value::Null };
        part
    };
    (0..of).map(part).collect()
}

/// Returns the records of loads that begin at one instant, and that instant.
fn run_together(specs: &[Value]) -> (Vec<Value>, Instant) {
    let mut engines: Vec<Held> = specs.iter().map(Held::start).collect();
    for engine in &mut engines {
        assert_eq!(engine.says(), json!({"held": 0}));
    }
    let (began, began_ns) = (Instant::now() + AHEAD, now_ns() + AHEAD.as_nanos() as u64);
    for engine in &mut engines {
        engine.tell(&format!("go {began_ns}"));
    }
    let records: Vec<Value> = engines.into_iter().map(Held::record).collect();
    for record in &records {
        assert_consistent(record);
        assert_eq!(record["began_monotonic_ns"], began_ns);
    }
    (records, began)
}

fn sum(records: &[Value], of: impl Fn(&Value) -> u64) -> u64 {
    records.iter().map(of).sum()
}

/// Returns whether the exchanges, in their order, came `gap` apart from `began` on. Asserts that none came earlier. Of each
/// of `of` parts one must have come in time; a busy machine may delay all others.
fn in_time(exchanges: &[Exchange], began: Instant, gap: Duration, of: usize) -> Result<(), String> {
    let mut at_best = vec![Duration::MAX; of];
    for (number, exchange) in exchanges.iter().enumerate() {
        let due = began + gap * number as u32;
        let late = exchange.read.checked_duration_since(due);
        let late = late.unwrap_or_else(|| panic!("{number} came {:?} too early", due - exchange.read));
        at_best[number % of] = late.min(at_best[number % of]);
    }
    let is_in_time = at_best.iter().all(|late| *late < AT_BEST);
    is_in_time.then_some(()).ok_or_else(|| format!("requests of {of} parts came late: {at_best:?}"))
}

/// Asserts that the log has a histogram for each interval of this length.
fn assert_logged_every(record: &Value, ms: u64) {
    let log = &record["log"];
    assert_eq!(log["interval_ms"], ms);
    let column = |name: &str| -> Vec<u64> { serde_json::from_value(log[name].clone()).unwrap() };
    assert!(column("at_ns").iter().all(|at_ns| at_ns % (ms * MS) == 0), "{:?}", column("at_ns"));
    assert!(column("duration_ns").iter().all(|&ns| ns <= ms * MS), "{:?}", column("duration_ns"));
}

#[test]
fn even_arrivals_keep_their_gaps_and_their_numbers() {
    for of in [1, 2, 3] {
        until_shown(|| {
            let (address, witness) = witnessed(|_| ());
            let mut spec = spec(&address, 0);
            number_requests(&mut spec);
            spec["shape"] = open(20, 200.0);
            spec["stop"] = for_seconds(1.0);
            let (records, began) = run_together(&parts(&spec, of));
            assert_eq!(sum(&records, |record| record["scheduled"].as_u64().unwrap()), 200);
            let mut exchanges = witness.exchanges();
            exchanges.sort_by_key(|exchange| exchange.number);
            let numbers: Vec<u64> = exchanges.iter().map(|exchange| exchange.number).collect();
            assert!(
                numbers.is_sorted_by(|one, next| one < next) && numbers.last() <= Some(&200),
                "{numbers:?}"
            );
            if numbers.len() < 200 {
                return Err(format!("{} of 200 requests were sent before the end", numbers.len()));
            }
            for record in &records {
                assert_logged_every(record, if of > 1 { 100 } else { 1_000 });
            }
            in_time(&exchanges, began, Duration::from_millis(5), of)
        });
    }
}

#[test]
fn users_of_a_ramp_set_out_one_by_one() {
    for of in [1, 2] {
        until_shown(|| {
            let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(20)));
            let mut spec = spec(&address, 0);
            spec["shape"] = json!({"kind": "ramp", "from_connections": 1, "to_connections": 9, "over_s": 0.8,
                "pause_ms": 0.0, "pause": "fixed"});
            spec["stop"] = for_seconds(1.0);
            let (records, began) = run_together(&parts(&spec, of));
            assert_eq!(sum(&records, |record| record["users"].as_u64().unwrap()), 9);
            let mut first = BTreeMap::new();
            for exchange in witness.exchanges() {
                first.entry(exchange.connection).or_insert(exchange);
            }
            let mut first: Vec<Exchange> = first.into_values().collect();
            first.sort_by_key(|exchange| exchange.read);
            assert_eq!(first.len(), 9);
            in_time(&first, began, Duration::from_millis(100), of)
        });
    }
}

#[test]
fn users_of_a_closed_load_are_shared_out_in_both_phases() {
    let (address, witness) = witnessed(|_| thread::sleep(Duration::from_millis(20)));
    let mut spec = spec(&address, 0);
    spec["shape"]["connections"] = json!(7);
    spec["warm_up"] = json!({"connections": 1, "pauses": true, "stop": for_seconds(0.2)});
    spec["stop"] = for_seconds(0.5);
    let (records, began) = run_together(&parts(&spec, 3));
    assert_eq!(records.iter().map(|record| record["users"].clone()).collect::<Vec<_>>(), [3, 2, 2]);
    let warmed_up: Vec<_> =
        records.iter().map(|record| record["warm_up"]["scheduled"].as_u64().unwrap()).collect();
    assert!(
        warmed_up[0] > 0 && warmed_up[1..] == [0, 0],
        "the only user who warms up is of the first: {warmed_up:?}"
    );
    assert!(witness.exchanges().iter().all(|exchange| exchange.read >= began));
}

#[test]
fn poisson_arrivals_of_two_parts_come_at_the_rate_of_the_whole_and_not_in_pairs() {
    let (address, witness) = witnessed(|_| ());
    let mut spec = spec(&address, 0);
    spec["shape"] = open(40, 400.0);
    spec["shape"]["arrivals"] = json!("poisson");
    spec["stop"] = for_seconds(1.0);
    let (records, _) = run_together(&parts(&spec, 2));
    let due = sum(&records, |record| record["scheduled"].as_u64().unwrap());
    // Five standard deviations of a number of 400 on average.
    assert!((300..=500).contains(&due), "{due}");
    assert!(witness.asked() <= due);
    // With one seed both would send as many, at the same times.
    assert_ne!(records[0]["scheduled"], records[1]["scheduled"]);
    assert_ne!(records[0]["series"]["scheduled"], records[1]["series"]["scheduled"]);
}

#[test]
fn an_instant_that_has_passed_is_now() {
    for shape in
        [json!({"kind": "closed", "connections": 2, "pause_ms": 0.0, "pause": "fixed"}), open(2, 100.0)]
    {
        let mut spec = spec(&answering(HELLO), 0);
        (spec["shape"], spec["stop"], spec["begins"]) = (shape, for_seconds(0.2), json!("told"));
        let mut held = Held::start(&spec);
        assert_eq!(held.says(), json!({"held": 0}));
        let told_ns = now_ns();
        held.tell(&format!("go {}", told_ns - MS));
        let record = held.record();
        assert_consistent(&record);
        let began_ns = record["began_monotonic_ns"].as_u64().unwrap();
        assert!((told_ns..now_ns()).contains(&began_ns), "{began_ns} is not after {told_ns}");
    }
}

#[test]
fn an_instant_of_another_clock_ends_a_load_before_it_begins() {
    let mut spec = spec(&answering(HELLO), 1);
    spec["begins"] = json!("told");
    let mut held = Held::start(&spec);
    assert_eq!(held.says(), json!({"held": 0}));
    held.tell(&format!("go {}", now_ns() + 3_600_000 * MS));
    let error = held.says()["error"].clone();
    assert!(error.as_str().unwrap().contains("by the clock of this machine"), "{error}");
    assert_eq!(held.engine.wait().unwrap().code(), Some(2));
}

#[test]
fn a_number_of_requests_is_refused_to_a_part() {
    let (code, failure) = refusal(&parts(&spec("127.0.0.1:1", 10), 2)[1]);
    assert_eq!(code, Some(2));
    assert!(failure["error"].as_str().unwrap().contains("stop must be a duration"), "{failure}");
}
