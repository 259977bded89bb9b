//! tiny_http, with causes to plant: server PORT THREADS WORK
//!
//! GET /work does WORK: wait:MS, rows:N (passes N rows to a thread that formats them, by a channel without room),
//! count:MS (counts the request in the statistics, and makes them anew for so long while it holds them).

use std::hint::black_box;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;
use tiny_http::{Response, Server};

fn used_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn compute(cpu_ms: f64) -> u32 {
    let (mut x, ends) = (1u32, used_ms() + cpu_ms);
    while used_ms() < ends {
        for _ in 0..5000 {
            x = black_box(x.wrapping_mul(1103515245).wrapping_add(12345));
        }
    }
    x
}

fn wait(ms: f64) {
    thread::sleep(Duration::from_secs_f64(ms / 1e3));
}

fn rows(count: usize) -> usize {
    let (made, rows) = sync_channel::<usize>(0);
    let formatting = thread::spawn(move || rows.iter().map(|row| format!("row {row}").len()).sum());
    for row in 0..count {
        made.send(row).expect("the other thread takes all");
    }
    drop(made); // that was the last row
    formatting.join().expect("formatting cannot fail")
}

/// What is known of the requests that were answered.
#[derive(Default)]
struct Statistics {
    requests: u64,
    check: u32,
}

impl Statistics {
    /// Count a request, and make all figures anew.
    fn count(&mut self, cpu_ms: f64) {
        self.requests += 1;
        self.check ^= compute(cpu_ms);
    }
}

fn answer(target: &str, work: (&str, f64), statistics: &RwLock<Statistics>) -> Option<String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ms = query.strip_prefix("ms=").and_then(|text| text.parse().ok()).unwrap_or(0.0);
    match path {
        "/" => Some("hello".to_string()),
        "/wait" => {
            wait(ms);
            Some("waited".to_string())
        }
        "/compute" => Some(compute(ms).to_string()),
        "/work" => {
            match work {
                ("wait", n) => wait(n),
                ("rows", n) => drop(rows(n as usize)),
                ("count", n) => statistics.write().expect("no thread has failed").count(n),
                (what, _) => panic!("no such work: {what}"),
            }
            Some("done".to_string())
        }
        _ => None,
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[2].split_once(':').expect("what:number");
    let work = (what.to_string(), n.parse::<f64>().expect("a number"));
    let server = Arc::new(Server::http(format!("127.0.0.1:{}", given[0])).expect("a free port"));
    let statistics = Arc::new(RwLock::new(Statistics::default()));
    let threads: Vec<_> = (0..given[1].parse().expect("a number"))
        .map(|_| {
            let (server, statistics, work) = (server.clone(), statistics.clone(), work.clone());
            thread::spawn(move || {
                for request in server.incoming_requests() {
                    let body = answer(request.url(), (&work.0, work.1), &statistics);
                    let status = if body.is_some() { 200 } else { 404 };
                    // Who asked may be gone.
                    let _ = request
                        .respond(Response::from_string(body.unwrap_or_default()).with_status_code(status));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread ends"));
}
