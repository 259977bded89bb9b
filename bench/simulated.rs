//! What the engine's loop costs with more users than a machine has descriptors: the same loop over simulated sockets.
//!
//!     simulated [--shortest] [USERS ...]
//!
//! Prints a line of JSON for each shape and number of users: the CPU time of a request and of an interval's end, and
//! the bytes that the engine holds for each user. Costs are differences between two trials of different length, so
//! that none of them includes the opening of connections. The users of `closed` send again at once, and are visited
//! in the order of their memory. The users of `paused` have exponential think times, and are visited in random order.
//! Further lines are of the fewest users of `closed`, with more kinds of requests. With --shortest the trials are too short for their figures to mean anything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

use crumple_engine::http::feed;
use crumple_engine::net::simulated::{Reply, Script, Simulated};
use crumple_engine::phase::Course;
use crumple_engine::shape::Shape;
use crumple_engine::shape::closed::ClosedLoad;
use crumple_engine::spec::TrialSpec;
use crumple_engine::worker::{Loop, Place};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const USERS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Numbers of kinds of requests, besides one.
const KINDS: [usize; 2] = [1_000, 10_000];
/// Requests per second in the simulation's own time: as many as the loop can serve, or more.
const PER_S: f64 = 250_000.0;

/// By how much the long trials are longer.
#[derive(Clone, Copy)]
struct Longer {
    requests: f64,
    intervals: f64,
}

const LONGER: Longer = Longer {
    requests: 1_500_000.0,
    intervals: 3_000.0,
};
const SHORTEST: Longer = Longer {
    requests: 5_000.0,
    intervals: 30.0,
};

/// Counts the bytes that are allocated.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let is_shortest = std::env::args().any(|argument| argument == "--shortest");
    let longer = if is_shortest { SHORTEST } else { LONGER };
    let given: Vec<usize> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--shortest")
        .map(|users| users.parse().expect("a number of users"))
        .collect();
    let users = if given.is_empty() {
        USERS.to_vec()
    } else {
        given
    };
    for shape in ["closed", "paused"] {
        for &users in &users {
            println!("{}", measured(shape, users, 1, longer));
        }
    }
    let fewest = users.iter().copied().min().unwrap_or(USERS[0]);
    for kinds in KINDS {
        println!("{}", measured("closed", fewest, kinds, longer));
    }
}

fn measured(shape: &str, users: usize, kinds: usize, longer: Longer) -> Value {
    // Each user sends one request in this time.
    let cycle_s = users as f64 / PER_S;
    let opened_s = cycle_s * 3.0 + 0.2;
    let short = trial(shape, users, kinds, cycle_s, opened_s);
    let long_s = opened_s + longer.requests / PER_S;
    let long = trial(shape, users, kinds, cycle_s, long_s);
    // No user sends a request, so the loop only ends intervals.
    let idle_short = trial("idle", users, kinds, cycle_s, 1.0);
    let idle_s = 1.0 + longer.intervals * 0.1;
    let idle_long = trial("idle", users, kinds, cycle_s, idle_s);
    let intervals = ((long.seconds - short.seconds) / 0.1).round();
    let interval_ns = (idle_long.cpu_ns - idle_short.cpu_ns) / longer.intervals;
    let requests = (long.requests - short.requests) as f64;
    json!({
        "shape": shape,
        "users": users,
        "kinds": kinds,
        "requests": requests,
        "ns_per_request": (long.cpu_ns - short.cpu_ns - intervals * interval_ns) / requests,
        "ns_per_interval_end": interval_ns,
        "bytes_per_user": long.bytes_per_user,
    })
}

struct Trial {
    seconds: f64,
    requests: u64,
    cpu_ns: f64,
    bytes_per_user: f64,
}

fn trial(shape: &str, users: usize, kinds: usize, cycle_s: f64, seconds: f64) -> Trial {
    let (answer_s, pause_s) = match shape {
        "closed" => (cycle_s, 0.0),
        "paused" => (cycle_s * 0.1, cycle_s * 0.9),
        _ => (0.001, 80_000.0),
    };
    let spec = spec(users, kinds, pause_s, seconds);
    let plan = spec
        .plan()
        .map_err(|failure| failure.error)
        .expect("it makes sense");
    let Shape::Closed(closed) = &plan.shape else {
        unreachable!("it is closed");
    };
    let course = Course::new(None, plan.stop);
    course.begin(1_000_000_000);
    let (outbox, inbox) = mpsc::channel();
    let (returned, spent) = mpsc::channel();
    let (mut feeds, _) = feed::feeds(&plan.requests, 1, plan.part, plan.seed);
    let script = Script {
        answer_ns: (answer_s * 1e9) as u64,
        answer: |_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ..Script::default()
    };
    let net = Simulated::new(script, users, 1_000_000_000);
    let held = HELD.load(Relaxed);
    let place = Place {
        course: &course,
        thread: 0,
        feed: feeds.remove(0),
        outbox,
        spent,
        board: None,
    };
    let load = ClosedLoad::new(closed, &course, None, (0, 1), plan.seed);
    let worker = Loop::new(&plan, place, net, load);
    // Tallies go back at once, as from the collector.
    let collector = std::thread::spawn(move || {
        let mut requests = 0;
        let mut most = 0;
        for tally in inbox {
            requests += tally.outcomes().ok;
            most = most.max(HELD.load(Relaxed));
            let _ = returned.send(tally);
        }
        (requests, most)
    });
    let began_ns = cpu_ns();
    drop(worker.run());
    let cpu_ns = cpu_ns() - began_ns;
    let (requests, most) = collector.join().expect("it only counts");
    Trial {
        seconds,
        requests,
        cpu_ns,
        bytes_per_user: most.saturating_sub(held) as f64 / users as f64,
    }
}

fn spec(users: usize, kinds: usize, pause_s: f64, seconds: f64) -> TrialSpec {
    let request = json!({
        "name": "", "method": "GET", "path": "/", "headers": [], "body": null, "body_file": null,
        "varies": false, "weight": 1,
        "expect": {"status": 200, "body_bytes": 5, "body_sha256": null, "hash_one_in": 0},
    });
    let spec = json!({
        "version": crumple_engine::spec::CONTRACT_VERSION,
        "label": "simulated",
        "target": {"address": "127.0.0.1:1", "host": "simulated", "tls": null, "sources": []},
        "requests": vec![request; kinds],
        "shape": {"kind": "closed", "connections": users, "pause_ms": pause_s * 1e3, "pause": "exponential"},
        "connection": "keep-alive",
        "kernel_timestamps": true,
        "pacing": "sleep",
        "warm_up": null,
        "stop": {"kind": "duration", "duration_s": seconds},
        "timeouts": {"connect_s": 1000.0, "request_s": 1000.0},
        "threads": 1,
        "cores": [],
        "probe": {"interval_ms": 100, "server_pid": null, "stages": false, "tasks": false, "dependencies": false, "speed_of_cores": []},
        "progress": {"every_ms": 1000, "slower_than_ns": []},
        "examples": "unexpected",
        "seed": 1,
    });
    serde_json::from_value(spec).expect("it is a spec")
}

/// Returns the CPU time of this thread.
fn cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
