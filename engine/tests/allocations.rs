//! The hot loop allocates nothing for a request, however many kinds of requests there are.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc;

use crumple_engine::http::feed;
use crumple_engine::net::simulated::{Script, Simulated};
use crumple_engine::phase::Course;
use crumple_engine::shape::Shape;
use crumple_engine::shape::closed::ClosedLoad;
use crumple_engine::spec::TrialSpec;
use crumple_engine::worker::{Loop, Place};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: passes everything to the system's allocator. The counter is constant at first and needs no destructor, so
// reading it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn spec(kinds: usize) -> TrialSpec {
    let mut spec: Value = serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap();
    spec["shape"] = json!({"kind": "closed", "connections": 16, "pause_ms": 0.0, "pause": "fixed"});
    spec["warm_up"] = Value::Null;
    spec["threads"] = json!(1);
    spec["stop"] = json!({"kind": "duration", "duration_s": 2.0});
    spec["requests"][0]["expect"] =
        json!({"status": 200, "body_bytes": null, "body_sha256": null, "hash_one_in": 0});
    spec["requests"] = json!(vec![spec["requests"][0].clone(); kinds]);
    serde_json::from_value(spec).unwrap()
}

/// Returns how many requests a loop of two seconds ended, and how often its thread allocated meanwhile. The collector
/// returns each tally, and the answers of the simulated server take 1 ms.
fn run(kinds: usize) -> (u64, u64) {
    let plan = spec(kinds).plan().map_err(|failure| failure.error).unwrap();
    let Shape::Closed(shape) = &plan.shape else { unreachable!("it is closed") };
    let course = Course::new(None, plan.stop);
    course.begin(MS);
    let (outbox, inbox) = mpsc::channel();
    let (returned, spent) = mpsc::channel();
    let (mut feeds, _) = feed::feeds(&plan.requests, 1, plan.part, plan.seed);
    let place = Place { course: &course, thread: 0, feed: feeds.remove(0), outbox, spent, board: None };
    let net = Simulated::new(Script { answer_ns: MS, ..Script::default() }, 16, MS);
    let load = ClosedLoad::new(shape, &course, None, (0, 1), plan.seed);
    let worker = Loop::new(&plan, place, net, load);
    let collector = std::thread::spawn(move || {
        let mut ok = 0;
        for tally in inbox {
            ok += tally.outcomes().ok;
            let _ = returned.send(tally);
        }
        ok
    });
    let before = allocations();
    drop(worker.run());
    let during = allocations() - before;
    (collector.join().unwrap(), during)
}

/// What grows at first are the queues of the simulated network, and the channel to the collector. If the collector does
/// not keep up, each of the twenty intervals takes a new tally, of some fifteen allocations.
const MOST: u64 = 600;

#[test]
fn kinds_of_requests_allocate_nothing_in_the_hot_loop() {
    for kinds in [1, 2, 1_000, 10_000] {
        let (ok, allocations) = run(kinds);
        assert!(ok > 30_000, "{ok}");
        assert!(allocations < MOST, "{kinds} kinds: {allocations} allocations for {ok} requests");
    }
}
