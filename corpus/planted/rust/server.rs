//! A server of the standard library, with causes to plant. Arguments are name=value:
//!
//!   port=N mode=threads|pool workers=N keep=0|1 backlog=N accept_ms=MS nofile=N logger=0|1 work=STEPS folder=PATH
//!
//! threads: a thread for each connection; pool: a fixed number of threads, each of which accepts a connection and serves it
//! to its end. accept_ms: what is done before each accept takes so long. logger: a thread that writes to the disk all the
//! time. GET /work does the steps in turn, joined by "+": wait:MS, compute:MS, lock:MS (computes with the mutex), append:KIB
//! (to a journal of the thread, and waits until that is on the disk), journal:KIB (the same, but all have one, behind a
//! mutex), write:KIB (a new file, without waiting).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{remove_file, File, OpenOptions};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

mod libc {
    #[repr(C)]
    pub struct Timespec {
        pub seconds: i64,
        pub nanoseconds: i64,
    }
    #[repr(C)]
    pub struct Limit {
        pub soft: u64,
        pub hard: u64,
    }
    pub const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0x10000 } else { 0x4000 };
    pub const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    pub const RLIMIT_NOFILE: i32 = 7;
    extern "C" {
        pub fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
        pub fn listen(descriptor: i32, backlog: i32) -> i32;
        pub fn setrlimit(what: i32, limit: *const Limit) -> i32;
    }
}

/// What is written past the kernel's cache has to be aligned.
#[repr(align(4096))]
struct Block([u8; 1 << 20]);

const JOURNAL_BYTES: u64 = 16 << 20;
static BLOCK: Block = Block([0; 1 << 20]);
thread_local! {
    static JOURNAL: RefCell<Option<File>> = const { RefCell::new(None) };
}

type Steps = Vec<(String, f64)>;

struct Server {
    given: HashMap<String, String>,
    work: Steps,
    mutex: Mutex<u32>,
    journal: Mutex<Option<File>>,
    files: AtomicU64,
}

fn used_ms() -> f64 {
    let mut time = libc::Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as f64 * 1e3 + time.nanoseconds as f64 / 1e6
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
    sleep(Duration::from_secs_f64(ms / 1e3));
}

fn fill(file: &mut File, kib: usize) -> std::io::Result<()> {
    for first in (0..kib).step_by(1024) {
        file.write_all(&BLOCK.0[..(kib - first).min(1024) << 10])?;
    }
    Ok(())
}

fn parsed(text: &str) -> Steps {
    let step =
        |part: &str| part.split_once(':').map(|(what, n)| (what.to_string(), n.parse().expect("a number")));
    text.split('+').filter_map(step).collect()
}

impl Server {
    fn number(&self, name: &str, otherwise: u64) -> u64 {
        self.given.get(name).map_or(otherwise, |text| text.parse().expect("a number"))
    }

    fn write(&self, kib: usize, sync: bool) -> std::io::Result<()> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/written-{number}", self.given["folder"]);
        let mut file = File::create(&name)?;
        fill(&mut file, kib)?;
        if sync {
            file.sync_all()?;
        }
        remove_file(&name)
    }

    /// Writes to a journal, which is opened first if need be and begins anew when it is long, and waits until that is on
    /// the disk. It goes past the kernel's cache, so that it costs little CPU time.
    fn append(&self, journal: &mut Option<File>, kib: usize) -> std::io::Result<()> {
        if journal.is_none() {
            let number = self.files.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}/journal-{number}", self.given["folder"]);
            *journal =
                Some(OpenOptions::new().write(true).create(true).custom_flags(libc::O_DIRECT).open(name)?);
        }
        let file = journal.as_mut().expect("it is open");
        if file.stream_position()? > JOURNAL_BYTES {
            file.rewind()?;
        }
        fill(file, kib)?;
        file.sync_data()
    }

    fn perform(&self, what: &str, n: f64) -> std::io::Result<()> {
        match what {
            "wait" => wait(n),
            "compute" => drop(compute(n)),
            "lock" => {
                let mut result = self.mutex.lock().expect("no thread has failed");
                *result = compute(n);
            }
            "write" => self.write(n as usize, false)?,
            "append" => JOURNAL.with_borrow_mut(|own| self.append(own, n as usize))?,
            "journal" => self.append(&mut self.journal.lock().expect("no thread has failed"), n as usize)?,
            _ => panic!("no such step: {what}"),
        }
        Ok(())
    }

    /// Answers one request; whether another may follow.
    fn exchange(&self, reader: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
        let (mut line, mut keep) = (String::new(), self.number("keep", 1) == 1);
        reader.read_line(&mut line)?;
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field)? == 0 {
                return Ok(false);
            }
            if field.trim().is_empty() {
                break;
            }
            keep = keep && !field.to_lowercase().starts_with("connection: close");
        }
        let target = line.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let ms = query.strip_prefix("ms=").and_then(|text| text.parse().ok()).unwrap_or(0.0);
        let own;
        let steps = match path {
            "/work" => Some(&self.work),
            "/" | "/wait" | "/compute" => {
                own = if path == "/" { vec![] } else { vec![(path[1..].to_string(), ms)] };
                Some(&own)
            }
            _ => None,
        };
        for (what, n) in steps.into_iter().flatten() {
            self.perform(what, *n)?;
        }
        let status = if steps.is_some() { "200 OK" } else { "404 Not Found" };
        let close = if keep { "" } else { "Connection: close\r\n" };
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n{close}\r\n");
        reader.get_mut().write_all(format!("{head}done").as_bytes())?;
        Ok(keep)
    }

    fn serve(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while let Ok(true) = self.exchange(&mut reader) {}
    }

    fn accept(&self, listener: &TcpListener) -> TcpStream {
        loop {
            wait(self.number("accept_ms", 0) as f64);
            match listener.accept() {
                Ok((stream, _)) => return stream,
                Err(_) => wait(1.0),
            }
        }
    }
}

fn main() {
    let pair = |text: String| text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    let given: HashMap<_, _> = std::env::args().filter_map(pair).collect();
    let work = parsed(given.get("work").map_or("wait:0", |text| text));
    let (mutex, journal, files) = (Mutex::new(0), Mutex::new(None), AtomicU64::new(0));
    let server = Arc::new(Server { given, work, mutex, journal, files });
    let descriptors = server.number("nofile", 8192);
    let address = ("127.0.0.1", server.number("port", 8080) as u16);
    let listener = Arc::new(TcpListener::bind(address).expect("the port is free"));
    unsafe {
        libc::setrlimit(libc::RLIMIT_NOFILE, &libc::Limit { soft: descriptors, hard: descriptors });
        libc::listen(listener.as_raw_fd(), server.number("backlog", 4096) as i32);
        // once more, for the length of the queue
    }
    if server.number("logger", 0) == 1 {
        let server = server.clone();
        spawn(move || loop {
            server.write(64, true).expect("the folder can be written");
        });
    }
    if server.given["mode"] == "threads" {
        loop {
            let (stream, server) = (server.accept(&listener), server.clone());
            spawn(move || server.serve(stream));
        }
    }
    let start = |_| {
        let (server, listener) = (server.clone(), listener.clone());
        spawn(move || loop {
            server.serve(server.accept(&listener));
        })
    };
    let threads: Vec<_> = (0..server.number("workers", 8)).map(start).collect();
    for thread in threads {
        thread.join().expect("a worker does not fail");
    }
}
