//! Servers that end connections: with an early answer, with a last answer, with a reset, or without an answer. The
//! record says what the server did. The engine is not charged with what the server caused. A request that is not
//! idempotent is not sent twice.

mod peer;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use peer::asked::{Asked, length, read_head};
use peer::record::{assert_all, count, times};
use peer::tls::{Authority, TlsSocket, play_tls};
use peer::{HELLO, for_seconds, listen, open, play, read_request, request, reset, run, spec};
use rustls::version::TLS13;
use serde_json::{Value, json};

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
const TOO_LARGE: &[u8] =
    b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";

/// Returns the spec of a trial of requests with a body of 10 MB, which is more than the sockets hold.
fn large_requests(address: &str, requests: u64) -> Value {
    let mut spec = spec(address, requests);
    spec["requests"] = json!([request("POST", 200, 5)]);
    spec["requests"][0]["body"] = json!("x".repeat(10_000_000));
    spec["stop"]["within_s"] = json!(50.0);
    spec
}

/// Answers after the head and reads the body only then. The engine may go on with the connection.
fn answer_early(socket: &mut (impl Read + Write)) {
    while let Some(head) = read_head(socket) {
        if socket.write_all(NOT_FOUND).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
        let mut left = length(&head);
        let mut piece = vec![0; 1 << 16];
        while left > 0 {
            let most = piece.len().min(left);
            match socket.read(&mut piece[..most]) {
                Ok(0) | Err(_) => return,
                Ok(bytes) => left -= bytes,
            }
        }
    }
}

#[test]
fn an_early_answer_is_taken_while_its_request_is_sent() {
    let address = play(|mut socket| answer_early(&mut socket));
    assert_all(&run(&large_requests(&address, 4)), "wrong-status", 4);
    let authority = Authority::new("of the tests");
    let (address, _) =
        play_tls(authority.server(&TLS13, false), |socket: &mut TlsSocket| answer_early(socket));
    let mut spec = large_requests(&address, 4);
    spec["target"]["tls"] = authority.trusted();
    assert_all(&run(&spec), "wrong-status", 4);
}

#[test]
fn an_answer_before_a_reset_counts() {
    // The kernel sends a reset when the peer closes with an unread body: long after the answer, or at once.
    for rest in [Duration::from_millis(20), Duration::ZERO] {
        let address = play(move |mut socket| {
            read_head(&mut socket);
            let _ = socket.write_all(TOO_LARGE);
            thread::sleep(rest);
        });
        let record = run(&large_requests(&address, 4));
        assert_all(&record, "wrong-status", 4);
        assert_eq!(record["connections_opened"], 4);
    }
}

#[test]
fn a_reset_without_an_answer_is_a_reset() {
    let address = play(|mut socket| {
        read_head(&mut socket);
        thread::sleep(Duration::from_millis(20));
    });
    assert_all(&run(&large_requests(&address, 4)), "reset", 4);
}

/// Plays a peer that accepts this many connections and then answers on all of them. Also returns how long accepting
/// took.
fn accepting(connections: usize) -> (String, Arc<OnceLock<Duration>>) {
    let (listener, address) = listen();
    let span = Arc::new(OnceLock::new());
    let spanned = span.clone();
    thread::spawn(move || {
        let accept = || (listener.accept().unwrap().0, Instant::now());
        let accepted: Vec<_> = std::iter::repeat_with(accept).take(connections).collect();
        spanned.set(accepted[connections - 1].1 - accepted[0].1).unwrap();
        for (mut socket, _) in accepted {
            thread::spawn(move || while read_request(&mut socket) && socket.write_all(HELLO).is_ok() {});
        }
    });
    (address, span)
}

#[test]
fn connect_times_are_those_of_single_connections() {
    const CONNECTIONS: usize = 800;
    let (address, accepting) = accepting(CONNECTIONS);
    let mut spec = spec(&address, CONNECTIONS as u64);
    spec["threads"] = json!(1);
    spec["shape"]["connections"] = json!(CONNECTIONS);
    let record = run(&spec);
    assert_eq!(record["connections_opened"], CONNECTIONS);
    let all = accepting.get().unwrap();
    let median_ns = times(&record, "connect_time").value_at_quantile(0.5);
    assert!(u128::from(median_ns) < all.as_nanos() / 4, "half of them took {median_ns} ns, and all {all:?}");
}

