//! What the probes report of a server that they cannot read completely.

mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use peer::{after, for_seconds, run, spec};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};

fn why(record: &Value, field: &str) -> Option<String> {
    let unread = record["probes"]["server"]["unread"].as_array().unwrap();
    let found = unread.iter().find(|unread| unread["field"] == field)?;
    found["why"].as_str().map(Into::into)
}

#[test]
fn the_switches_of_a_server_with_a_thread_per_request_are_not_known() {
    // The server's threads live as long as their connections: for 50 ms. On a busy machine the probes read them only at
    // both ends of the measured phase, so this phase begins with thirty threads that have ended before it ends.
    let mut spec = spec(&after(Duration::from_millis(50)), 0);
    spec["connection"] = json!("per-request");
    spec["shape"]["connections"] = json!(30);
    spec["warm_up"] = json!({"connections": null, "pauses": true, "stop": for_seconds(0.2)});
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    assert_eq!(record["probes"]["server"]["window"]["voluntary_switches"], Value::Null);
    assert!(why(&record, "voluntary_switches").unwrap().contains("threads ended between two readings"));
}

#[test]
fn what_the_machine_did_is_at_least_what_engine_and_server_did() {
    let mut spec = spec(&after(Duration::ZERO), 0);
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    let machine = &record["probes"]["machine"];
    let of = |field: &str| machine["window"][field].as_u64().unwrap_or_else(|| panic!("{machine}"));
    assert_eq!(machine["unread"], json!([]));
    assert!(of("cores") >= 1);
    // This is counted in ticks, which may or may not fall while a thread works.
    let server = &record["probes"]["server"]["window"];
    let server_ns = server["cpu_user_ns"].as_u64().unwrap() + server["cpu_kernel_ns"].as_u64().unwrap();
    assert!(of("busy_ns") >= server_ns / 2, "{machine} beside {server}");
    assert!(of("steal_ns") <= of("cores") * 2_000_000_000, "{machine}");
}

#[test]
fn readings_keep_to_half_a_percent_of_the_time_however_often_they_are_due() {
    let mut spec = spec(&after(Duration::from_millis(2)), 0);
    spec["probe"]["interval_ms"] = json!(1);
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    // Rows may take a quarter of a percent, 2.5 ms of this second. This is enough for 400 rows of 6 us, and no row
    // takes less.
    let rows = record["probes"]["server"]["samples"]["at_ns"].as_array().unwrap().len();
    assert!((3..400).contains(&rows), "{rows}");
}

#[test]
fn the_speed_of_named_cores_is_read_and_of_none_it_is_null() {
    let mut spec = spec(&after(Duration::from_millis(2)), 0);
    spec["stop"] = for_seconds(0.5);
    assert_eq!(run(&spec)["probes"]["speed"], Value::Null);
    let core =
        (0..1_024).find(|&core| rustix::thread::sched_getaffinity(None).unwrap().is_set(core)).unwrap();
    spec["probe"]["speed_of_cores"] = json!([core]);
    let speed = run(&spec)["probes"]["speed"].clone();
    assert_eq!(speed["why"], Value::Null);
    // A hundred are due.
    assert!((10..=200).contains(&speed["readings"].as_u64().unwrap()), "{speed}");
    let mean_per_s = speed["mean_per_s"].as_f64().unwrap();
    assert!((1_000.0..1_000_000.0).contains(&mean_per_s), "{speed}");
    let share = speed["cost_ns"].as_f64().unwrap() / 5e8;
    assert!(share < 0.1, "readings take {share} of the core");
}

/// Starts a thread that computes on `core` until `is_over`.
fn computes_on(core: usize, is_over: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let is_over = Arc::clone(is_over);
    thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).unwrap();
        while !is_over.load(Relaxed) {}
    })
}

#[test]
fn how_long_threads_of_the_server_waited_for_a_core_is_known_without_asking_what_they_do() {
    let core = (0..1_024).find(|&core| sched_getaffinity(None).unwrap().is_set(core)).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    // At any time two of the three are ready to run and do not run.
    let three: Vec<_> = (0..3).map(|_| computes_on(core, &is_over)).collect();
    let mut spec = spec(&after(Duration::from_millis(5)), 0);
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    is_over.store(true, Relaxed);
    three.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(record["probes"]["tasks"], Value::Null);
    let window = &record["probes"]["server"]["window"];
    let of = |field: &str| window[field].as_f64().unwrap_or_else(|| panic!("{field}: {window}"));
    let waiting = of("run_queue_ns") / of("threads_span_ns");
    // Where others want this core, too, it is more.
    assert!(waiting > 1.9, "{waiting} threads waited on average: {window}");
}

#[test]
fn of_threads_that_end_the_record_says_how_much_of_the_cpu_time_was_seen() {
    let mut spec = spec(&after(Duration::from_millis(50)), 0);
    spec["connection"] = json!("per-request");
    spec["shape"]["connections"] = json!(30);
    spec["stop"] = for_seconds(1.0);
    let window = &run(&spec)["probes"]["server"]["window"];
    assert!(window["run_queue_ns"].is_u64(), "{window}");
    let seen_ns = window["run_queue_cpu_ns"].as_u64().unwrap();
    let all_ns = window["cpu_user_ns"].as_u64().unwrap() + window["cpu_kernel_ns"].as_u64().unwrap();
    assert!(seen_ns > 0 && seen_ns < all_ns, "{window}");
}
