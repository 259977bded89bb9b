//! One thread's tally of the present interval, and the two channels through which tallies go to the collector and
//! come back.

use std::sync::mpsc::{Receiver, Sender};

use crate::phase::{Course, Phase};
use crate::tally::Tally;

pub const INTERVAL_NS: u64 = 100_000_000;
/// The number of tallies that are there before the first interval begins, so that the hot loop allocates none while
/// the collector keeps up: one is being filled, one is being read, and one is on its way.
pub const TALLIES: usize = 3;

pub struct Ledger<'a> {
    course: &'a Course,
    pub tally: Box<Tally>,
    outbox: Sender<Box<Tally>>,
    spent: Receiver<Box<Tally>>,
    /// Tallies that have not been filled yet.
    #[expect(clippy::vec_box, reason = "they go through the channels in their boxes")]
    unused: Vec<Box<Tally>>,
    kinds: usize,
}

impl<'a> Ledger<'a> {
    /// `kinds` is the number of kinds of requests.
    pub fn new(
        course: &'a Course,
        kinds: usize,
        outbox: Sender<Box<Tally>>,
        spent: Receiver<Box<Tally>>,
    ) -> Self {
        let tally = || Box::new(Tally::new(Phase::WarmUp, kinds));
        let unused = (1..TALLIES).map(|_| tally()).collect();
        Self { course, tally: tally(), outbox, spent, unused, kinds }
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.tally.phase
    }

    /// Returns when the present interval ends.
    #[inline]
    pub fn ends_at_ns(&self) -> u64 {
        self.tally.ends_at_ns
    }

    /// Begins the interval of `phase` in which `now_ns` lies.
    pub fn begin_interval(&mut self, phase: Phase, now_ns: u64) {
        let began_ns = self.course.began_at_ns(phase);
        let index = now_ns.saturating_sub(began_ns) / INTERVAL_NS;
        self.tally.clear(phase, index);
        self.tally.ends_at_ns = began_ns + (index + 1) * INTERVAL_NS;
    }

    /// Returns the end of the channel through which spent tallies come back, after the last `hand_over`.
    pub fn into_spent(self) -> Receiver<Box<Tally>> {
        self.spent
    }

    /// Sends the tally to the collector and takes a spent one, or another one if none has come back.
    pub fn hand_over(&mut self, now_ns: u64, connections_open: u64) {
        let phase = self.tally.phase;
        let next = self.spent.try_recv().ok().or_else(|| self.unused.pop());
        let next = next.unwrap_or_else(|| Box::new(Tally::new(phase, self.kinds)));
        let mut full = std::mem::replace(&mut self.tally, next);
        full.ends_at_ns = now_ns;
        full.connections_open = connections_open;
        let _ = self.outbox.send(full); // The collector outlives the worker.
    }
}
