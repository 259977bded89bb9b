//! The hot loop: it serves the connections of one thread, from readiness to the next request. Per request it
//! allocates, locks and formats nothing, and it visits no connection that has nothing to do.

mod account;
mod examples;
pub mod for_plan;
mod hash_sample;
mod patience;
mod reading;
mod sending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use rand_xoshiro::Xoshiro256PlusPlus;

use self::account::Account;
use self::hash_sample::HashSample;
use crate::board::Board;
use crate::connection::Wire;
use crate::http::feed::Feed;
use crate::in_flight::InFlight;
use crate::ledger::{INTERVAL_NS, Ledger};
use crate::load::{Act, Due, Load, Users, share};
use crate::net::{Network, Ready};
use crate::outcome::Outcome;
use crate::pacer::{self, Pacer};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::random;
use crate::spec::Pacing;
use crate::tally::Tally;
use crate::user::User;

/// A connection that failed is replaced after this pause, as a user would do. If it were replaced at once, a server
/// that refuses connections would fail most requests, as failures take the least time.
const BACKOFF_NS: u64 = 10_000_000;
/// If a backlog was full, connecting is tried again after this pause.
const BACKLOG_POLL_NS: u64 = 1_000_000;
/// The most connections that are opened before answers are read again. Opening one takes some 20 µs, about as long as
/// five answers.
const OPENED_AT_ONCE: usize = 64;
const EVENTS_AT_ONCE: usize = 256;
const BUFFER_BYTES: usize = 256 * 1024;

/// What a thread shares with the others, and what it has alone.
pub struct Place<'a> {
    pub course: &'a Course,
    /// The index of this thread among the plan's threads.
    pub thread: usize,
    pub feed: Feed,
    pub outbox: Sender<Box<Tally>>,
    pub spent: Receiver<Box<Tally>>,
    /// Where it writes which requests are in flight, if a probe wants to know.
    pub board: Option<Arc<Board>>,
}

pub struct Loop<'a, N: Network, L> {
    plan: &'a Plan,
    course: &'a Course,
    wire: Wire<'a, N>,
    users: Box<[User<N::Socket>]>,
    load: L,
    feed: Feed,
    pacer: Pacer,
    account: Account<'a>,
    /// The requests in flight, in the order of their due times.
    in_flight: InFlight,
    board: Option<Arc<Board>>,
    /// For each of the times that are counted: how many of them had waited for longer when the last interval ended.
    waiting: Vec<i64>,
    /// Attempts to connect: when each began, and its user. Some are over.
    connecting: VecDeque<(u64, u32)>,
    /// Users who met a full backlog, with the beginning of the attempt; and when the first of them is to try again.
    again: VecDeque<(u64, u32)>,
    again_at_ns: u64,
    /// Sockets with more to read than one turn allowed, as they were reported.
    unread: Vec<Ready>,
    /// What is ready and has not been handled yet.
    ready: Vec<Ready>,
    /// Answers of the present batch that have been read and not counted yet.
    ended: Vec<(u32, Outcome)>,
    /// Which answers are hashed, by kind.
    samples: Box<[HashSample]>,
    random: Xoshiro256PlusPlus,
    /// The number of connections opened in this turn.
    opened: usize,
    /// Requests that follow an answer and wait for a later turn to open a connection.
    to_open: VecDeque<Act>,
    /// The last reading of the clock in this turn; 0 = none.
    seen_ns: u64,
}

/// The users, as far as the load may see them.
struct Seen<'b, S>(&'b [User<S>]);

impl<S> Users for Seen<'_, S> {
    #[inline]
    fn has_socket(&self, user: u32) -> bool {
        self.0[user as usize].connection.has_socket()
    }

    #[inline]
    fn is_in_flight(&self, user: u32) -> bool {
        self.0[user as usize].in_flight.is_some()
    }
}

impl<'a, N: Network, L: Load> Loop<'a, N, L> {
    pub fn new(plan: &'a Plan, place: Place<'a>, net: N, load: L) -> Self {
        let users = share(plan.shape.connections(), place.thread, plan.threads);
        let ledger = Ledger::new(place.course, plan.requests.len(), place.outbox, place.spent);
        Self {
            plan,
            course: place.course,
            wire: Wire::new(plan, net, BUFFER_BYTES),
            users: (0..users).map(|_| User::new()).collect(),
            load,
            feed: place.feed,
            pacer: Pacer::new(plan.pacing),
            account: Account::new(plan, place.course, ledger),
            in_flight: InFlight::new(users),
            board: place.board,
            waiting: vec![0; plan.slower_than_ns.len()],
            connecting: VecDeque::new(),
            again: VecDeque::new(),
            again_at_ns: 0,
            unread: Vec::new(),
            ready: Vec::with_capacity(EVENTS_AT_ONCE),
            ended: Vec::with_capacity(EVENTS_AT_ONCE),
            samples: plan.requests.iter().map(|_| HashSample::default()).collect(),
            random: random::seeded(plan.seed, SAMPLE_PURPOSE + place.thread as u64),
            opened: 0,
            to_open: VecDeque::new(),
            seen_ns: 0,
        }
    }

