//! The hot loop: it serves the connections of one thread, from readiness to the next request. For a request it
//! allocates, locks and formats nothing, and it looks at no connection that has nothing to do.

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
use crate::ledger::Ledger;
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

/// A connection that failed is replaced after this time. If it were replaced at once, most requests to a server that
/// refuses some connections would be refused: a refusal takes less time than an answer, so the next attempt would
/// follow sooner.
const BACKOFF_NS: u64 = 10_000_000;
/// If the server's backlog was full, connecting is tried again after this time.
const BACKLOG_POLL_NS: u64 = 1_000_000;
/// The most connections that are opened before answers are read again. Opening one takes some 20 µs, as long as
/// reading about five answers.
const OPENED_AT_ONCE: usize = 64;
const EVENTS_AT_ONCE: usize = 256;
const BUFFER_BYTES: usize = 256 * 1024;

/// What a loop needs to know and to reach of the trial: the course, which all threads share, and the thread's own
/// number, requests and channels.
pub struct Place<'a> {
    pub course: &'a Course,
    /// The index of this thread among the plan's threads.
    pub thread: usize,
    pub feed: Feed,
    /// Tallies go to the collector through this channel.
    pub outbox: Sender<Box<Tally>>,
    /// Tallies that the collector has added up come back through this channel.
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
    /// For each of the plan's `slower_than_ns`: the number of requests that had been in flight for longer when the
    /// last interval ended.
    waiting: Vec<i64>,
    /// Attempts to connect, each with the instant at which it began and its user, in the order of these instants. An
    /// attempt that is over stays in the list until all before it are over.
    connecting: VecDeque<(u64, u32)>,
    /// Attempts that found the server's backlog full, each with the instant at which it began and its user.
    again: VecDeque<(u64, u32)>,
    /// When the first of `again` is to be tried again.
    again_at_ns: u64,
    /// Reports of sockets that had more to read than one turn allows.
    unread: Vec<Ready>,
    /// Reports that have not been handled yet.
    ready: Vec<Ready>,
    /// Requests that have ended and are not counted yet: the user of each, and how it ended.
    ended: Vec<(u32, Outcome)>,
    /// Which answers are hashed, for each kind of request.
    samples: Box<[HashSample]>,
    random: Xoshiro256PlusPlus,
    /// The number of connections opened in this turn.
    opened: usize,
    /// Requests that are due and whose users have no connection, as it was closed after the last answer. A later turn
    /// opens one for each.
    to_open: VecDeque<Act>,
    /// When the last request ended since the thread last waited; 0 = none has. The next turn takes this for the
    /// present time, which saves a reading of the clock.
    seen_ns: u64,
}

/// What the load may ask about the users.
struct Seen<'b, S> {
    users: &'b [User<S>],
    may_open: bool,
}

impl<S> Users for Seen<'_, S> {
    #[inline]
    fn has_socket(&self, user: u32) -> bool {
        self.users[user as usize].connection.has_socket()
    }

    #[inline]
    fn is_in_flight(&self, user: u32) -> bool {
        self.users[user as usize].in_flight.is_some()
    }

    #[inline]
    fn may_open(&self) -> bool {
        self.may_open
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

    pub fn run(mut self) -> (Feed, Receiver<Box<Tally>>) {
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

    /// Closes the warm-up or the interval if it has ended by `now_ns`.
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

    /// Counts, for each of `slower_than_ns`, the requests that have been in flight for longer. This takes the longer,
    /// the more they are.
    #[cold]
    fn count_waiting(&mut self, phase: Phase, now_ns: u64) {
        if phase == Phase::WarmUp {
            return;
        }
        // In a closed shape this includes the requests that the warm-up left in flight, which the measured phase may
        // count as its own.
        let from_ns = if L::IS_OPEN { self.course.measured_from_ns() } else { 0 };
        let waiting = &mut self.account.tally().waiting;
        for (slower_than_ns, before) in self.plan.slower_than_ns.iter().zip(&mut self.waiting) {
            let count = self.in_flight.count(from_ns, now_ns.saturating_sub(*slower_than_ns)) as i64;
            waiting.push(count - *before);
            *before = count;
        }
    }

    fn finish(mut self) -> (Feed, Receiver<Box<Tally>>) {
        let ended_ns = self.course.ends_at_ns();
        let measured_from_ns = self.course.measured_from_ns();
        for act in &self.to_open {
            if let Act::Send { due: Due::Now { since_ns }, .. } = act {
                let waited_ns = ended_ns.saturating_sub(*since_ns.max(&measured_from_ns));
                self.account.tally().counts.users_waited_ns += waited_ns;
            }
        }
        let never_opened = self.to_open.iter().filter_map(|act| match act {
            // If a number of requests ends the phase, this one was issued, so it has to be counted: as not sent.
            Act::Send { phase, .. } if self.plan.stop.requests.is_some() => Some(*phase),
            _ => None,
        });
        for phase in never_opened.chain(self.load.left(ended_ns)) {
            self.account.tally().give_up(phase);
        }
        (self.feed, self.account.finish(&self.users, &mut self.wire, ended_ns))
    }

    /// Returns how long the thread may sleep: until something is to be done even if no answer comes.
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