/// Returns the spec of 100 requests a second over two connections. Each takes 100 ms for a request and then ends as
/// `end` says, so that most of what a request waits for is caused by the server.
fn overloaded(end: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> Value {
    let address = play(move |mut socket| {
        if read_request(&mut socket) {
            thread::sleep(Duration::from_millis(100));
            end(socket);
        }
    });
    let mut spec = spec(&address, 0);
    spec["shape"] = open(2, 100.0);
    spec["stop"] = for_seconds(1.5);
    spec
}

/// Asserts that requests to an overloaded server waited, and that the engine is not charged with this.
fn assert_not_ours(how: &str, spec: &Value) {
    let record = run(spec);
    let lateness_ns = times(&record, "lateness").max();
    assert!(lateness_ns > 500_000_000, "{how}: {lateness_ns}");
    // Not the maximum: a busy machine may delay the engine, too.
    let own = times(&record, "engine_lateness");
    let (median_ns, p90_ns) = (own.value_at_quantile(0.5), own.value_at_quantile(0.9));
    assert!(median_ns < lateness_ns / 20, "{how}: {median_ns} of {lateness_ns}");
    assert!(p90_ns < lateness_ns / 2, "{how}: {p90_ns} of {lateness_ns}");
}

/// Sends `answer`, and closes when the engine has closed.
fn answer_and_wait(answer: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync + Clone + 'static {
    move |mut socket| {
        let _ = socket.write_all(answer);
        let _ = socket.read(&mut [0]);
    }
}

/// Sends `answer` and closes at once.
fn answer_and_close(answer: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync + Clone + 'static {
    move |mut socket| {
        let _ = socket.write_all(answer);
    }
}

#[test]
fn a_server_that_closes_after_its_answer_is_late_by_itself() {
    assert_not_ours("closed by the server, which says so", &overloaded(answer_and_close(LAST)));
    let unsaid = b"HTTP/1.1 200 OK\r\n\r\nhello";
    assert_not_ours("closed by the server", &overloaded(answer_and_close(unsaid)));
    assert_not_ours("closed by the server, which said otherwise", &overloaded(answer_and_close(HELLO)));
}

#[test]
fn a_connection_per_request_is_late_by_the_server() {
    let mut per_request = overloaded(answer_and_wait(HELLO));
    per_request["connection"] = json!("per-request");
    assert_not_ours("closed by the engine", &per_request);
}

#[test]
fn failed_connections_are_late_by_the_server() {
    assert_not_ours("closed early", &overloaded(answer_and_close(HALF)));
    assert_not_ours("reset", &overloaded(reset));
    assert_not_ours("malformed", &overloaded(answer_and_wait(b"garbage\r\n")));
}

#[test]
fn timeouts_are_late_by_the_server() {
    let mut silent = overloaded(|_| thread::sleep(Duration::from_secs(60)));
    silent["timeouts"]["request_s"] = json!(0.7);
    assert_not_ours("timed out", &silent);
}

/// Asserts that users all of whose requests end as `outcome` send again no sooner than 10 ms later.
fn assert_unhurried(how: &str, mut spec: Value, outcome: &str) {
    spec["shape"]["connections"] = json!(2);
    spec["stop"] = for_seconds(0.5);
    let record = run(&spec);
    let failures = count(&record, outcome);
    assert_eq!(failures + count(&record, "unfinished"), record["scheduled"].as_u64().unwrap(), "{how}");
    assert!((2..=MOST_FAILURES).contains(&failures), "{how}: {failures}");
}

/// In 500 ms, each of two users can begin 51 times, 10 ms apart.
const MOST_FAILURES: u64 = 2 * 51;

#[test]
fn who_fails_comes_back_after_a_rest() {
    for (how, outcome) in [("closed", "closed-early"), ("reset", "reset"), ("garbage", "malformed")] {
        let accepted = Arc::new(AtomicU64::new(0));
        let counter = accepted.clone();
        let address = play(move |mut socket| {
            counter.fetch_add(1, Relaxed);
            read_request(&mut socket);
            match how {
                "closed" => {}
                "reset" => reset(socket),
                _ => {
                    let _ = socket.write_all(b"garbage\r\n");
                    let _ = socket.read(&mut [0]);
                }
            }
        });
        assert_unhurried(how, spec(&address, 0), outcome);
        assert!(accepted.load(Relaxed) <= MOST_FAILURES, "{how}: {accepted:?}");
    }
}

#[test]
fn who_is_not_trusted_comes_back_after_a_rest() {
    let (trusted, stranger) = (Authority::new("trusted"), Authority::new("stranger"));
    let (address, handshakes) = play_tls(stranger.server(&TLS13, false), |_: &mut TlsSocket| ());
    let mut spec = spec(&address, 0);
    spec["target"]["tls"] = trusted.trusted();
    assert_unhurried("a handshake that fails", spec, "malformed");
    assert!(handshakes.lock().unwrap().len() as u64 <= MOST_FAILURES);
}

#[test]
fn what_is_not_idempotent_is_not_asked_twice() {
    // When the peer closes without an answer, it has done what the second request asked for (RFC 9110, 9.2.2).
    for (method, is_idempotent) in [("POST", false), ("PATCH", false), ("PUT", true), ("DELETE", true)] {
        let done = Arc::new(AtomicU64::new(0));
        let counter = done.clone();
        let address = play(move |mut socket| {
            for _ in 0..2 {
                if Asked::read(&mut socket).is_none() {
                    return;
                }
                let is_second = counter.fetch_add(1, Relaxed) % 2 == 1;
                if is_second || socket.write_all(HELLO).is_err() {
                    return;
                }
            }
        });
        let mut spec = spec(&address, 20);
        spec["requests"] = json!([request(method, 200, 5)]);
        spec["shape"]["connections"] = json!(1);
        spec["shape"]["pause_ms"] = json!(5.0);
        let record = run(&spec);
        if is_idempotent {
            // On a busy machine the peer may close too late for some of them.
            let again = record["retried"].as_u64().unwrap();
            assert!(again >= 10, "{method}: {again}");
            assert_eq!(done.load(Relaxed), 20 + again, "{method}");
        } else {
            assert_eq!((count(&record, "ok"), count(&record, "closed-early")), (10, 10), "{method}");
            assert_eq!((&record["retried"], done.load(Relaxed)), (&json!(0), 20), "{method}");
        }
    }
}

/// Plays a peer that answers GET as expected, and POST with another body of the same length.
fn half_wrong() -> String {
    play(|mut socket| {
        while let Some(asked) = Asked::read(&mut socket) {
            let wrong = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo";
            if socket.write_all(if asked.method() == "POST" { wrong } else { HELLO }).is_err() {
                return;
            }
        }
    })
}

#[test]
fn each_kind_of_request_has_a_sample_of_its_own() {
    let mut spec = spec(&half_wrong(), 2048);
    spec["threads"] = json!(1);
    spec["requests"] = json!([request("GET", 200, 5), request("POST", 200, 5)]);
    spec["requests"][0]["expect"]["hash_one_in"] = json!(64);
    spec["requests"][1]["expect"]["hash_one_in"] = json!(1);
    let record = run(&spec);
    assert_eq!((count(&record, "ok"), count(&record, "wrong-body")), (1024, 1024));
    // One in 64, and the first of each connection.
    let hashed = record["bodies_hashed"].as_u64().unwrap();
    assert!((16..=18).contains(&hashed), "{hashed}");
}

#[test]
fn the_first_answer_of_each_connection_is_of_the_sample() {
    let mut spec = spec(&half_wrong(), 20);
    spec["requests"] = json!([request("POST", 200, 5)]);
    spec["requests"][0]["expect"]["hash_one_in"] = json!(1000);
    spec["connection"] = json!("per-request");
    assert_all(&run(&spec), "wrong-body", 20);
}

#[test]
fn a_phase_once_begun_stays_begun() {
    // The phase may change between two requests that are sent together. This happens once in about a dozen trials.
    let address = play(|mut socket| while read_request(&mut socket) && socket.write_all(HELLO).is_ok() {});
    for _ in 0..10 {
        let mut spec = spec(&address, 0);
        spec["threads"] = json!(4);
        spec["shape"] = open(64, 20_000.0);
        spec["shape"]["arrivals"] = json!("poisson");
        spec["warm_up"] = json!({"connections": null, "pauses": true, "stop": for_seconds(0.03)});
        spec["stop"] = for_seconds(0.03);
        run(&spec); // It asserts that the rows are in order and add up.
    }
}