    pub fn run(mut self) -> Receiver<Box<Tally>> {
        pacer::ask_for_exact_timers();
        let mut now_ns = self.wire.net.now_ns();
        let first = self.course.first_phase();
        self.account.begin(first, now_ns);
        self.load.begin(first, now_ns);
        while let Some(phase) = self.course.phase(now_ns) {
            self.account_for(phase, now_ns);
            self.lose_patience(now_ns);
            self.opened = 0;
            self.act(now_ns);
            let began_ns = if L::IS_OPEN { self.wire.net.now_ns() } else { now_ns };
            let sleep_ns = self.sleep_ns(phase, began_ns);
            self.wire.net.wait(&mut self.ready, sleep_ns);
            self.seen_ns = 0;
            let slept_through = self.ready.is_empty();
            self.read();
            now_ns = if self.seen_ns == 0 { self.wire.net.now_ns() } else { self.seen_ns };
            if slept_through && sleep_ns > 0 {
                self.pacer.woke(began_ns + sleep_ns, now_ns);
            }
        }
        self.finish()
    }

    /// Closes the interval or the phase that ended before `now_ns`.
    #[inline]
    fn account_for(&mut self, phase: Phase, now_ns: u64) {
        let is_over = phase == Phase::Measured || now_ns >= self.course.measured_from_ns();
        if is_over && self.account.phase() == Phase::WarmUp {
            self.account.turn(&mut self.wire, now_ns);
            self.load.begin(Phase::Measured, now_ns);
        } else if now_ns >= self.account.ends_at_ns() {
            self.count_waiting(phase, now_ns);
            self.account.next_interval(&mut self.wire, now_ns);
        }
    }

    /// Counts the requests that have waited for longer than each of `slower_than_ns`. The cost grows with their
    /// number.
    #[cold]
    fn count_waiting(&mut self, phase: Phase, now_ns: u64) {
        if phase == Phase::WarmUp {
            return;
        }
        // In a closed shape this includes requests that the warm-up left in flight.
        let from_ns = if L::IS_OPEN { self.course.measured_from_ns() } else { 0 };
        let waiting = &mut self.account.tally().waiting;
        for (slower_than_ns, before) in self.plan.slower_than_ns.iter().zip(&mut self.waiting) {
            let count = self.in_flight.count(from_ns, now_ns.saturating_sub(*slower_than_ns)) as i64;
            waiting.push(count - *before);
            *before = count;
        }
    }

    fn finish(mut self) -> Receiver<Box<Tally>> {
        let ended_ns = self.course.ends_at_ns();
        let measured_from_ns = self.course.measured_from_ns();
        for act in &self.to_open {
            if let Act::Send { due: Due::Now { since_ns }, .. } = act {
                let waited_ns = ended_ns.saturating_sub(*since_ns.max(&measured_from_ns));
                self.account.tally().counts.users_waited_ns += waited_ns;
            }
        }
        let never_opened = self.to_open.iter().filter_map(|act| match act {
            // If a number of requests ends the phase, this one is already issued.
            Act::Send { phase, .. } if self.plan.stop.requests.is_some() => Some(*phase),
            _ => None,
        });
        for phase in never_opened.chain(self.load.left(ended_ns)) {
            self.account.tally().give_up(phase);
        }
        self.account.finish(&self.users, &mut self.wire, ended_ns)
    }

    /// Returns for how long there is nothing to do but wait for answers.
    #[inline]
    fn sleep_ns(&mut self, phase: Phase, now_ns: u64) -> u64 {
        if self.plan.pacing == Pacing::Spin
            || !self.unread.is_empty()
            || !self.to_open.is_empty()
            || !self.ready.is_empty()
            || self.opened >= OPENED_AT_ONCE
        {
            return 0;
        }
        let mut wake_ns = self.account.ends_at_ns().min(self.course.ends_at_ns());
        if phase == Phase::WarmUp {
            wake_ns = wake_ns.min(self.course.measured_from_ns());
        }
        if let Some((_, since_ns)) = self.in_flight.first() {
            wake_ns = wake_ns.min(since_ns + self.plan.request_timeout_ns);
        }
        if let Some(&(began_ns, _)) = self.connecting.front() {
            wake_ns = wake_ns.min(began_ns + self.plan.connect_timeout_ns);
        }
        if !self.again.is_empty() {
            wake_ns = wake_ns.min(self.again_at_ns);
        }
        let wake = self.load.wake(now_ns);
        wake_ns = wake_ns.min(wake.look_ns.unwrap_or(u64::MAX));
        let sleep_ns = wake_ns.saturating_sub(now_ns);
        wake.due_ns.map_or(sleep_ns, |due_ns| sleep_ns.min(self.pacer.sleep_ns(now_ns, due_ns)))
    }
}

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const SAMPLE_PURPOSE: u64 = 0x5a3b_0000;

const _: () = assert!(INTERVAL_NS > BACKLOG_POLL_NS);
