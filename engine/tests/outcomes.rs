//! Every outcome of the glossary, from a peer that causes it.

mod peer;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use peer::record::{assert_all, assert_all_for, count, reasons};
use peer::tried::until_shown;
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
    assert_all_for(&record, "refused", 10, "refused");
    assert!(record["measured_ns"].as_u64().unwrap() >= 4 * 10_000_000, "each retry rests");
}

#[test]
fn reset() {
    let address = play(|socket| {
        // The kernel sends a reset if the peer closes with an unread request.
        std::thread::sleep(Duration::from_millis(20));
        drop(socket);
    });
    assert_all_for(&run(&spec(&address, 6)), "reset", 6, "before-answer");
}

/// A part of an answer, and where a request is whose answer ends with it.
const PARTS: [(&[u8], &str); 5] = [
    (b"", "before-answer"),
    (b"HTTP/1.1 200", "in-head"),
    (b"HTTP/1.1 103 Early Hints\r\n\r\n", "in-head"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "in-body"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "in-body"),
];

#[test]
fn closed_early_and_reset_by_where_the_answer_was() {
    for (part, place) in PARTS {
        let closing = play(move |mut socket| {
            read_request(&mut socket);
            socket.write_all(part).unwrap();
        });
        assert_all_for(&run(&spec(&closing, 6)), "closed-early", 6, place);
        let resetting = play(move |mut socket| {
            read_request(&mut socket);
            socket.write_all(part).unwrap();
            std::thread::sleep(Duration::from_millis(5)); // A reset drops what the engine has not read.
            peer::reset(socket);
        });
        until_shown(|| {
            let record = run(&spec(&resetting, 6));
            assert_all(&record, "reset", 6);
            let found = reasons(&record, "reset");
            let shown = found == BTreeMap::from([(place.into(), 6)]);
            shown.then_some(()).ok_or(format!("{place}: {found:?}"))
        });
    }
}

#[test]
fn a_kept_connection_that_the_server_closes_with_a_request_in_hand() {
    let address = play(|mut socket| {
        if read_request(&mut socket) && socket.write_all(HELLO).is_ok() {
            read_request(&mut socket);
            // Later than a closing that crosses the request, so that it is not sent again.
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let mut spec = spec(&address, 20);
    spec["shape"]["connections"] = json!(1);
    spec["threads"] = json!(1);
    let record = run(&spec);
    assert_eq!((count(&record, "ok"), count(&record, "closed-early")), (10, 10));
    assert_eq!(reasons(&record, "closed-early"), BTreeMap::from([("kept".into(), 10)]));
}

#[test]
fn malformed() {
    for (answer, why) in [
        (b"SSH-2.0-OpenSSH_9.2\r\n".as_slice(), "not-http"),
        (b"<html>hello</html>", "http09"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "http2"),
        (b"\x15\x03\x01\0\x02\x02\x46", "tls-record"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "status"),
        (b"HTTP/2 200\r\n\r\n", "version"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\r\n", "excess"),
        (b"HTTP/1.1 204 No Content\r\n\r\nhello", "no-body-allowed"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", "no-body-allowed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", "length"),
        (b"HTTP/1.1 200 OK\r\nBad Name: 1\r\nContent-Length: 5\r\n\r\nhello", "field-name"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\nhello", "no-colon"),
        (b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n\r\nhello", "field-value"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", "field-line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", "conflicting-lengths"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "space-before-colon"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n", "chunk"),
        (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer-encoding"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "switched-protocols"),
    ] {
        let record = run(&spec(&answering(answer), 6));
        assert_all_for(&record, "malformed", 6, why);
    }
}

#[test]
fn what_comes_before_a_request_is_named() {
    for (greeting, why) in [
        (b"220 mail.example ESMTP\r\n".as_slice(), "unasked"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "http2"),
    ] {
        let (listener, address) = listen();
        // What is sent while the connection waits to be accepted is there before the request.
        let greets = std::thread::spawn(move || {
            for socket in listener.incoming().take(4) {
                let mut socket = socket.unwrap();
                socket.write_all(greeting).unwrap();
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let record = run(&impatient(&address, 4));
        let found = reasons(&record, "malformed");
        // A greeting that comes after the request was sent stands in place of an answer.
        let expected = [why, if why == "unasked" { "not-http" } else { why }];
        assert!(found.keys().all(|reason| expected.contains(&reason.as_str())), "{found:?}");
        assert_all(&record, "malformed", 4);
        greets.join().unwrap();
    }
}

/// Curl passes over this coding as well. Of one that is not known the end of the connection ends the answer.
#[test]
fn the_coding_identity_changes_nothing() {
    for answer in [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello".as_slice(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: Identity\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        let record = run(&impatient(&answering(answer), 10));
        assert_all(&record, "ok", 10);
        // One of the two threads may send all of them before the other begins.
        assert!(record["connections_opened"].as_u64().unwrap() <= 2);
    }
    for head in [&b"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"[..], b"Connection: keep-alive\r\n", b""]
    {
        let answer = [b"HTTP/1.1 200 OK\r\n", head, b"\r\nhello"].concat().leak();
        let record = run(&impatient(&answering(answer), 4));
        assert_all_for(&record, "timeout", 4, "until-close");
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
    assert_all_for(&record, "timeout", 4, "before-answer");
    let min_ns = record["histograms"]["timed_out"]["min_ns"].as_u64().unwrap();
    let max_ns = record["histograms"]["timed_out"]["max_ns"].as_u64().unwrap();
    let latest_ns = 450_000_000 + 2 * stalls.longest_ns();
    assert!(min_ns >= 299_000_000 && max_ns < latest_ns, "{min_ns} to {max_ns}");
}

#[test]
fn timeouts_by_where_the_answer_was() {
    for (part, place) in PARTS {
        let address = play(move |mut socket| {
            read_request(&mut socket);
            socket.write_all(part).unwrap();
            std::thread::sleep(Duration::from_secs(5));
        });
        assert_all_for(&run(&impatient(&address, 2)), "timeout", 2, place);
    }
    // The peer reads nothing, and the request is longer than the kernels' buffers.
    let deaf = play(|_socket| std::thread::sleep(Duration::from_secs(5)));
    let mut spec = impatient(&deaf, 2);
    spec["requests"][0]["method"] = json!("PUT");
    spec["requests"][0]["body"] = json!("x".repeat(20_000_000));
    assert_all_for(&run(&spec), "timeout", 2, "sending");
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
    assert_all_for(&run(&spec), "connect-timeout", 4, "connecting");
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
