//! Rocket with two workers, with causes to plant: server BESIDE_PORT WORK SCRATCH
//!
//! GET /work does WORK: wait:MS, query:MS and login:MS (asks the server at BESIDE_PORT over a connection of r2d2's pool: of eight
//! connections, or of up to 64 that take a second each to log in), save:KIB (a file that is on the disk before it answers),
//! visits:COUNT (counts the visitor among so many, and forgets those that are too old, under one mutex).

use r2d2::{ManageConnection, Pool};
use rocket::tokio::task::spawn_blocking;
use rocket::tokio::time::sleep;
use rocket::{Config, State, get, routes};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Error, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;

/// What r2d2 is told of the database: it answers "GET /wait?ms=N" after N milliseconds.
struct Database {
    address: String,
    login: Duration,
}

impl ManageConnection for Database {
    type Connection = TcpStream;
    type Error = Error;

    fn connect(&self) -> Result<TcpStream, Error> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        thread::sleep(self.login);
        Ok(stream)
    }

    fn is_valid(&self, _: &mut TcpStream) -> Result<(), Error> {
        Ok(())
    }

    fn has_broken(&self, _: &mut TcpStream) -> bool {
        false
    }
}

fn query(stream: &mut TcpStream, ms: u64) -> Result<(), Error> {
    write!(stream, "GET /wait?ms={ms} HTTP/1.1\r\nHost: database\r\n\r\n")?;
    let (mut answer, mut buffer) = (Vec::new(), [0; 512]);
    while !answer.ends_with(b"\r\n\r\ndone") {
        match stream.read(&mut buffer)? {
            0 => return Err(Error::other("the database is gone")),
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(())
}

struct Planted {
    what: String,
    n: u64,
    pool: Option<Pool<Database>>,
    folder: String,
    visits: Mutex<HashMap<u64, Instant>>,
    last: AtomicU64,
}

fn used_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn computed(cpu_ms: f64) -> u32 {
    let (mut x, ends) = (1u32, used_ms() + cpu_ms);
    while used_ms() < ends {
        for _ in 0..5000 {
            x = black_box(x.wrapping_mul(1103515245).wrapping_add(12345));
        }
    }
    x
}

thread_local! {
    static KEPT: RefCell<Option<(File, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Write so much, past the kernel's cache, and return when the disk has it. Each thread has a file.
fn save(folder: &str, number: u64, kib: usize) -> Result<(), Error> {
    KEPT.with_borrow_mut(|kept| {
        if kept.is_none() {
            let mut options = OpenOptions::new();
            options.write(true).create(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC);
            *kept = Some((options.open(format!("{folder}/{number}"))?, vec![7; kib * 1024 + PAGE]));
        }
        let (file, buffer) = kept.as_ref().expect("it is there");
        let at = buffer.as_ptr().align_offset(PAGE);
        file.write_all_at(&buffer[at..at + kib * 1024], 0)
    })
}

#[get("/")]
fn hello() -> &'static str {
    "hello"
}

#[get("/wait?<ms>")]
async fn wait(ms: u64) -> &'static str {
    sleep(Duration::from_millis(ms)).await;
    "waited"
}

#[get("/compute?<ms>")]
fn compute(ms: f64) -> String {
    computed(ms).to_string()
}

/// As a request guard would do: is this visitor's last visit long enough ago?
fn visit(planted: &Planted, number: u64) {
    let mut visits = planted.visits.lock().expect("no thread has failed");
    let now = Instant::now();
    visits.retain(|_, at| now.duration_since(*at) < Duration::from_secs(3600));
    visits.insert(number % planted.n, now);
}

#[get("/work")]
async fn work(planted: &State<Arc<Planted>>) -> &'static str {
    let planted = planted.inner().clone();
    let number = planted.last.fetch_add(1, Ordering::Relaxed);
    let n = planted.n;
    match planted.what.as_str() {
        "query" | "login" => spawn_blocking(move || {
            let pool = planted.pool.as_ref().expect("there is one");
            query(&mut pool.get().expect("a connection"), n).expect("an answer");
        })
        .await
        .expect("it does not fail"),
        "save" => spawn_blocking(move || save(&planted.folder, number, n as usize).expect("it is written"))
            .await
            .expect("it does not fail"),
        "visits" => visit(&planted, number),
        _ => sleep(Duration::from_millis(n)).await,
    }
    "done"
}

#[rocket::launch]
fn start() -> _ {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (what, n) = given[1].split_once(':').expect("what:number");
    let n: u64 = n.parse().expect("a number");
    let database =
        |login| Database { address: format!("127.0.0.1:{}", given[0]), login: Duration::from_secs(login) };
    let pool = match what {
        // As many as Rocket's own pools have: four for each worker.
        "query" => Some(Pool::builder().max_size(8).build(database(0)).expect("the database answers")),
        "login" => {
            let builder = Pool::builder().max_size(64).min_idle(Some(2));
            Some(builder.build(database(1)).expect("the database answers"))
        }
        _ => None,
    };
    let mut visits = HashMap::new();
    if what == "visits" {
        visits.extend((0..n).map(|visitor| (visitor, Instant::now())));
    }
    let planted = Planted {
        what: what.to_string(),
        n,
        pool,
        folder: given[2].clone(),
        visits: Mutex::new(visits),
        last: AtomicU64::new(0),
    };
    let settings = Config::figment().merge(("shutdown.grace", 0)).merge(("shutdown.mercy", 0));
    rocket::custom(settings).manage(Arc::new(planted)).mount("/", routes![hello, wait, compute, work])
}
