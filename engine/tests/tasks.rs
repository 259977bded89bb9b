//! What the record says of the server's threads.

mod peer;

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use peer::tried::until_shown;
use peer::{NullServer, after, for_seconds, refusal, run, spec};
use serde_json::{Value, json};

/// Whoever looks at the threads of this process holds it: they are those of all tests.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns a spec of this many users whose server's threads are looked at.
fn watched(address: &str, users: usize, seconds: f64) -> Value {
    let mut spec = spec(address, 0);
    spec["probe"]["tasks"] = json!(true);
    spec["shape"]["connections"] = json!(users);
    spec["stop"] = for_seconds(seconds);
    spec
}

fn warm_up(seconds: f64) -> Value {
    json!({"connections": null, "pauses": true, "stop": for_seconds(seconds)})
}

fn column(record: &Value, name: &str) -> Vec<u64> {
    serde_json::from_value(record["probes"]["tasks"][name].clone()).unwrap()
}

fn why(record: &Value, field: &str) -> Option<String> {
    let unread = record["probes"]["tasks"]["unread"].as_array().unwrap();
    let found = unread.iter().find(|unread| unread["field"] == field)?;
    found["why"].as_str().map(Into::into)
}

#[test]
fn the_threads_of_a_server_are_looked_at_and_their_time_is_added_up() {
    let server = NullServer::start(&["--threads", "2", "--body-bytes", "5"]);
    let mut spec = watched(&server.address, 8, 1.5);
    spec["probe"]["server_pid"] = json!(server.pid());
    spec["requests"][0]["expect"]["body_sha256"] = Value::Null;
    spec["warm_up"] = warm_up(0.3);
    let record = run(&spec);
    let tasks = &record["probes"]["tasks"];
    assert_eq!(tasks["why"], Value::Null);
    // Other processes of this machine may begin others meanwhile: then it is said that those were not of the tree.
    let unread = tasks["unread"].as_array().unwrap();
    assert!(unread.iter().all(|unread| unread["field"] == "born"), "{unread:?}");
    let [at_ns, threads, looked] = ["at_ns", "threads", "looked"].map(|name| column(&record, name));
    let parts = ["running", "disk", "stopped"].map(|name| column(&record, name));
    assert!(at_ns.len() >= 3 && at_ns.is_sorted(), "{at_ns:?}");
    for row in 0..at_ns.len() {
        // It starts all of its threads before it says its port, and none later.
        assert!(threads[row] == threads[0] && threads[0] >= 2 && looked[row] == threads[row], "{tasks:#}");
        assert!(parts.iter().map(|part| part[row]).sum::<u64>() <= looked[row]);
    }
    assert!(["late_ns", "cost_ns"].iter().all(|name| column(&record, name).len() == at_ns.len()));
    let seen = tasks["threads_seen"].as_array().unwrap();
    assert_eq!((seen.len() as u64, &tasks["born"], &tasks["ended"]), (threads[0], &json!(0), &json!(0)));
    assert!(seen.iter().all(|thread| thread["pid"] == server.pid() && thread["ended"] == false));
    for sum in ["cpu_ns", "run_queue_ns"] {
        let all: u64 = seen.iter().map(|thread| thread[sum].as_u64().unwrap()).sum();
        assert_eq!(tasks[sum], all);
    }
    let names = tasks["by_name"].as_array().unwrap();
    assert_eq!(names.iter().map(|name| name["threads"].as_u64().unwrap()).sum::<u64>(), threads[0]);
    assert_eq!(tasks["cpu_ns"], names.iter().map(|name| name["cpu_ns"].as_u64().unwrap()).sum::<u64>());
    // It uses no more cores than it has threads, and the readings begin and end with the measured phase.
    let (window_ns, cpu_ns) = (tasks["window_ns"].as_u64().unwrap(), tasks["cpu_ns"].as_u64().unwrap());
    assert!(cpu_ns > 0 && cpu_ns <= threads[0] * (window_ns + 20_000_000), "{tasks:#}");
    assert!(window_ns > 1_000_000_000, "{window_ns}");
}

#[test]
fn of_a_thousand_threads_readings_keep_to_half_a_percent_of_the_time() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut spec = watched(&after(Duration::from_secs(3)), 1_000, 2.0);
    spec["warm_up"] = warm_up(1.0);
    let record = run(&spec);
    let (threads, cost_ns) = (column(&record, "threads"), column(&record, "cost_ns"));
    assert!(*threads.last().unwrap() >= 1_000, "{threads:?}");
    let at_ns = column(&record, "at_ns");
    // Readings may be a tenth of a second ahead of their pace, and what the last one cost has not been rested for.
    let allowed_ns = (at_ns.last().unwrap() + 100_000_000) / 200 + cost_ns.iter().max().unwrap();
    assert!(cost_ns.iter().sum::<u64>() <= allowed_ns, "{cost_ns:?}");
    let profile = &record["probes"]["tasks"]["profile"];
    let sampling_ns = profile["cost_ns"].as_u64().unwrap();
    assert!(sampling_ns <= record["measured_ns"].as_u64().unwrap() * 3 / 100, "{profile:#}");
}

#[test]
fn threads_that_live_as_long_as_a_connection_are_born_and_end() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut spec = watched(&after(Duration::from_millis(100)), 20, 1.5);
    spec["connection"] = json!("per-request");
    spec["warm_up"] = warm_up(0.3);
    until_shown(|| {
        let record = run(&spec);
        let tasks = &record["probes"]["tasks"];
        assert!(tasks["threads_seen"].as_array().unwrap().len() <= 64);
        // The threads live for 100 ms each, and late readings meet few of them.
        let (born, ended) = (tasks["born"].as_u64().unwrap(), tasks["ended"].as_u64().unwrap());
        if born < 10 || ended < 10 {
            return Err(format!("{born} were born and {ended} ended"));
        }
        assert!(why(&record, "ended_cpu_ns").unwrap().contains("threads ended"));
        assert!(tasks["threads_seen"].as_array().unwrap().iter().any(|thread| thread["ended"] == true));
        Ok(())
    });
}

#[test]
fn a_server_that_is_gone_has_its_reason_and_no_rows() {
    let mut process = Command::new("true").spawn().unwrap();
    process.wait().unwrap();
    let mut spec = watched(&after(Duration::ZERO), 2, 0.2);
    spec["probe"]["server_pid"] = json!(process.id());
    let record = run(&spec);
    assert!(record["probes"]["tasks"]["why"].as_str().unwrap().contains("is gone"));
    assert_eq!(column(&record, "at_ns"), [0; 0]);
    assert_eq!(record["probes"]["tasks"]["cpu_ns"], Value::Null);
}

#[test]
fn nothing_is_read_unless_it_was_asked_for() {
    let mut spec = watched(&after(Duration::ZERO), 2, 0.2);
    spec["probe"]["tasks"] = json!(false);
    assert_eq!(run(&spec)["probes"]["tasks"], Value::Null);
}

#[test]
fn without_a_server_there_is_nobody_to_look_at() {
    let mut spec = watched("127.0.0.1:1", 2, 0.2);
    spec["probe"]["server_pid"] = Value::Null;
    let (exit_code, line) = refusal(&spec);
    assert_eq!(exit_code, Some(2));
    assert!(line["error"].as_str().unwrap().contains("probe.tasks"), "{line}");
}
