//! What a peer saw and did by its own clock, and how long the machine delayed it. A machine that is busy with other
//! work makes both late. So the engine is compared with what the peer saw, and not with what was planned.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::asked::Asked;
use super::tried::until_shown;
use super::{HELLO, play};

/// The times of one request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The number in the request; 0 = none.
    pub number: u64,
    pub connection: usize,
    /// When it had been read.
    pub read: Instant,
    /// When the peer began and finished writing the answer. The answer arrived in between.
    pub answered: Option<(Instant, Instant)>,
}

/// The requests that a peer has read so far, in this order.
#[derive(Clone, Default)]
pub struct Witness(Arc<Mutex<Vec<Exchange>>>);

impl Witness {
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.0.lock().unwrap().clone()
    }

    pub fn asked(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    pub fn answered(&self) -> u64 {
        self.0.lock().unwrap().iter().filter(|exchange| exchange.answered.is_some()).count() as u64
    }

    /// Returns how long connections waited between an answer and the next request.
    pub fn gaps(&self) -> Vec<Duration> {
        let exchanges = self.exchanges();
        let gap = |(at, next): (usize, &Exchange)| {
            let before = exchanges[..at].iter().rev().find(|before| before.connection == next.connection)?;
            Some(next.read - before.answered?.0)
        };
        exchanges.iter().enumerate().filter_map(gap).collect()
    }
}

/// Plays a peer that answers each request with `hello` when `wait` returns, which gets the time of reading.
pub fn witnessed(wait: impl Fn(Instant) + Send + Sync + Clone + 'static) -> (String, Witness) {
    let witness = Witness::default();
    let log = witness.clone();
    let connections = Arc::new(AtomicUsize::new(0));
    let address = play(move |mut socket| {
        socket.set_nodelay(true).unwrap();
        let connection = connections.fetch_add(1, Relaxed);
        while let Some(asked) = Asked::read(&mut socket) {
            let read = Instant::now();
            let number = asked.path().trim_start_matches('/').parse().unwrap_or(0);
            let at = {
                let mut log = log.0.lock().unwrap();
                log.push(Exchange { number, connection, read, answered: None });
                log.len() - 1
            };
            wait(read);
            let begun = Instant::now();
            if socket.write_all(HELLO).is_err() {
                return;
            }
            log.0.lock().unwrap()[at].answered = Some((begun, Instant::now()));
        }
    });
    (address, witness)
}

/// Makes each request contain its number. With one thread, this is its place among the requests sent.
pub fn number_requests(spec: &mut Value) {
    spec["threads"] = json!(1);
    spec["requests"][0]["path"] = json!("/{seq}");
    spec["requests"][0]["varies"] = json!(true);
}

/// Measures how late this machine wakes a thread that sleeps.
pub struct Stalls {
    longest_ns: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl Stalls {
    pub fn watch() -> Self {
        const NAP: Duration = Duration::from_millis(1);
        let (longest_ns, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (longest, over) = (longest_ns.clone(), is_over.clone());
        let watch = thread::spawn(move || {
            while !over.load(Relaxed) {
                let slept_from = Instant::now();
                thread::sleep(NAP);
                longest.fetch_max((slept_from.elapsed() - NAP).as_nanos() as u64, Relaxed);
            }
        });
        Self { longest_ns, is_over, watch: Some(watch) }
    }

    /// Returns the longest delay so far.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns.load(Relaxed)
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        let _ = self.watch.take().map(JoinHandle::join);
    }
}

/// Returns what `measure` does while the machine delays nobody by `limit` or more.
pub fn unstalled<T>(limit: Duration, measure: impl Fn() -> T) -> T {
    let mut undelayed = None;
    until_shown(|| {
        let stalls = Stalls::watch();
        let measured = measure();
        let longest = Duration::from_nanos(stalls.longest_ns());
        if longest >= limit {
            return Err(format!("the machine delayed a thread by {longest:?}"));
        }
        undelayed = Some(measured);
        Ok(())
    });
    undelayed.expect("it was shown")
}
