//! At which stage requests in flight are found, with servers that keep them where the test knows.

mod peer;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use peer::tls::{Authority, play_tls};
use peer::tried::until_shown;
use peer::{HELLO, after, for_seconds, open, play, read_request, request, run, watched};
use rustls::version::TLS13;
use serde_json::{Value, json};

const STAGES: [&str; 5] = ["not_accepted", "unsent", "unread", "inside", "returning"];
/// The first connections are opened and accepted in this time.
const SETTLED_NS: u64 = 300_000_000;
const WAIT: Duration = Duration::from_millis(100);
/// As `HELLO`, and the connection serves no other request.
const BYE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

/// What the readings of a trial found, on average for each reading once the trial has settled.
struct Seen {
    readings: usize,
    in_flight: f64,
    drawn: f64,
    /// By stage, and thrown away.
    found: Vec<(&'static str, f64)>,
}

impl Seen {
    fn of(record: &Value) -> Self {
        Self::since(record, SETTLED_NS)
    }

    fn since(record: &Value, settled_ns: u64) -> Self {
        let stages = &record["probes"]["stages"];
        assert_eq!(stages["why"], Value::Null);
        let column = |name: &str| -> Vec<u64> { serde_json::from_value(stages[name].clone()).unwrap() };
        let at_ns = column("at_ns");
        assert!(at_ns.is_sorted());
        let settled: Vec<usize> = (0..at_ns.len()).filter(|&row| at_ns[row] >= settled_ns).collect();
        let mean = |name: &str| {
            let column = column(name);
            assert_eq!(column.len(), at_ns.len(), "{name}");
            settled.iter().map(|&row| column[row] as f64).sum::<f64>() / settled.len() as f64
        };
        let found: Vec<_> =
            STAGES.into_iter().chain(["thrown_away"]).map(|name| (name, mean(name))).collect();
        let seen =
            Self { readings: settled.len(), in_flight: mean("in_flight"), drawn: mean("drawn"), found };
        let sum: f64 = seen.found.iter().map(|(_, mean)| mean).sum();
        assert!((sum - seen.drawn).abs() < 1e-6, "{:?}", seen.found);
        assert!(column("drawn").iter().zip(column("in_flight")).all(|(&drawn, all)| drawn <= all.min(64)));
        let spent_ns: u64 = column("cost_ns").iter().sum();
        assert!(spent_ns > 0 && column("late_ns").len() == at_ns.len());
        seen
    }

    fn mean(&self, stage: &str) -> f64 {
        self.found.iter().find(|(name, _)| *name == stage).unwrap().1
    }

    /// Asserts that nearly all requests were at this stage, where they stay for ever.
    fn assert_all(&self, stage: &str) {
        self.assert_share(stage, 0.97);
    }

    fn assert_share(&self, stage: &str, least: f64) {
        assert!(self.readings >= 3, "{} readings", self.readings);
        assert!(self.mean(stage) >= least * self.drawn && self.drawn > 0.0, "{stage}: {:?}", self.found);
    }

    /// Asserts how many of the requests in flight were at this stage. Those that were drawn stand for all, with four standard
    /// errors of drawing without replacement; where all were drawn there is none.
    fn assert_between(&self, stage: &str, least: f64, most: f64) {
        let share = self.mean(stage) / self.drawn;
        let left = (1.0 - self.drawn / self.in_flight).max(0.0);
        let error = (share * (1.0 - share) * left / self.drawn / self.readings as f64).sqrt();
        let (mean, off) = (share * self.in_flight, 4.0 * error * self.in_flight);
        let (drawn, of) = (self.drawn, self.in_flight);
        assert!(
            (least - off..=most + off).contains(&mean),
            "{stage}: {:?}, {drawn} drawn of {of}, off by {off}",
            self.found
        );
    }
}

/// Returns what was seen of a load whose requests stay at this stage for `WAIT`, once most of them were there. On a busy
/// machine they spend some time elsewhere, but at no other stage as much.
fn most_at(stage: &str, spec: &Value) -> Seen {
    let mut shown = None;
    until_shown(|| {
        let seen = Seen::of(&run(spec));
        assert!(seen.found.iter().all(|&(_, mean)| mean <= seen.mean(stage)), "{stage}: {:?}", seen.found);
        if seen.readings < 3 || seen.mean(stage) < 0.7 * seen.drawn || seen.drawn == 0.0 {
            return Err(format!("{} readings, {stage}: {:?}", seen.readings, seen.found));
        }
        shown = Some(seen);
        Ok(())
    });
    shown.unwrap()
}

fn find(address: &str, users: usize) -> Seen {
    Seen::of(&run(&watched(address, users)))
}

/// Listens on a free port of `address`, with a long queue. Returns where a client on this machine reaches it.
fn listen_at(address: &str, client: &str) -> (TcpListener, String) {
    let listener = TcpListener::bind(address).unwrap();
    rustix::net::listen(&listener, 1024).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, format!("{client}:{port}"))
}

