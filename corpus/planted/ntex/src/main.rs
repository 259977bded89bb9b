//! ntex, with causes to plant: server PORT WORK WORKERS CONNECTIONS
//!
//! GET /work does WORK: wait:MS, statement:LINES (renders a statement of so many lines). WORKERS: how many threads have a loop;
//! CONNECTIONS: how many connections each of them may have (maxconn).

use ntex::time::{sleep, Millis};
use ntex::web::{self, types, App, HttpServer};
use std::fmt::Write;
use std::hint::black_box;

#[derive(serde::Deserialize)]
struct Asked {
    ms: Option<f64>,
}

#[derive(Clone)]
struct Work {
    what: String,
    n: u32,
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

/// A customer's statement of account, with the balance behind each line.
fn statement(lines: u32) -> String {
    let (mut text, mut balance) = (String::new(), 0.0f64);
    for line in 0..lines {
        let amount = f64::from((line * 7919) % 100_003) / 100.0 - 400.0;
        balance += amount;
        writeln!(text, "{line:>8} {amount:>12.2} {balance:>14.2}").expect("there is memory");
    }
    text
}

async fn hello() -> &'static str {
    "hello"
}

async fn wait(asked: types::Query<Asked>) -> &'static str {
    sleep(Millis(asked.ms.unwrap_or(0.0) as u32)).await;
    "waited"
}

async fn computed(asked: types::Query<Asked>) -> String {
    compute(asked.ms.unwrap_or(0.0)).to_string()
}

async fn work(work: types::State<Work>) -> String {
    match work.what.as_str() {
        "statement" => statement(work.n).len().to_string(),
        _ => {
            sleep(Millis(work.n)).await;
            "done".to_string()
        }
    }
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[1].split_once(':').expect("what:number");
    let planted = Work { what: what.to_string(), n: n.parse().expect("a number") };
    HttpServer::new(move || {
        App::new()
            .state(planted.clone())
            .route("/", web::get().to(hello))
            .route("/wait", web::get().to(wait))
            .route("/compute", web::get().to(computed))
            .route("/work", web::get().to(work))
    })
    .workers(given[2].parse().expect("a number"))
    .maxconn(given[3].parse().expect("a number"))
    .keep_alive(75)
    .bind(format!("127.0.0.1:{}", given[0]))?
    .run()
    .await
}
