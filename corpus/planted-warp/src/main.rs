//! warp with two workers, with causes to plant: server PORT WORK NOFILE
//!
//! GET /work does WORK: wait:MS, password:COST (hashes one by scrypt, on the threads for what blocks), turn:MS (waits, with a
//! permit of a semaphore that has twelve), beats:MS (waits, while a thread works for nobody). NOFILE: how many descriptors the
//! process may have.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use warp::Filter;

type Asked = HashMap<String, f64>;

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

fn milliseconds(asked: &Asked) -> f64 {
    asked.get("ms").copied().unwrap_or(0.0)
}

async fn pause(ms: f64) {
    sleep(Duration::from_secs_f64(ms / 1e3)).await;
}

fn password(cost: u8) -> u8 {
    let (mut hash, parameters) = ([0; 32], scrypt::Params::new(cost, 8, 1, 32).expect("a cost"));
    scrypt::scrypt(b"correct horse", b"battery staple", &parameters, &mut hash).expect("a length");
    hash[0]
}

async fn work(what: String, n: f64, permits: Arc<Semaphore>) -> &'static str {
    match what.as_str() {
        "password" => {
            black_box(spawn_blocking(move || password(n as u8)).await.expect("it does not fail"));
        }
        "turn" => {
            let _permit = permits.acquire().await.expect("it stays open");
            pause(n).await;
        }
        _ => pause(n).await,
    }
    "done"
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[1].split_once(':').expect("what:number");
    let (what, n) = (what.to_string(), n.parse::<f64>().expect("a number"));
    let port: u16 = given[0].parse().expect("a number");
    let nofile = given[2].parse().expect("a number");
    let limit = libc::rlimit { rlim_cur: nofile, rlim_max: nofile };
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    if what == "beats" {
        thread::spawn(|| {
            loop {
                black_box(compute(1000.0));
            }
        });
    }

    let permits = Arc::new(Semaphore::new(12));
    let hello = warp::path::end().map(|| "hello");
    let wait = warp::path!("wait").and(warp::query()).then(|asked: Asked| async move {
        pause(milliseconds(&asked)).await;
        "waited"
    });
    let computed = warp::path!("compute")
        .and(warp::query())
        .then(|asked: Asked| async move { compute(milliseconds(&asked)).to_string() });
    let worked = warp::path!("work").then(move || work(what.clone(), n, permits.clone()));
    let routes = warp::get().and(hello.or(wait).or(computed).or(worked));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("two threads");
    runtime.block_on(warp::serve(routes).run(([127, 0, 0, 1], port)));
}
