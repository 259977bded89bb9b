//! This machine runs out of ports or descriptors, or has no route. The record says why these requests were not sent,
//! and none of them counts as a failure of the server.

mod peer;

use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use peer::harness::{self, CannotRun};
use peer::record::{assert_all, count};
use peer::witness::witnessed;
use peer::{
    HELLO, answering, for_seconds, open, output_of, record_of, run, spec, start, start_with_descriptors,
};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use rustix::thread::UnshareFlags;
use serde_json::{Value, json};

fn main() -> ExitCode {
    harness::run(named![
        ports_run_out,
        ports_run_out_in_an_open_shape,
        each_source_address_has_ports_of_its_own,
        descriptors_run_out,
        more_connections_than_descriptors_are_refused_before_anything_is_sent,
        an_address_without_a_route_refuses_nothing,
    ])
}

/// Moves the calling thread, and all that it starts from now on, to a network namespace of its own, and brings its
/// loopback device up. The namespace ends with the thread.
fn own_network() -> Result<(), String> {
    // SAFETY: nothing in a network namespace is relied upon by Rust.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
        .map_err(|errno| format!("{errno}; it takes root"))?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).output();
    let up = up.map_err(|error| format!("cannot start ip(8): {error}"))?;
    up.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&up.stderr).into_owned())
}

/// Plays `act` in a network namespace of its own, in which sockets have 100 ports to connect from.
fn with_few_ports(act: impl FnOnce() + Send + 'static) -> Result<(), CannotRun> {
    let played = thread::spawn(|| own_network().map(|()| act()));
    played.join().unwrap().map_err(|why| CannotRun(format!("no network of our own is to be had here: {why}")))
}

fn narrow_ports() {
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40099").unwrap();
}

/// Returns a spec of users who are asked until they have sent twenty requests each, however busy the machine is: all of
/// them have their turn before the load is over.
fn keep_alive(connections: usize) -> Value {
    let address = answering(HELLO); // It has to listen before the range of ports is narrowed.
    narrow_ports();
    let mut spec = spec(&address, 0);
    spec["shape"]["connections"] = json!(connections);
    spec["shape"]["pause_ms"] = json!(20.0);
    spec["stop"] = json!({"kind": "requests", "requests": 20 * connections, "within_s": 30.0});
    spec["timeouts"] = json!({"connect_s": 5.0, "request_s": 5.0});
    spec
}

fn ports_run_out() -> Result<(), CannotRun> {
    with_few_ports(|| {
        let record = run(&keep_alive(150));
        assert_eq!(record["connections_opened"], 100);
        let not_sent = count(&record, "not-sent");
        assert!(not_sent >= 50, "the users without a port try again: {not_sent}");
        assert_eq!(record["not_sent"]["ports"], not_sent);
        assert_eq!(count(&record, "ok") + not_sent + count(&record, "unfinished"), record["scheduled"]);
    })
}

fn ports_run_out_in_an_open_shape() -> Result<(), CannotRun> {
    with_few_ports(|| {
        let mut spec = keep_alive(1);
        spec["connection"] = json!("per-request");
        // The ports are taken within 0.4 seconds. A machine that is busy meanwhile has the rest of the time for it.
        spec["shape"] = open(50, 250.0);
        spec["stop"] = for_seconds(2.0);
        std::fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "0").unwrap();
        let record = run(&spec);
        // A port is not free for a minute after its connection. There are as many ports as requests in 400 ms.
        assert_eq!(count(&record, "ok"), 100);
        assert_eq!(record["scheduled"], 500);
        assert_eq!(count(&record, "not-sent") + count(&record, "unfinished"), 400);
        assert!(record["not_sent"]["ports"].as_u64().unwrap() > 0, "{:#}", record["not_sent"]);
    })
}

fn each_source_address_has_ports_of_its_own() -> Result<(), CannotRun> {
    with_few_ports(|| {
        let mut spec = keep_alive(200);
        spec["target"]["sources"] = json!(["127.0.0.2", "127.0.0.3"]);
        let record = run(&spec);
        assert_eq!(record["connections_opened"], 200);
        assert_eq!(count(&record, "not-sent"), 0);
        assert_eq!(count(&record, "ok") + count(&record, "unfinished"), record["scheduled"]);
    })
}

fn descriptors_run_out() -> Result<(), CannotRun> {
    let (address, witness) = witnessed(|_| ());
    let mut spec = spec(&address, 0);
    spec["connection"] = json!("per-request");
    spec["shape"]["pause_ms"] = json!(5.0);
    spec["stop"] = for_seconds(50.0);
    let engine = start(&spec);
    let pid = Pid::from_child(&engine);
    let deadline = Instant::now() + Duration::from_secs(20);
    while witness.answered() < 60 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    // From now on the engine may open no descriptor.
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(pid.into(), Resource::Nofile, none).unwrap();
    thread::sleep(Duration::from_millis(500));
    kill_process(pid, Signal::INT).unwrap();
    let record = record_of(engine);
    assert!(count(&record, "ok") >= 50, "{:#}", record["outcomes"]);
    assert!(count(&record, "not-sent") >= 10, "{:#}", record["outcomes"]);
    assert_eq!(record["not_sent"]["descriptors"], record["outcomes"]["not-sent"]);
    assert_eq!(count(&record, "refused") + count(&record, "reset"), 0);
    Ok(())
}

fn more_connections_than_descriptors_are_refused_before_anything_is_sent() -> Result<(), CannotRun> {
    let mut spec = spec("127.0.0.1:1", 1);
    spec["shape"]["connections"] = json!(500);
    let few = Rlimit { current: Some(100), maximum: Some(100) };
    let output = output_of(start_with_descriptors(few, &spec));
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let failure: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(failure["remedy"].as_str().unwrap().contains("ulimit -Hn"), "{failure:#}");
    Ok(())
}

fn an_address_without_a_route_refuses_nothing() -> Result<(), CannotRun> {
    let played = thread::spawn(|| {
        own_network()?;
        // Networks of no machine (RFC 5737, RFC 3849). The first has no route, nor has the last.
        let routed = [("unreachable", "198.51.100.0/24"), ("blackhole", "203.0.113.0/24")];
        for (kind, network) in routed {
            let added = Command::new("ip").args(["route", "add", kind, network]).status();
            added.map_err(|error| error.to_string())?;
        }
        for address in ["192.0.2.7:80", "198.51.100.7:80", "203.0.113.7:80", "[2001:db8::7]:80"] {
            let record = run(&spec(address, 6));
            assert_all(&record, "not-sent", 6);
            assert_eq!(record["not_sent"]["route"], 6, "{address}: {:#}", record["not_sent"]);
        }
        Ok(())
    });
    played.join().unwrap().map_err(|why: String| CannotRun(why))
}
