//! Open shapes: every request of the schedule is accounted for, however the trial ends.

mod peer;

use std::thread;
use std::time::Duration;

use peer::record::count;
use peer::{HELLO, after, answering, for_seconds, open, record_of, run, spec, start};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

#[test]
fn a_number_of_requests_that_its_time_cuts_short_is_accounted_for() {
    for threads in [1, 3] {
        let mut spec = spec(&answering(HELLO), 1_000);
        spec["shape"] = open(6, 100.0);
        spec["threads"] = json!(threads);
        spec["stop"]["within_s"] = json!(0.4);
        let record = run(&spec);
        assert_eq!(record["scheduled"], 1_000, "{threads} threads");
        assert!(count(&record, "ok") <= 40 && count(&record, "not-sent") >= 960);
    }
}

#[test]
fn what_nobody_could_send_of_millions_a_second_is_counted_at_once() {
    let mut spec = spec(&after(Duration::from_secs(20)), 0);
    spec["shape"] = open(1, 10_000_000.0);
    spec["timeouts"]["request_s"] = json!(60.0);
    spec["stop"] = for_seconds(2.0);
    let record = run(&spec);
    assert_eq!((count(&record, "unfinished"), count(&record, "ok")), (1, 0));
    assert!(record["scheduled"].as_u64().unwrap().abs_diff(20_000_000) <= 1, "{}", record["scheduled"]);
}

#[test]
fn a_trial_that_is_interrupted_counts_what_was_due_until_then() {
    let mut spec = spec(&after(Duration::from_secs(20)), 0);
    spec["shape"] = open(1, 1_000_000.0);
    spec["timeouts"]["request_s"] = json!(60.0);
    spec["stop"] = for_seconds(50.0);
    let engine = start(&spec);
    thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_child(&engine), Signal::INT).unwrap();
    let record = record_of(engine);
    let due = record["measured_ns"].as_u64().unwrap() / 1_000;
    assert!(record["scheduled"].as_u64().unwrap().abs_diff(due) <= 1, "{} of {due}", record["scheduled"]);
}
