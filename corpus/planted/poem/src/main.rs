//! Poem, with causes to plant: server PORT BLOCKING WORK
//!
//! Tasks run on two threads; what blocks is given to a pool of at most BLOCKING. GET /work does WORK: wait:MS, report:MS
//! (a library that blocks for so long), register:MS (computes for so long in a register that one thread at a time may change).

use poem::listener::TcpListener;
use poem::web::{Data, Query};
use poem::{EndpointExt, Route, Server, get, handler};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

type Parameters = Query<HashMap<String, f64>>;

struct Planted {
    what: String,
    n: f64,
    register: Mutex<u32>,
}

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

fn milliseconds(parameters: &Parameters) -> f64 {
    parameters.get("ms").copied().unwrap_or(0.0)
}

fn span(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

#[handler]
fn hello() -> &'static str {
    "hello"
}

#[handler]
async fn wait(parameters: Parameters) -> &'static str {
    tokio::time::sleep(span(milliseconds(&parameters))).await;
    "waited"
}

#[handler]
async fn compute_here(parameters: Parameters) -> String {
    compute(milliseconds(&parameters)).to_string()
}

#[handler]
async fn work(planted: Data<&Arc<Planted>>) -> &'static str {
    let planted = planted.0.clone();
    if planted.what == "wait" {
        tokio::time::sleep(span(planted.n)).await;
        return "done";
    }
    let blocking = spawn_blocking(move || {
        if planted.what == "register" {
            let mut register = planted.register.lock().expect("no thread has failed");
            *register ^= compute(planted.n);
        } else {
            thread::sleep(span(planted.n));
        }
    });
    blocking.await.expect("it does not fail");
    "done"
}

fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[2].split_once(':').expect("what:number");
    let planted = Planted {
        what: what.to_string(),
        n: n.parse().expect("a number"),
        register: Mutex::new(0),
    };
    let app = Route::new()
        .at("/", get(hello))
        .at("/wait", get(wait))
        .at("/compute", get(compute_here))
        .at("/work", get(work))
        .data(Arc::new(planted));
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(given[1].parse().expect("a number"))
        .enable_all()
        .build()?;
    runtime.block_on(Server::new(TcpListener::bind(format!("127.0.0.1:{}", given[0]))).run(app))
}
