//! What a stamped loop records of its users: when each request was sent, and a histogram of the response times.

use crumple_engine::clock::{stamped_ns, unix_ahead_ns};
use crumple_engine::histogram::Histogram;

use crate::now_ns;

const CLOCKS_HOLD_NS: u64 = 1_000_000;
const WORDS: usize = 8;

/// As long as a cache line, and aligned like one.
#[derive(Clone)]
#[repr(align(64))]
struct Line([u64; WORDS]);

pub struct Book {
    /// `stride` lines for each user.
    lines: Vec<Line>,
    stride: usize,
    stores_first_byte: bool,
    response_ns: Histogram,
    first_byte_ns: Histogram,
    unix_ahead_ns: u64,
    clocks_read_ns: u64,
}

impl Book {
    pub fn new(users: usize, lines: usize, stores_first_byte: bool) -> Self {
        Self {
            lines: vec![Line([0; WORDS]); users * lines],
            stride: lines,
            stores_first_byte,
            response_ns: Histogram::new(),
            first_byte_ns: Histogram::new(),
            unix_ahead_ns: unix_ahead_ns(),
            clocks_read_ns: now_ns(),
        }
    }

    /// Records that a request of `user` is about to be sent.
    #[inline]
    pub fn sent(&mut self, user: usize, now_ns: u64) {
        self.touch(user);
        self.lines[user * self.stride].0[0] = now_ns;
    }

    /// Records the answer to it, which has this stamp and was seen at `now_ns`.
    #[inline]
    pub fn answered(&mut self, user: usize, stamp_unix_ns: u64, now_ns: u64) {
        if now_ns - self.clocks_read_ns > CLOCKS_HOLD_NS {
            self.unix_ahead_ns = unix_ahead_ns();
            self.clocks_read_ns = now_ns;
        }
        self.touch(user);
        let sent_ns = self.lines[user * self.stride].0[0];
        let came_ns =
            stamped_ns(stamp_unix_ns, self.unix_ahead_ns, sent_ns..=now_ns).unwrap_or(now_ns);
        self.response_ns.record(came_ns - sent_ns);
        if self.stores_first_byte {
            self.first_byte_ns.record(came_ns - sent_ns);
        }
    }

    /// Reads and writes every line of a user.
    #[inline]
    fn touch(&mut self, user: usize) {
        for line in &mut self.lines[user * self.stride..][..self.stride] {
            line.0[1] += 1;
        }
    }
}
