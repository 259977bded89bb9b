//! All cores are busy, and no thread of low priority gets one. What is read at both ends of the measured phase is read in
//! time all the same, and the record is there soon after the load.

mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use peer::{after, for_seconds, open, run, spec};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const WARM_UP_S: f64 = 0.5;
const MEASURED_S: f64 = 2.0;

/// Threads that compute, one for each core, until this is dropped.
struct Busy {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let computes = || {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || while !is_over.load(Relaxed) {})
        };
        let cores = thread::available_parallelism().unwrap().get();
        let threads = (0..cores).map(|_| computes()).collect();
        Self { is_over, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn now_s(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Reads the CPU time of this process every few milliseconds, each time with the wall clock, until `is_over`.
fn watch_own_cpu(is_over: Arc<AtomicBool>) -> JoinHandle<Vec<(f64, f64)>> {
    thread::spawn(move || {
        let mut read = Vec::new();
        while !is_over.load(Relaxed) {
            read.push((now_s(ClockId::Realtime), now_s(ClockId::ProcessCPUTime)));
            thread::sleep(Duration::from_millis(5));
        }
        read
    })
}

/// Returns the least and the most that the CPU time may be at an instant: as it was read before and after it. Beside others
/// the two readings may be 100 ms apart.
fn at(read: &[(f64, f64)], instant_s: f64) -> (f64, f64) {
    let after = read.partition_point(|&(at_s, _)| at_s < instant_s);
    (read[after - 1].1, read[after].1)
}

#[test]
fn what_a_server_uses_while_all_cores_are_busy_is_what_its_own_clock_says() {
    // The server is this process, which computes as well.
    let mut spec = spec(&after(Duration::from_millis(1)), 0);
    spec["shape"] = open(20, 200.0);
    spec["threads"] = json!(1);
    spec["warm_up"] = json!({"connections": null, "pauses": true, "stop": for_seconds(WARM_UP_S)});
    spec["stop"] = for_seconds(MEASURED_S);
    let busy = Busy::begin();
    let own_cpu = watch_own_cpu(Arc::clone(&busy.is_over));
    let began = Instant::now();
    let record = run(&spec);
    let took_s = began.elapsed().as_secs_f64();
    drop(busy);
    let own_cpu = own_cpu.join().unwrap();
    let probes = &record["probes"];
    let window = &probes["server"]["window"];
    let of = |field: &str| window[field].as_f64().unwrap_or_else(|| panic!("{field}: {window}"));
    let in_s = |ns: &serde_json::Value| ns.as_f64().unwrap() / 1e9;
    let begins_s = in_s(&record["began_unix_ns"]) + in_s(&record["warm_up_ns"]);
    let (begun, ended) = (at(&own_cpu, begins_s), at(&own_cpu, begins_s + MEASURED_S));
    let (least_s, most_s) = (ended.0 - begun.1, ended.1 - begun.0);
    let span_s = of("span_ns") / 1e9;
    assert!((span_s / MEASURED_S - 1.0).abs() < 0.05, "{span_s} s were read of {MEASURED_S}");
    let found_s = (of("cpu_user_ns") + of("cpu_kernel_ns")) / 1e9 * MEASURED_S / span_s;
    let lawful = 0.9 * least_s..1.1 * most_s;
    assert!(lawful.contains(&found_s), "{found_s} s, and its own clock says {least_s} to {most_s}");
    for (whose, window) in [
        ("engine", &probes["engine"]["window"]),
        ("machine", &probes["machine"]["window"]),
        ("thread", &probes["threads"][0]["window"]),
    ] {
        let span_s = window["span_ns"].as_f64().unwrap_or_else(|| panic!("{whose}: {window}")) / 1e9;
        assert!((span_s / MEASURED_S - 1.0).abs() < 0.05, "{whose}: {span_s} s were read of {MEASURED_S}");
    }
    // A thread at idle priority would get a core for some milliseconds of every few seconds.
    let late_s = took_s - WARM_UP_S - MEASURED_S;
    assert!(late_s < 5.0, "the record came {late_s} s after the load");
}