/// Serves one connection: waits before each answer.
fn serve(mut socket: TcpStream, answer: &[u8], wait: Duration) {
    while read_request(&mut socket) {
        thread::sleep(wait);
        if socket.write_all(answer).is_err() || answer == BYE {
            return;
        }
    }
}

#[test]
fn without_accept_all_are_not_accepted() {
    for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "127.0.0.1"), ("[::]:0", "[::1]")] {
        let (listener, address) = listen_at(address, client);
        let seen = find(&address, 16);
        assert!(seen.in_flight == 16.0 && seen.drawn >= 8.0, "{} {}", seen.in_flight, seen.drawn);
        seen.assert_all("not_accepted");
        drop(listener);
    }
}

#[test]
fn beyond_a_full_queue_requests_are_not_accepted_either() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 2).unwrap();
    let seen = find(&listener.local_addr().unwrap().to_string(), 16);
    assert_eq!(seen.in_flight, 16.0);
    seen.assert_all("not_accepted");
}

#[test]
fn what_is_accepted_and_not_read_is_unread() {
    for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "127.0.0.1"), ("[::]:0", "[::1]")] {
        let (listener, address) = listen_at(address, client);
        thread::spawn(move || {
            let accepted: Vec<_> = listener.incoming().take(16).collect();
            thread::sleep(Duration::from_secs(30));
            drop(accepted);
        });
        find(&address, 16).assert_all("unread");
    }
}

#[test]
fn a_long_request_that_nobody_reads_is_unread() {
    let address = play(|socket| {
        thread::sleep(Duration::from_secs(30));
        drop(socket);
    });
    let mut spec = watched(&address, 4);
    spec["requests"][0]["method"] = json!("POST");
    spec["requests"][0]["body"] = json!("x".repeat(20_000_000));
    Seen::of(&run(&spec)).assert_all("unread");
}

#[test]
fn what_waits_in_the_server_is_inside() {
    let (listener, address) = listen_at("[::]:0", "127.0.0.1");
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || serve(socket.unwrap(), HELLO, WAIT));
        }
    });
    most_at("inside", &watched(&address, 16));
    most_at("inside", &watched(&after(WAIT), 200));
}

#[test]
fn with_a_connection_for_each_request_it_is_the_same() {
    let mut spec = watched(&after(WAIT), 16);
    spec["connection"] = json!("per-request");
    most_at("inside", &spec);
}

#[test]
fn from_several_source_addresses_it_is_the_same() {
    let mut spec = watched(&after(WAIT), 16);
    spec["target"]["sources"] = json!(["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
    spec["threads"] = json!(2);
    let seen = most_at("inside", &spec);
    assert!(seen.in_flight > 12.0, "{}", seen.in_flight);
}

#[test]
fn over_tls_it_is_the_same() {
    let authority = Authority::new("stages");
    let (address, _) = play_tls(authority.server(&TLS13, false), |socket| {
        while read_request(socket) {
            thread::sleep(WAIT);
            if socket.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let mut spec = watched(&address, 16);
    spec["target"]["tls"] = authority.trusted();
    most_at("inside", &spec);
}

#[test]
fn a_handshake_that_the_server_does_not_go_on_with_keeps_the_request_from_being_sent() {
    let authority = Authority::new("stages");
    let address = play(|socket| {
        thread::sleep(Duration::from_secs(30));
        drop(socket);
    });
    let mut spec = watched(&address, 8);
    spec["target"]["tls"] = authority.trusted();
    Seen::of(&run(&spec)).assert_all("unsent");
}

#[test]
fn of_a_pool_that_accepts_four_the_others_are_not_accepted() {
    let (listener, address) = listen_at("127.0.0.1:0", "127.0.0.1");
    let listener = Arc::new(listener);
    for _ in 0..4 {
        let listener = Arc::clone(&listener);
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                serve(socket, BYE, WAIT);
            }
        });
    }
    let mut spec = watched(&address, 16);
    spec["connection"] = json!("per-request");
    spec["stop"] = for_seconds(3.0);
    let seen = Seen::of(&run(&spec));
    // Between two requests a worker is idle for a moment, and a request that it answers may be seen beside the next.
    seen.assert_between("inside", 2.8, 4.3);
    seen.assert_between("not_accepted", 10.0, 13.0);
}

#[test]
fn of_a_pool_that_reads_four_the_others_are_unread() {
    let (listener, address) = listen_at("127.0.0.1:0", "127.0.0.1");
    let (sockets, waiting) = mpsc::channel::<TcpStream>();
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..4 {
        let (waiting, back) = (Arc::clone(&waiting), sockets.clone());
        thread::spawn(move || {
            loop {
                let Ok(mut socket) = waiting.lock().unwrap().recv() else {
                    return;
                };
                if read_request(&mut socket) {
                    thread::sleep(WAIT);
                    if socket.write_all(HELLO).is_ok() {
                        let _ = back.send(socket);
                    }
                }
            }
        });
    }
    thread::spawn(move || listener.incoming().for_each(|socket| drop(sockets.send(socket.unwrap()))));
    let mut spec = watched(&address, 16);
    spec["stop"] = for_seconds(3.0);
    let seen = Seen::of(&run(&spec));
    seen.assert_between("inside", 2.8, 4.3);
    seen.assert_between("unread", 10.0, 13.0);
}

/// The server's own sleeps divide the time of each request, so that a wrong division shows.
#[test]
fn a_request_is_at_each_stage_for_as_long_as_the_server_keeps_it_there() {
    const PART_BYTES: usize = 100_000;
    const USERS: usize = 16;
    let begun = Arc::new(AtomicU64::new(0));
    let address = play(move |mut socket| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 4 * PART_BYTES);
        // Otherwise all would be at the same stage at one time.
        thread::sleep(Duration::from_millis(40 * begun.fetch_add(1, Relaxed)));
        loop {
            // The request has come when a byte of it has.
            if !socket.peek(&mut [0]).is_ok_and(|bytes| bytes > 0) {
                return;
            }
            thread::sleep(WAIT);
            if !read_request(&mut socket) {
                return;
            }
            thread::sleep(3 * WAIT);
            // When it has read the first part, the engine waits for the rest as a whole.
            for (before, bytes) in [(0, PART_BYTES), (5, PART_BYTES), (200, 2 * PART_BYTES)] {
                thread::sleep(Duration::from_millis(before));
                let head = if before == 0 { head.as_bytes() } else { &[] };
                if socket.write_all(head).is_err() || socket.write_all(&vec![b'x'; bytes]).is_err() {
                    return;
                }
            }
        }
    });
    let mut spec = watched(&address, USERS);
    spec["requests"] = json!([request("GET", 200, 4 * PART_BYTES as u64)]);
    spec["stop"] = for_seconds(5.0);
    let seen = Seen::since(&run(&spec), 1_000_000_000);
    // Of 600 ms, 100 ms unread, 300 ms inside and 200 ms on the way back.
    for (stage, share) in [("unread", 1.0 / 6.0), ("inside", 0.5), ("returning", 1.0 / 3.0)] {
        let mean = share * USERS as f64;
        seen.assert_between(stage, 0.75 * mean, 1.25 * mean);
    }
}

