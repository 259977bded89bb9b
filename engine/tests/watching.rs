//! What is watched on the server's host while the load comes from elsewhere: the window of it, and how it ends.

mod peer;

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crumple_engine::clock::now_ns;
use peer::{for_seconds, spec};
use serde_json::{Value, json};

/// A server that computes all the time.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct Watching {
    engine: Child,
    orders: Option<ChildStdin>,
    said: Lines<BufReader<std::process::ChildStderr>>,
}

impl Watching {
    fn start(spec: &Value) -> Self {
        let mut engine = peer::engine().arg("watch").stdin(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(engine.stderr.take().unwrap()).lines();
        let orders = engine.stdin.take();
        let mut watching = Self { engine, orders, said };
        watching.order(&spec.to_string());
        watching
    }

    fn order(&mut self, line: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{line}").unwrap();
    }

    fn is_held(&mut self, turns: usize) {
        let line = self.said.next().unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), json!({"held": turns}));
    }

    fn probes(mut self) -> Value {
        let probes = serde_json::from_reader::<ChildStdout, _>(self.engine.stdout.take().unwrap()).unwrap();
        assert!(self.engine.wait().unwrap().success());
        probes
    }

    fn ended(mut self) -> ExitStatus {
        self.orders = None;
        self.engine.wait().unwrap()
    }
}

fn watching_of(server: &Busy, measured_s: f64) -> Value {
    let mut spec = spec("127.0.0.1:1", 0);
    spec["stop"] = for_seconds(measured_s);
    spec["probe"]["server_pid"] = json!(server.0.id());
    spec["probe"]["tasks"] = json!(true);
    spec["probe"]["dependencies"] = json!(true);
    spec
}

/// How long what was used was read for, in seconds.
fn span_s(probes: &Value) -> f64 {
    probes["server"]["window"]["span_ns"].as_f64().unwrap() / 1e9
}

#[test]
fn a_server_is_watched_from_the_line_go_for_the_time_of_the_load() {
    let server = Busy::start();
    let mut watching = Watching::start(&watching_of(&server, 1.0));
    watching.is_held(0);
    thread::sleep(Duration::from_millis(200)); // It has not begun.
    watching.order("go");
    let probes = watching.probes();
    assert!((0.9..=10.0).contains(&span_s(&probes)), "{}", probes["server"]);
    assert!(probes["server"]["window"]["cpu_user_ns"].as_u64().unwrap() > 0);
    assert!(probes["tasks"]["at_ns"].as_array().unwrap().len() > 1, "{}", probes["tasks"]);
    assert!(probes["machine"]["window"]["busy_ns"].as_u64().unwrap() > 0);
    assert!(!probes["sockets"]["at_ns"].as_array().unwrap().is_empty());
    assert_eq!(probes["threads"], json!([]));
}

#[test]
fn it_begins_at_the_instant_that_it_is_told() {
    let server = Busy::start();
    let mut watching = Watching::start(&watching_of(&server, 0.3));
    watching.is_held(0);
    let (told, ahead) = (Instant::now(), Duration::from_millis(500));
    watching.order(&format!("go {}", now_ns() + ahead.as_nanos() as u64));
    let probes = watching.probes();
    assert!(told.elapsed() >= ahead + Duration::from_millis(300), "{:?}", told.elapsed());
    assert!((0.2..=10.0).contains(&span_s(&probes)), "{}", span_s(&probes));
}

#[test]
fn it_is_told_when_a_warm_up_by_number_and_a_load_by_number_are_over() {
    let server = Busy::start();
    let mut spec = watching_of(&server, 1.0);
    let by_number = json!({"kind": "requests", "requests": 10, "within_s": 3_600.0});
    spec["warm_up"] = json!({"connections": null, "pauses": true, "stop": by_number});
    spec["stop"] = by_number;
    let mut watching = Watching::start(&spec);
    watching.is_held(0);
    watching.order("go");
    thread::sleep(Duration::from_millis(700));
    watching.order("measure");
    thread::sleep(Duration::from_millis(500));
    watching.order("end");
    let probes = watching.probes();
    assert!((0.4..=10.0).contains(&span_s(&probes)), "{}", span_s(&probes));
    let at_ns: Vec<u64> = serde_json::from_value(probes["server"]["samples"]["at_ns"].clone()).unwrap();
    // 1.2 s from the order to the end; the axis begins when the order is read, which takes a moment.
    assert!(*at_ns.last().unwrap() >= 1_000_000_000, "the warm-up is on the time axis: {at_ns:?}");
}

#[test]
fn turns_are_watched_as_one_and_nothing_in_between() {
    let server = Busy::start();
    let mut spec = watching_of(&server, 0.6);
    spec["turns"] = json!([
        {"warm_up_s": 0.1, "measured_s": 0.0},
        {"warm_up_s": 0.1, "measured_s": 0.3},
        {"warm_up_s": 0.1, "measured_s": 0.3},
    ]);
    let mut watching = Watching::start(&spec);
    for turn in 0..3 {
        watching.is_held(turn);
        thread::sleep(Duration::from_millis(700));
        watching.order("go");
    }
    let probes = watching.probes();
    assert!((0.55..=10.0).contains(&span_s(&probes)), "{}", span_s(&probes));
    let at_ns: Vec<u64> = serde_json::from_value(probes["server"]["samples"]["at_ns"].clone()).unwrap();
    assert!(*at_ns.last().unwrap() <= 800_000_001, "0.2 s of warm-up and two turns: {at_ns:?}");
}

#[test]
fn a_load_that_is_over_before_it_begins_leaves_probes_without_a_window() {
    let server = Busy::start();
    let mut watching = Watching::start(&watching_of(&server, 1.0));
    watching.is_held(0);
    watching.order("end");
    assert_eq!(watching.probes()["server"]["window"], Value::Null);
}

#[test]
fn it_ends_when_nobody_can_give_it_orders_any_more() {
    let server = Busy::start();
    for begins in [false, true] {
        let mut watching = Watching::start(&watching_of(&server, 3_600.0));
        watching.is_held(0);
        if begins {
            watching.order("go");
        }
        assert_eq!(watching.ended().code(), Some(1));
    }
}
