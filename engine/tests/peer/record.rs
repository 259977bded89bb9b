//! What a record says, and what must hold of every record whatever the peer did.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns how many requests ended as `outcome`.
pub fn count(record: &Value, outcome: &str) -> u64 {
    record["outcomes"][outcome].as_u64().unwrap()
}

/// Asserts that there were `requests` requests, and that all of them ended as `outcome`.
pub fn assert_all(record: &Value, outcome: &str, requests: u64) {
    assert_eq!(count(record, outcome), requests, "{:#}", record["outcomes"]);
    assert_eq!(record["scheduled"], requests);
}

/// Returns the histogram `name` of a record, in nanoseconds.
pub fn times(record: &Value, name: &str) -> Histogram<u64> {
    decode(record["histograms"][name]["encoded"].as_str().unwrap())
}

/// Returns how many times of the histogram are at least `ms` milliseconds long.
pub fn longer_than(times: &Histogram<u64>, ms: u64) -> u64 {
    times.count_between(ms * 1_000_000, u64::MAX)
}

/// Returns the mean number of busy connections: the time that requests spent in the measured phase, and that answers
/// waited before they were taken up, over the length of the phase.
pub fn busy_connections(record: &Value) -> f64 {
    let spent = |name: &str| {
        let times = &record["histograms"][name];
        times["count"].as_f64().unwrap() * times["mean_ns"].as_f64().unwrap_or(0.0)
    };
    let names = ["response_time", "failed", "timed_out", "unfinished_age", "carried_over"];
    let held_ns = record["arrivals"]["held_ns"].as_f64().unwrap();
    let before_ns = spent("taken_over");
    (names.into_iter().map(spent).sum::<f64>() - before_ns + held_ns)
        / record["measured_ns"].as_f64().unwrap()
}

/// Returns a column of the record's series.
pub fn series<T: DeserializeOwned>(record: &Value, column: &str) -> Vec<T> {
    serde_json::from_value(record["series"][column].clone()).unwrap()
}

/// Returns why requests ended with this outcome, and how many for each reason.
pub fn reasons(record: &Value, outcome: &str) -> BTreeMap<String, u64> {
    let rows = record["reasons"].as_array().unwrap().iter().filter(|row| row["outcome"] == outcome);
    rows.map(|row| (row["reason"].as_str().unwrap().into(), row["count"].as_u64().unwrap())).collect()
}

/// Asserts that all requests ended with this outcome for this reason, and that the first example says so.
pub fn assert_all_for(record: &Value, outcome: &str, number: u64, reason: &str) {
    assert_all(record, outcome, number);
    assert_eq!(reasons(record, outcome), BTreeMap::from([(reason.into(), number)]));
    assert_eq!(record["requests"][0]["examples"][0]["reason"], reason);
    let first_ns = record["reasons"][0]["first_ns"].as_u64().unwrap();
    let ends_ns = record["warm_up_ns"].as_u64().unwrap() + record["measured_ns"].as_u64().unwrap();
    assert!((1..=ends_ns).contains(&first_ns), "{first_ns} of {ends_ns}");
}

/// Asserts that the parts of a record agree with one another.
pub fn assert_consistent(record: &Value) {
    assert_identity(record);
    assert_identity(&record["warm_up"]);
    assert_rows_in_order(record);
    let number = |value: &Value| value.as_u64().unwrap();
    let why: u64 = record["not_sent"].as_object().unwrap().values().map(number).sum();
    assert_eq!(why, count(record, "not-sent"), "every request not sent has its reason");
    for outcome in ["refused", "reset", "closed-early", "connect-timeout", "timeout", "malformed"] {
        let why: u64 = reasons(record, outcome).values().sum();
        assert_eq!(why, count(record, outcome), "every {outcome} has its reason");
    }
    let measured = |column: &str| -> u64 {
        let series = &record["series"];
        let phases = series["phase"].as_array().unwrap();
        let both = phases.iter().zip(series[column].as_array().unwrap());
        both.filter(|(phase, _)| *phase == "measured").map(|(_, value)| number(value)).sum()
    };
    assert_eq!(measured("ok"), count(record, "ok"), "the series adds up to the total");
    let logged = record["log"]["response_time"].as_array().unwrap();
    let logged: u64 = logged.iter().map(|encoded| decode(encoded.as_str().unwrap()).len()).sum();
    assert_eq!(logged, count(record, "ok"), "and so does the log");
    let histograms = &record["histograms"];
    assert_eq!(number(&histograms["response_time"]["count"]), count(record, "ok"));
    assert_eq!(number(&histograms["time_to_first_byte"]["count"]), count(record, "ok"));
    assert_eq!(number(&histograms["unfinished_age"]["count"]), count(record, "unfinished"));
    let timeouts = count(record, "timeout") + count(record, "connect-timeout");
    assert_eq!(number(&histograms["timed_out"]["count"]), timeouts);
}

/// Asserts that each row begins after the one before, and the measured phase after the warm-up.
fn assert_rows_in_order(record: &Value) {
    let at_ns: Vec<u64> = series(record, "at_ns");
    let phases: Vec<String> = series(record, "phase");
    let (warm_up, measured) = at_ns.split_at(phases.iter().take_while(|phase| *phase == "warm-up").count());
    assert!(phases[warm_up.len()..].iter().all(|phase| phase == "measured"), "{phases:?}");
    let logged: Vec<u64> = serde_json::from_value(record["log"]["at_ns"].clone()).unwrap();
    for at_ns in [warm_up, measured, &logged] {
        assert!(at_ns.is_sorted_by(|one, next| one < next), "{at_ns:?}");
    }
}

fn assert_identity(of: &Value) {
    let sum: u64 = of["outcomes"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(of["scheduled"].as_u64(), Some(sum), "{:#}", of["outcomes"]);
}

fn decode(encoded: &str) -> Histogram<u64> {
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}
