//! A peer on loopback that does exactly what its script says, and a trial run against it.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

/// Reads one request to the end of its head; false when the engine has closed.
pub fn read_request(socket: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Listens on a free port and plays `script` on every connection, each on a thread of its own.
pub fn play(script: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let script = script.clone();
            thread::spawn(move || script(socket.unwrap()));
        }
    });
    address
}

/// A peer that answers every request on a connection with the same bytes.
pub fn answering(answer: &'static [u8]) -> String {
    play(move |mut socket| {
        while read_request(&mut socket) {
            if socket.write_all(answer).is_err() {
                return;
            }
        }
    })
}

/// A spec for `requests` requests over 2 connections to `address` that expects the body `hello`.
pub fn spec(address: &str, requests: u64) -> Value {
    let mut spec: Value = serde_json::from_str(include_str!("../../../contract/golden/spec.json")).unwrap();
    spec["target"] = json!({"address": address, "host": address});
    spec["expect"] = json!({
        "status": 200,
        "body_bytes": 5,
        "body_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "hash_one_in": 4
    });
    spec["shape"]["connections"] = json!(2);
    spec["warm_up"] = Value::Null;
    spec["stop"] = json!({"kind": "requests", "requests": requests, "within_s": 10.0});
    spec["timeouts"] = json!({"connect_s": 0.3, "request_s": 0.3});
    spec["probe"]["server_pid"] = json!(std::process::id());
    spec
}

/// Runs the trial; asserts what every record must hold, and returns it.
pub fn run(spec: &Value) -> Value {
    let mut engine = Command::new(env!("CARGO_BIN_EXE_crumple-engine"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    engine.stdin.take().unwrap().write_all(spec.to_string().as_bytes()).unwrap();
    let output = engine.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_identity(&record, "scheduled", "outcomes");
    assert_identity(&record["warm_up"], "scheduled", "outcomes");
    let measured = |column: &str| -> u64 {
        let series = &record["series"];
        let phases = series["phase"].as_array().unwrap();
        let values = series[column].as_array().unwrap();
        let both = phases.iter().zip(values);
        both.filter(|(phase, _)| *phase == "measured").map(|(_, value)| value.as_u64().unwrap()).sum()
    };
    assert_eq!(measured("ok"), count(&record, "ok"), "the series adds up to the total");
    assert_eq!(record["histograms"]["response_time"]["count"], record["outcomes"]["ok"]);
    let unfinished = record["histograms"]["unfinished_age"]["count"].as_u64();
    assert_eq!(unfinished, record["outcomes"]["unfinished"].as_u64());
    record
}

/// Connections busy on average: the time that requests spent in the measured phase over its length.
pub fn busy_connections(record: &Value) -> f64 {
    let spent = |name: &str| {
        let times = &record["histograms"][name];
        times["count"].as_f64().unwrap() * times["mean_ns"].as_f64().unwrap_or(0.0)
    };
    let names = ["response_time", "failed", "timed_out", "unfinished_age", "carried_over"];
    names.into_iter().map(spent).sum::<f64>() / record["measured_ns"].as_f64().unwrap()
}

/// How many requests ended as `outcome`.
pub fn count(record: &Value, outcome: &str) -> u64 {
    record["outcomes"][outcome].as_u64().unwrap()
}

/// Asserts that every request ended as `outcome`, `requests` of them.
pub fn assert_all(record: &Value, outcome: &str, requests: u64) {
    assert_eq!(count(record, outcome), requests, "{:#}", record["outcomes"]);
    assert_eq!(record["scheduled"], requests);
}

fn assert_identity(record: &Value, scheduled: &str, outcomes: &str) {
    let sum: u64 = record[outcomes].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(record[scheduled].as_u64(), Some(sum), "{:#}", record[outcomes]);
}
