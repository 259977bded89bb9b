//! A peer on loopback that does what its script says, and a trial against it.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod asked;
pub mod harness;
pub mod held;
pub mod proxy;
pub mod record;
pub mod tls;
#[path = "../../src/tried.rs"]
pub mod tried;
pub mod witness;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use asked::Asked;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};

pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Reads one request. Returns false when the engine has closed.
pub fn read_request(socket: &mut impl Read) -> bool {
    Asked::read(socket).is_some()
}

/// Listens on a free port and plays `script` on every connection, each on a thread of its own.
pub fn play(script: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let (listener, address) = listen();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let script = script.clone();
            thread::spawn(move || script(socket.unwrap()));
        }
    });
    address
}

/// Listens on a free port. Also returns the address.
pub fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // The queue holds all connections of a test at once, so that none waits for a lost SYN.
    rustix::net::listen(&listener, 1024).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Plays a peer that answers every request on a connection with the same bytes.
pub fn answering(answer: &'static [u8]) -> String {
    play(move |mut socket| while read_request(&mut socket) && socket.write_all(answer).is_ok() {})
}

/// Plays a peer that answers each request with `hello` after `wait`.
pub fn after(wait: Duration) -> String {
    play(move |mut socket| {
        while read_request(&mut socket) {
            thread::sleep(wait);
            if socket.write_all(HELLO).is_err() {
                return;
            }
        }
    })
}

/// Plays a peer that answers a request with `start`, and then with `rest` over and over until the engine closes.
pub fn endless(start: &'static [u8], rest: &'static [u8]) -> String {
    let rest = rest.repeat(4096 / rest.len() + 1);
    play(move |mut socket| {
        if read_request(&mut socket) && socket.write_all(start).is_ok() {
            while socket.write_all(&rest).is_ok() {}
        }
    })
}

/// Makes the socket close with a reset instead of the end of the stream.
pub fn reset(socket: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
}

/// Returns a spec for `requests` requests over 2 connections to `address`, which expects the body `hello`.
pub fn spec(address: &str, requests: u64) -> Value {
    json!({
        "version": 5,
        "label": "peer",
        "target": {"address": address, "host": "peer.test", "tls": null, "sources": []},
        "requests": [request("GET", 200, 5)],
        "shape": {"kind": "closed", "connections": 2, "pause_ms": 0.0, "pause": "fixed"},
        "connection": "keep-alive",
        "kernel_timestamps": true,
        "pacing": "sleep",
        "warm_up": null,
        "stop": {"kind": "requests", "requests": requests, "within_s": 10.0},
        "timeouts": {"connect_s": 10.0, "request_s": 10.0},
        "threads": 2,
        "cores": [],
        "probe": {"interval_ms": 100, "server_pid": std::process::id(), "stages": false, "tasks": false, "dependencies": false, "speed_of_cores": []},
        "progress": {"every_ms": 1000, "slower_than_ns": []},
        "examples": "unexpected",
        "seed": 42
    })
}

/// Returns the same spec with a timeout of 0.3 s, for peers that never answer.
pub fn impatient(address: &str, requests: u64) -> Value {
    let mut spec = spec(address, requests);
    spec["timeouts"]["request_s"] = json!(0.3);
    spec
}

/// Returns a request that expects this status and a body of this length; a body of five bytes is to be `hello`.
pub fn request(method: &str, status: u16, body_bytes: u64) -> Value {
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    json!({
        "name": "",
        "method": method,
        "path": "/",
        "headers": [],
        "body": null,
        "body_file": null,
        "varies": false,
        "weight": 1,
        "expect": {
            "status": status,
            "body_bytes": body_bytes,
            "body_sha256": if body_bytes == 5 { json!(sha256) } else { Value::Null },
            "hash_one_in": 4
        }
    })
}

/// Returns an open shape with even arrivals at one rate.
pub fn open(connections: usize, per_s: f64) -> Value {
    let rate = json!({"from_per_s": per_s, "to_per_s": per_s, "duration_s": 1.0});
    json!({"kind": "open", "connections": connections, "arrivals": "even", "rates": [rate]})
}

pub fn for_seconds(seconds: f64) -> Value {
    json!({"kind": "duration", "duration_s": seconds})
}

/// Returns a spec of this many users whose requests are watched for a second and a half.
pub fn watched(address: &str, users: usize) -> Value {
    let mut spec = spec(address, 0);
    spec["probe"]["stages"] = json!(true);
    spec["shape"]["connections"] = json!(users);
    spec["threads"] = json!(1);
    spec["stop"] = for_seconds(1.5);
    spec
}

/// Runs the trial, asserts what must hold of every record, and returns the record.
pub fn run(spec: &Value) -> Value {
    record_of(start(spec))
}

/// Starts the engine and gives it the spec.
pub fn start(spec: &Value) -> Child {
    start_by(engine(), spec)
}

/// Returns the engine's command line, with its output piped to the test.
pub fn engine() -> Command {
    let mut engine = Command::new(env!("CARGO_BIN_EXE_crumple-engine"));
    engine.stdout(Stdio::piped()).stderr(Stdio::piped());
    engine
}

/// Starts `command`, with its own streams, as an engine and gives it the spec.
pub fn start_by(mut command: Command, spec: &Value) -> Child {
    give(command.arg("run").stdin(Stdio::piped()).spawn().unwrap(), spec)
}

/// Starts an engine that may open this many descriptors from before it has the spec.
pub fn start_with_descriptors(limit: Rlimit, spec: &Value) -> Child {
    let engine = engine().arg("run").stdin(Stdio::piped()).spawn().unwrap();
    prlimit(Pid::from_child(&engine).into(), Resource::Nofile, limit).unwrap();
    give(engine, spec)
}

fn give(mut engine: Child, spec: &Value) -> Child {
    engine.stdin.take().unwrap().write_all(spec.to_string().as_bytes()).unwrap();
    engine
}

/// Waits for the record of a started trial, and asserts what must hold of every record.
pub fn record_of(engine: Child) -> Value {
    let output = output_of(engine);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    record::assert_consistent(&record);
    record
}

/// Returns the exit code and the only line of an engine that refuses a spec.
pub fn refusal(spec: &Value) -> (Option<i32>, Value) {
    let output = output_of(start(spec));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (output.status.code(), serde_json::from_str(&text).unwrap())
}

/// Returns the output of an engine. If it does not end within a minute, it is killed, and its test fails.
pub fn output_of(engine: Child) -> Output {
    let pid = Pid::from_child(&engine);
    let (ended, wait) = mpsc::channel::<()>();
    thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = engine.wait_with_output().unwrap();
    drop(ended);
    output
}

/// The engine's null server in a process of its own. It ends when dropped.
pub struct NullServer {
    process: Child,
    pub address: String,
}

impl NullServer {
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = engine().arg("null-server").args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self { process, address: format!("127.0.0.1:{}", said["port"]) }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
