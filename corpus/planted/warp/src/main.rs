//! warp with two workers, with causes to plant: server PORT WORK NOFILE
//!
//! GET /work does WORK: wait:MS, password:COST (hashes one by scrypt, on the threads for what blocks), beats:MS (waits,
//! while a thread works for nobody), country:MS (looks for so long where a connection comes from before it accepts the next). NOFILE: how
//! many descriptors the process may have.

use futures_util::stream::unfold;
use std::collections::HashMap;
use std::hint::black_box;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;
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

/// A listening socket whose queue is as long as it is told.
fn listen(port: u16, backlog: u32) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], port)))?;
    socket.listen(backlog)
}

/// Serve connections one after the other from a short queue, when it is known where each comes from.
async fn serve<F>(routes: F, port: u16, ms: f64)
where
    F: Filter<Error = warp::Rejection> + Clone + Send + Sync + 'static,
    F::Extract: warp::Reply,
{
    let listener = listen(port, 8).expect("it listens");
    let incoming = unfold(listener, move |listener| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        pause(ms).await;
        Some((accepted, listener))
    });
    warp::serve(routes).run_incoming(incoming).await;
}

async fn work(what: String, n: f64) -> &'static str {
    match what.as_str() {
        "password" => {
            black_box(spawn_blocking(move || password(n as u8)).await.expect("it does not fail"));
        }
        "country" => pause(20.0).await,
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

    let hello = warp::path::end().map(|| "hello");
    let wait = warp::path!("wait").and(warp::query()).then(|asked: Asked| async move {
        pause(milliseconds(&asked)).await;
        "waited"
    });
    let computed = warp::path!("compute")
        .and(warp::query())
        .then(|asked: Asked| async move { compute(milliseconds(&asked)).to_string() });
    let named = what.clone();
    let worked = warp::path!("work").then(move || work(named.clone(), n));
    // Where countries are looked up, the answer to /work closes its connection.
    let close = what == "country";
    let worked = worked.map(move |text| {
        warp::reply::with_header(text, "connection", if close { "close" } else { "keep-alive" })
    });
    let routes = warp::get().and(hello.or(wait).or(computed).or(worked));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("two threads");
    runtime.block_on(async move {
        if close {
            serve(routes, port, n).await
        } else {
            warp::serve(routes).run(([127, 0, 0, 1], port)).await
        }
    });
}
