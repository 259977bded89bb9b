//! The null server answers in full, however long its answers are and whichever client asks.

mod peer;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use peer::record::assert_all;
use peer::{NullServer, engine, output_of, run, spec};
use serde_json::{Value, json};

fn spec_of(server: &NullServer, body_bytes: usize, requests: u64) -> Value {
    let mut spec = spec(&server.address, requests);
    spec["requests"][0]["expect"]["body_bytes"] = json!(body_bytes);
    spec["requests"][0]["expect"]["body_sha256"] = Value::Null;
    spec["timeouts"]["request_s"] = json!(20.0);
    spec
}

#[test]
fn answers_that_no_socket_takes_at_once_come_whole() {
    let length = 20 << 20;
    let server = NullServer::start(&["--body-bytes", &length.to_string()]);
    assert_all(&run(&spec_of(&server, length, 6)), "ok", 6);
}

#[test]
fn requests_that_are_sent_ahead_are_all_answered() {
    let server = NullServer::start(&["--body-bytes", "3000000"]);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    socket.write_all(&b"GET / HTTP/1.1\r\n\r\n".repeat(5)).unwrap();
    // Each is a whole answer, including the empty line that ends its head.
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 3000000\r\n\r\n";
    let mut answers = vec![0; 5 * (head.len() + 3_000_000)];
    socket.read_exact(&mut answers).unwrap();
    assert!(answers.chunks(head.len() + 3_000_000).all(|answer| answer.starts_with(head)));
}

#[test]
fn connections_come_and_go() {
    let server = NullServer::start(&["--threads", "2"]);
    let mut spec = spec_of(&server, 512, 2_000);
    spec["connection"] = json!("per-request");
    spec["shape"]["connections"] = json!(50);
    let record = run(&spec);
    assert_all(&record, "ok", 2_000);
    assert_eq!(record["connections_opened"], 2_000);
}

#[test]
fn what_it_cannot_be_asked_for_is_a_usage_error() {
    for arguments in [["--body-bytes", "67108865"], ["--threads", "0"], ["--cores", "0,1023"]] {
        let mut server = engine();
        let server = server.arg("null-server").args(arguments).stdin(Stdio::null()).spawn().unwrap();
        assert_eq!(output_of(server).status.code(), Some(2), "{arguments:?}");
    }
}
