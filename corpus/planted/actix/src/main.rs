//! actix-web with two workers, with causes to plant: server PORT WORK PLACE CONNECTIONS NOFILE
//!
//! GET /work does WORK: wait:MS, compute:MS (in the handler), tickets:COUNT (draws so many, one after the other, from a thread
//! that numbers them). PLACE: where GET /compute does so, loop or pool. CONNECTIONS: how many connections a worker may have.
//! NOFILE: how many descriptors the process may have.

use actix_web::http::KeepAlive;
use actix_web::{App, HttpServer, rt, web};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

type Asked = web::Query<std::collections::HashMap<String, f64>>;

#[derive(Clone)]
struct Planted {
    what: String,
    n: f64,
    pool: bool,
}

fn used_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn compute(cpu_ms: f64) -> String {
    let (mut x, ends) = (1u32, used_ms() + cpu_ms);
    while used_ms() < ends {
        for _ in 0..5000 {
            x = black_box(x.wrapping_mul(1103515245).wrapping_add(12345));
        }
    }
    x.to_string()
}

/// Who draws tickets, and the thread that numbers them.
struct Tickets {
    ask: SyncSender<()>,
    answers: Receiver<u64>,
}

impl Tickets {
    fn new() -> Tickets {
        let (ask, asked) = sync_channel(0);
        let (answer, answers) = sync_channel(0);
        thread::spawn(move || {
            let mut number = 0;
            while asked.recv().is_ok() && answer.send(number).is_ok() {
                number += 1;
            }
        });
        Tickets { ask, answers }
    }

    fn draw(&self) -> u64 {
        self.ask.send(()).expect("it numbers");
        self.answers.recv().expect("it numbers")
    }
}

thread_local! {
    static TICKETS: RefCell<Option<Tickets>> = const { RefCell::new(None) };
}

fn tickets(count: u64) -> u64 {
    TICKETS.with_borrow_mut(|each| {
        let tickets = each.get_or_insert_with(Tickets::new);
        (0..count).map(|_| tickets.draw()).sum()
    })
}

fn milliseconds(asked: &Asked) -> f64 {
    asked.get("ms").copied().unwrap_or(0.0)
}

async fn pause(ms: f64) {
    rt::time::sleep(Duration::from_secs_f64(ms / 1e3)).await;
}

async fn hello() -> &'static str {
    "hello"
}

async fn wait(asked: Asked) -> &'static str {
    pause(milliseconds(&asked)).await;
    "waited"
}

async fn computed(asked: Asked, planted: web::Data<Planted>) -> String {
    let ms = milliseconds(&asked);
    if planted.pool { web::block(move || compute(ms)).await.expect("it does not fail") } else { compute(ms) }
}

async fn work(planted: web::Data<Planted>) -> &'static str {
    let n = planted.n;
    match planted.what.as_str() {
        "compute" => {
            black_box(compute(n));
        }
        "tickets" => {
            black_box(web::block(move || tickets(n as u64)).await.expect("it does not fail"));
        }
        _ => pause(n).await,
    }
    "done"
}

fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[1].split_once(':').expect("what:number");
    let number = |at: usize| given[at].parse::<u64>().expect("a number");
    let limit = libc::rlimit { rlim_cur: number(4), rlim_max: number(4) };
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    let planted = web::Data::new(Planted {
        what: what.to_string(),
        n: n.parse().expect("a number"),
        pool: given[2] == "pool",
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(planted.clone())
            .route("/", web::get().to(hello))
            .route("/wait", web::get().to(wait))
            .route("/compute", web::get().to(computed))
            .route("/work", web::get().to(work))
    })
    .workers(2)
    .worker_max_blocking_threads(8)
    .max_connections(number(3) as usize)
    .keep_alive(KeepAlive::Timeout(Duration::from_secs(75)))
    .bind(("127.0.0.1", number(0) as u16))?
    .run();
    rt::System::new().block_on(server)
}