#[test]
fn an_answer_of_which_a_part_waits_is_on_the_way_back() {
    const PART_BYTES: usize = 100_000;
    let address = play(|mut socket| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 4 * PART_BYTES);
        while read_request(&mut socket) {
            // When it has read the first part, the engine waits for the rest as a whole.
            for (before, parts) in [(Duration::ZERO, 1), (Duration::from_millis(5), 1), (2 * WAIT, 2)] {
                thread::sleep(before);
                if parts == 1 && before.is_zero() && socket.write_all(head.as_bytes()).is_err() {
                    return;
                }
                if socket.write_all(&vec![b'x'; parts * PART_BYTES]).is_err() {
                    return;
                }
            }
        }
    });
    let mut spec = watched(&address, 4);
    spec["requests"] = json!([request("GET", 200, 4 * PART_BYTES as u64)]);
    Seen::of(&run(&spec)).assert_between("returning", 2.8, 4.0);
}

#[test]
fn an_answer_that_the_server_writes_slowly_is_inside() {
    let address = play(|mut socket| {
        while read_request(&mut socket) {
            let (first, rest) = HELLO.split_at(HELLO.len() - 3);
            if socket.write_all(first).is_err() {
                return;
            }
            thread::sleep(WAIT);
            if socket.write_all(rest).is_err() {
                return;
            }
        }
    });
    most_at("inside", &watched(&address, 8));
}

#[test]
fn in_an_open_shape_requests_in_flight_are_those_that_were_sent() {
    let mut spec = watched(&after(WAIT), 0);
    spec["shape"] = open(64, 200.0);
    let seen = most_at("inside", &spec);
    // 200 a second for 100 ms each, or more on a busy machine.
    assert!((12.0..=64.0).contains(&seen.in_flight), "{}", seen.in_flight);
}

#[test]
fn nothing_is_read_unless_it_was_asked_for() {
    let mut spec = watched(&after(WAIT), 4);
    spec["probe"]["stages"] = json!(false);
    spec["stop"] = for_seconds(0.2);
    assert_eq!(run(&spec)["probes"]["stages"], Value::Null);
}

#[test]
fn what_cannot_be_read_has_its_reason_and_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut spec = watched(&format!("unix:{}", path.display()), 2);
    spec["stop"] = for_seconds(0.3);
    let record = run(&spec);
    let stages = &record["probes"]["stages"];
    assert!(stages["why"].as_str().unwrap().contains("Unix socket"), "{stages}");
    assert_eq!(stages["at_ns"], json!([]));
    drop(listener);
}
