//! Every outcome of the glossary, from a peer that causes it.

mod peer;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use peer::record::{assert_all, count};
use peer::witness::Stalls;
use peer::{HELLO, answering, impatient, listen, play, read_request, run, spec};
use serde_json::json;

#[test]
fn ok() {
    let mut spec = spec(&answering(HELLO), 100);
    spec["threads"] = json!(1); // With two threads, one may be done before the other begins.
    let record = run(&spec);
    assert_all(&record, "ok", 100);
    assert_eq!(record["connections_opened"], 2);
    assert_eq!(record["received_bytes"], 100 * HELLO.len() as u64);
    let hashed = record["bodies_hashed"].as_u64().unwrap();
    assert!((25..=27).contains(&hashed), "one in four and the first of each connection: {hashed}");
}

#[test]
fn ok_in_every_framing() {
    for answer in [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n".as_slice(),
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        assert_all(&run(&spec(&answering(answer), 20)), "ok", 20);
    }
    let until_close = play(|mut socket| {
        read_request(&mut socket);
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
    });
    let record = run(&spec(&until_close, 20));
    assert_all(&record, "ok", 20);
    assert_eq!(record["connections_opened"], 20);
}

#[test]
fn ok_in_single_bytes() {
    let drip = play(|mut socket| {
        socket.set_nodelay(true).unwrap();
        while read_request(&mut socket) {
            for byte in HELLO {
                socket.write_all(&[*byte]).unwrap();
                std::thread::yield_now();
            }
        }
    });
    assert_all(&run(&spec(&drip, 6)), "ok", 6);
}

#[test]
fn ok_with_a_connection_per_request() {
    let mut spec = spec(&answering(HELLO), 30);
    spec["connection"] = json!("per-request");
    let record = run(&spec);
    assert_all(&record, "ok", 30);
    assert_eq!(record["connections_opened"], 30);
    assert_eq!(record["histograms"]["connect_time"]["count"], 30);
}

#[test]
fn wrong_status() {
    let address = answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nhello");
    assert_all(&run(&spec(&address, 20)), "wrong-status", 20);
}

#[test]
fn wrong_body_by_length() {
    let address = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell");
    assert_all(&run(&spec(&address, 20)), "wrong-body", 20);
}

#[test]
fn wrong_body_by_content_is_found_by_the_sample() {
    let address = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo");
    let mut spec = spec(&address, 100);
    let record = run(&spec);
    assert!((25..=27).contains(&count(&record, "wrong-body")), "{:#}", record["outcomes"]);
    spec["requests"][0]["expect"]["hash_one_in"] = json!(1);
    assert_all(&run(&spec), "wrong-body", 100);
}

#[test]
fn refused() {
    let (listener, address) = listen();
    drop(listener);
    let record = run(&spec(&address, 10));
    assert_all(&record, "refused", 10);
    assert!(record["measured_ns"].as_u64().unwrap() >= 4 * 10_000_000, "each retry rests");
}

#[test]
fn reset() {
    let address = play(|socket| {
        // The kernel sends a reset if the peer closes with an unread request.
        std::thread::sleep(Duration::from_millis(20));
        drop(socket);
    });
    assert_all(&run(&spec(&address, 6)), "reset", 6);
}

#[test]
fn closed_early() {
    for part in [b"".as_slice(), b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"] {
        let address = play(move |mut socket| {
            read_request(&mut socket);
            socket.write_all(part).unwrap();
        });
        assert_all(&run(&spec(&address, 6)), "closed-early", 6);
    }
}

#[test]
fn malformed() {
    for (answer, why) in [
        (b"SSH-2.0-OpenSSH_9.2\r\n".as_slice(), "not-http"),
        (b"HTTP/2 200\r\n\r\n", "version"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\r\n", "excess"),
        (b"HTTP/1.1 204 No Content\r\n\r\nhello", "excess"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", "conflicting-lengths"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "field-line"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n", "chunk"),
        (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer-encoding"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "switched-protocols"),
    ] {
        let record = run(&spec(&answering(answer), 6));
        assert_all(&record, "malformed", 6);
        assert_eq!(record["malformed"], json!({why: 6}));
        assert_eq!(record["requests"][0]["examples"][0]["malformed"], why);
    }
}

#[test]
fn timeout() {
    let stalls = Stalls::watch();
    let silent = play(|mut socket| {
        read_request(&mut socket);
        std::thread::sleep(Duration::from_secs(5));
    });
    let record = run(&impatient(&silent, 4));
    assert_all(&record, "timeout", 4);
    let min_ns = record["histograms"]["timed_out"]["min_ns"].as_u64().unwrap();
    let max_ns = record["histograms"]["timed_out"]["max_ns"].as_u64().unwrap();
    let latest_ns = 450_000_000 + 2 * stalls.longest_ns();
    assert!(min_ns >= 299_000_000 && max_ns < latest_ns, "{min_ns} to {max_ns}");
}

#[test]
fn connect_timeout() {
    // The listener never accepts, and its queue is full. So the kernel answers no SYN.
    let (listener, address) = listen();
    rustix::net::listen(&listener, 1).unwrap();
    let numeric = listener.local_addr().unwrap();
    let fill = || TcpStream::connect_timeout(&numeric, Duration::from_millis(500)).ok();
    let _filling: Vec<_> = std::iter::from_fn(fill).collect();
    let mut spec = spec(&address, 4);
    spec["timeouts"]["connect_s"] = json!(0.3);
    assert_all(&run(&spec), "connect-timeout", 4);
}

#[test]
fn not_sent_and_unfinished() {
    // The peer answers two requests on each of two connections, and no more.
    let address = play(|mut socket| {
        for _ in 0..2 {
            if !read_request(&mut socket) || socket.write_all(HELLO).is_err() {
                return;
            }
        }
        while read_request(&mut socket) {}
    });
    let mut spec = spec(&address, 1000);
    spec["stop"]["within_s"] = json!(0.5);
    let record = run(&spec);
    assert_eq!(count(&record, "ok"), 4);
    assert_eq!(count(&record, "unfinished"), 2);
    assert_eq!(count(&record, "not-sent"), 994);
    let age_ns = record["histograms"]["unfinished_age"]["max_ns"].as_u64().unwrap();
    assert!((250_000_000..=501_000_000).contains(&age_ns), "in flight since the beginning: {age_ns}");
}
