//! Peers that do what no server should do. Whatever comes, each request ends with the outcome that fits it, and the
//! engine neither hangs nor grows.

mod peer;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use peer::record::{assert_all, busy_connections, count, times};
use peer::tried::until_shown;
use peer::witness::Stalls;
use peer::{answering, endless, for_seconds, impatient, listen, play, read_request, reset, run, spec};
use serde_json::{Value, json};

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";

/// Returns the most memory that the engine used.
fn engine_bytes(record: &Value) -> u64 {
    record["probes"]["engine"]["window"]["rss_max_bytes"].as_u64().unwrap()
}

#[test]
fn a_reset_in_the_middle_of_the_body() {
    let address = play(|mut socket| {
        read_request(&mut socket);
        socket.write_all(HALF).unwrap();
        thread::sleep(Duration::from_millis(5));
        reset(socket);
    });
    assert_all(&run(&spec(&address, 6)), "reset", 6);
}

#[test]
fn half_a_body_and_then_silence() {
    let record = run(&impatient(&answering(HALF), 4));
    assert_all(&record, "timeout", 4);
    assert_eq!(record["received_bytes"], 4 * HALF.len() as u64);
}

#[test]
fn an_answer_that_drips() {
    let address = play(|mut socket| {
        socket.set_nodelay(true).unwrap();
        read_request(&mut socket);
        while socket.write_all(b"H").is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    // The second byte already makes it malformed.
    assert_all(&run(&spec(&address, 4)), "malformed", 4);
    let address = play(|mut socket| {
        socket.set_nodelay(true).unwrap();
        read_request(&mut socket);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while socket.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    assert_all(&run(&impatient(&address, 4)), "timeout", 4);
}

/// No server of HTTP sends urgent data. The kernel keeps it apart from the stream (tcp(7)).
#[test]
fn urgent_data_within_an_answer_delay_nothing() {
    let address = play(|mut socket| {
        while read_request(&mut socket) {
            socket.write_all(HALF).unwrap();
            let urgent = rustix::net::send(&socket, b"!", rustix::net::SendFlags::OOB);
            if urgent.is_err() || socket.write_all(b"llo").is_err() {
                return;
            }
        }
    });
    let mut spec = spec(&address, 20);
    spec["stop"]["within_s"] = json!(4.0);
    assert_all(&run(&spec), "ok", 20);
}

#[test]
fn garbage() {
    for garbage in [
        b"\x16\x03\x01\x00\xf1\x01\x00\x00".as_slice(),
        b"\0\0\0\0\0\0\0\0",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        // Lengths that are never reached.
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
    ] {
        assert_all(&run(&spec(&answering(garbage), 4)), "malformed", 4);
    }
}

#[test]
fn endless_heads_are_given_up() {
    for (start, rest) in [
        (b"HTTP/1.1 200 OK\r\n".as_slice(), b"X: y\r\n".as_slice()),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"x"),
    ] {
        let record = run(&spec(&endless(start, rest), 6));
        assert_all(&record, "malformed", 6);
        assert!(engine_bytes(&record) < 64 << 20, "{} bytes", engine_bytes(&record));
    }
}

#[test]
fn what_has_no_end_ends_with_the_timeout() {
    for (start, rest) in [
        (b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), b"body".as_slice()),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", b"body"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4\r\nbody\r\n"),
        (b"HTTP/1.1 102 Processing\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ] {
        until_shown(|| {
            let stalls = Stalls::watch();
            let record = run(&impatient(&endless(start, rest), 4));
            assert_all(&record, "timeout", 4);
            assert!(record["received_bytes"].as_u64().unwrap() > 1_000_000, "it was read all the while");
            assert!(engine_bytes(&record) < 64 << 20, "{} bytes", engine_bytes(&record));
            let given_up = times(&record, "timed_out");
            let latest_ns = 600_000_000 + 2 * stalls.longest_ns();
            let given_up_ns = given_up.max();
            if given_up_ns >= latest_ns {
                return Err(format!("a flood keeps the clock from being seen: {given_up_ns} of {latest_ns}"));
            }
            Ok(())
        });
    }
}

#[test]
fn slow_accept() {
    // The server takes one request at a time, for 20 ms each. Each of the four connections also waits for three
    // others.
    let (listener, address) = listen();
    let answered = Arc::new(Mutex::new(Vec::new()));
    let log = answered.clone();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            thread::sleep(Duration::from_millis(20));
            if read_request(&mut socket) && socket.write_all(peer::HELLO).is_ok() {
                log.lock().unwrap().push(Instant::now());
            }
        }
    });
    let mut spec = spec(&address, 0);
    spec["shape"]["connections"] = json!(4);
    spec["connection"] = json!("per-request");
    spec["stop"] = for_seconds(1.0);
    let record = run(&spec);
    let answered = answered.lock().unwrap().clone();
    let ok = count(&record, "ok");
    assert!(ok <= 50 && (ok..=ok + 4).contains(&(answered.len() as u64)), "{ok} of {}", answered.len());
    // A request is sent after one answer, and the fourth answer from then on is its own.
    let mut rounds: Vec<u64> =
        answered.windows(5).map(|round| (round[4] - round[0]).as_nanos() as u64).collect();
    rounds.sort_unstable();
    let (round_ns, longest_ns) = (rounds[rounds.len() / 2], rounds[rounds.len() - 1]);
    let median_ns = times(&record, "response_time").value_at_quantile(0.5);
    assert!((79_000_000..round_ns + 20_000_000).contains(&median_ns), "{median_ns} in rounds of {round_ns}");
    // The kernel completes handshakes for a server that does not accept.
    let connected_ns = times(&record, "connect_time").value_at_quantile(0.5);
    assert!(connected_ns < round_ns / 4, "{connected_ns} in rounds of {round_ns}");
    // All connections are busy from beginning to end, except while the engine starts.
    let busy = busy_connections(&record);
    let least = 3.9 - 4.0 * (longest_ns - 80_000_000) as f64 / 1e9;
    assert!((least..=4.01).contains(&busy), "{busy} of 4 connections");
}
