//! The hot loop: one thread's connections, from readiness to the next request, and only that. It
//! allocates nothing, locks nothing and formats nothing per request, and visits no connection that has nothing to do.

mod account;
mod examples;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};

use rand_xoshiro::Xoshiro256PlusPlus;

use self::account::Account;
use crate::connection::{Step, Wire};
use crate::failure::Failure;
use crate::http::feed::Feed;
use crate::in_flight::InFlight;
use crate::ledger::{INTERVAL_NS, Ledger};
use crate::net::kernel::Kernel;
use crate::net::{Network, Ready};
use crate::outcome::Outcome;
use crate::pacer::{self, Pacer};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::shape::closed::ClosedLoad;
use crate::shape::open::OpenLoad;
use crate::shape::{Act, Due, Ended, Load, Shape, Users, random, share, uniform};
use crate::spec::{ConnectionUse, Pacing};
use crate::tally::{Tally, Time};
use crate::timetable::Timetable;
use crate::user::User;

/// A connection that failed is replaced after this pause, as a user would: at once would turn a server that
/// refuses into a race that the failures win.
const BACKOFF_NS: u64 = 10_000_000;
/// A backlog that is full is tried again after this pause.
const BACKLOG_POLL_NS: u64 = 1_000_000;
/// Connections that are opened before answers are read again: each takes some 20 µs, about as long as five answers.
const OPENED_AT_ONCE: usize = 64;
const EVENTS_AT_ONCE: usize = 256;
/// So many answers before its turn a user is fetched into the cache.
const PREFETCHED_AHEAD: usize = 4;
const BUFFER_BYTES: usize = 256 * 1024;

/// What a thread has in common with the others, and what is its own.
pub struct Place<'a> {
    pub course: &'a Course,
    /// The schedule of an open shape.
    pub timetable: Option<&'a Timetable>,
    /// Which of the plan's threads this is.
    pub thread: usize,
    pub feed: Feed,
    pub outbox: Sender<Box<Tally>>,
    pub spent: Receiver<Box<Tally>>,
}

/// A worker for either shape, over real sockets.
pub enum Worker<'a> {
    Closed(Loop<'a, Kernel<'a>, ClosedLoad<'a>>),
    Open(Loop<'a, Kernel<'a>, OpenLoad<'a>>),
}

impl<'a> Worker<'a> {
    /// Fails where the kernel gives no epoll.
    pub fn new(plan: &'a Plan, place: Place<'a>) -> Result<Self, Failure> {
        let net = Kernel::new(plan)?;
        let threads = (place.thread, plan.threads);
        match (&plan.shape, place.timetable) {
            (Shape::Closed(shape), _) => {
                let load = ClosedLoad::new(shape, place.course, plan.warm_up.as_ref(), threads, plan.seed);
                Ok(Self::Closed(Loop::new(plan, place, net, load)))
            }
            (Shape::Open(shape), Some(table)) => {
                let users = share(shape.connections, place.thread, plan.threads);
                let by_number = plan.stop.requests.is_some();
                let load = OpenLoad::new(table, place.course, users, plan.request_timeout_ns, by_number);
                Ok(Self::Open(Loop::new(plan, place, net, load)))
            }
            (Shape::Open(_), None) => Err(Failure::new("an open shape without its timetable")),
        }
    }

    /// Runs until the course is over. What it counted has then gone to the collector; what it was given
    /// back by is returned.
    pub fn run(self) -> Receiver<Box<Tally>> {
        match self {
            Self::Closed(worker) => worker.run(),
            Self::Open(worker) => worker.run(),
        }
    }
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
    /// Requests in flight, the one that was due first in front.
    in_flight: InFlight,
    /// Attempts to connect and when they began; some are over.
    connecting: VecDeque<(u64, u32)>,
    /// Who met a full backlog, with the beginning of the attempt, and when the first of them is to try again.
    again: VecDeque<(u64, u32)>,
    again_at_ns: u64,
    /// Sockets with more to read than one turn allowed, as they were reported.
    unread: Vec<Ready>,
    /// What is ready and was not acted upon yet.
    ready: Vec<Ready>,
    /// Answers of the present batch that have been read and not counted yet.
    ended: Vec<(u32, Outcome)>,
    /// Which answers are hashed, by kind.
    samples: Box<[Sample]>,
    random: Xoshiro256PlusPlus,
    /// Connections opened in this turn.
    opened: usize,
    /// Requests that follow an answer, and wait for a later turn to open a connection.
    to_open: VecDeque<Act>,
    /// The clock as last read.
    seen_ns: u64,
}

/// The users as their load sees them.
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
            connecting: VecDeque::new(),
            again: VecDeque::new(),
            again_at_ns: 0,
            unread: Vec::new(),
            ready: Vec::with_capacity(EVENTS_AT_ONCE),
            ended: Vec::with_capacity(EVENTS_AT_ONCE),
            samples: plan.requests.iter().map(|_| Sample::default()).collect(),
            random: random(plan.seed, SAMPLE_PURPOSE + place.thread as u64),
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

    /// Reads what has come. Where nothing is due while the answers are read, all of them are read before the first
    /// is counted and the next request sent: each part of the work finds its code and the kernel's in the cache.
    #[inline]
    fn read(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for place in 0..ready.len() {
            if let Some(ahead) = ready.get(place + PREFETCHED_AHEAD) {
                prefetch(&self.users[ahead.token as u32 as usize]);
            }
            self.on_ready(ready[place]);
        }
        ready.clear();
        if self.ready.is_empty() {
            self.ready = ready; // Keeps its memory.
        }
        if self.unread.is_empty() {
            return self.end_all();
        }
        for ready in std::mem::take(&mut self.unread) {
            self.on_ready(ready);
        }
        self.end_all();
    }

    /// Counts what has ended, in the order in which it was read.
    #[inline]
    fn end_all(&mut self) {
        let mut place = 0;
        while let Some(&(index, outcome)) = self.ended.get(place) {
            place += 1;
            self.end(index, outcome);
        }
        self.ended.clear();
    }

    #[inline]
    fn on_ready(&mut self, ready: Ready) {
        let step = self.advance(ready);
        if L::IS_OPEN && step != Step::Pending {
            // Before the next answer is read: what is due must not wait for what has come, which is stamped.
            self.end_all();
            self.act(self.wire.net.now_ns());
        }
    }

    #[inline]
    fn advance(&mut self, ready: Ready) -> Step {
        let index = ready.token as u32;
        let user = &mut self.users[index as usize];
        if !user.connection.is_named_by(ready.token) {
            return Step::Pending; // About a socket that was replaced in this very batch.
        }
        let mut step = user.connection.advance(ready, &mut self.wire);
        if step == Step::Connected {
            step = self.on_connected(index, ready);
        }
        if step == Step::Unread {
            self.unread.push(Ready { read: true, ..ready });
        } else {
            self.on_step(index, step);
        }
        step
    }

    /// Sees which connections stand, and leaves what else is ready to the next turn: a connection that is looked at
    /// only when all others have been begun would seem to have taken so long.
    #[cold]
    fn see_connections(&mut self) {
        let seen = self.ready.len();
        self.wire.net.wait(&mut self.ready, 0);
        let mut place = seen;
        while let Some(&ready) = self.ready.get(place) {
            if self.users[ready.token as u32 as usize].connection.is_connecting() {
                self.ready.swap_remove(place);
                self.advance(ready);
            } else {
                place += 1;
            }
        }
    }

    #[inline]
    fn on_step(&mut self, index: u32, step: Step) {
        match step {
            Step::Ended(outcome) => self.ended.push((index, outcome)),
            // More to read is only met by who reads.
            Step::Pending | Step::Connected | Step::Unread => {}
            Step::Again => {
                self.again_at_ns = self.wire.net.now_ns() + BACKLOG_POLL_NS;
                self.again.push_back((self.users[index as usize].sent_ns, index));
            }
        }
    }

    #[cold]
    fn on_connected(&mut self, index: u32, ready: Ready) -> Step {
        let now_ns = self.wire.net.now_ns();
        let user = &mut self.users[index as usize];
        let began_ns = std::mem::replace(&mut user.sent_ns, now_ns);
        self.account.connected(user, began_ns, now_ns, L::IS_OPEN);
        match user.connection.send(&mut self.wire, None) {
            // What the server said unasked, as SSH does, is reported no more.
            Step::Pending if ready.read => user.connection.advance(ready, &mut self.wire),
            step => step,
        }
    }

    /// The request in flight of user `index` has ended: counts it and goes on to the next.
    #[inline]
    fn end(&mut self, index: u32, outcome: Outcome) {
        let now_ns = self.wire.net.now_ns();
        self.seen_ns = now_ns;
        let user = &mut self.users[index as usize];
        let Some(phase) = user.in_flight else {
            return;
        };
        if outcome != Outcome::Ok && user.is_to_be_repeated(outcome) {
            self.repeat(index, now_ns);
            return;
        }
        let Some(present) = self.course.phase(now_ns) else {
            return; // Too late: it stays in flight, and counts as unfinished.
        };
        self.account_for(present, now_ns);
        let user = &mut self.users[index as usize];
        let (outcome, freed_ns) = self.account.count(user, &mut self.wire, outcome, now_ns, L::IS_OPEN);
        user.in_flight = None;
        user.since_ns = now_ns;
        self.in_flight.remove(index);
        if self.plan.connection == ConnectionUse::PerRequest {
            user.connection.close(&mut self.wire);
        }
        self.course.end_one(phase, now_ns);
        let ended = Ended {
            user: index,
            phase,
            present,
            now_ns,
            freed_ns,
            backoff_ns: if is_broken(outcome) { BACKOFF_NS } else { 0 },
            has_socket: user.connection.has_socket(),
        };
        match self.load.ended(&ended) {
            None => {}
            Some(act @ Act::Send { .. }) if !ended.has_socket => self.to_open.push_back(act),
            Some(act) => self.carry_out(act, now_ns),
        }
    }

    /// Does what the load wants done by now; a bounded number of connections are opened in one go.
    #[inline]
    fn act(&mut self, mut now_ns: u64) {
        while self.opened < OPENED_AT_ONCE
            && let Some(phase) = self.course.phase(now_ns)
        {
            // In turn, so that neither who begins nor who opens another connection waits for all of the others.
            let opening = self.to_open.pop_front();
            if let Some(act) = opening {
                self.carry_out(act, now_ns);
            }
            self.account_for(phase, now_ns);
            let next = self.load.next(now_ns, &Seen(&self.users));
            if let Some(act) = next {
                self.carry_out(act, now_ns);
            }
            if opening.is_none() && next.is_none() {
                return;
            }
            self.end_all();
            now_ns = self.wire.net.now_ns();
        }
    }

    #[inline]
    fn carry_out(&mut self, act: Act, now_ns: u64) {
        match act {
            Act::Send { user, phase, due } => self.begin(user, phase, due, now_ns),
            Act::GiveUp { phase } => {
                self.account_for(phase, now_ns);
                self.account.tally().give_up(phase);
                self.course.end_one(phase, now_ns);
            }
            Act::Leave { user } => self.users[user as usize].connection.close(&mut self.wire),
        }
    }

    /// A request of `phase` begins: it is sent, over a new connection if need be.
    #[inline]
    fn begin(&mut self, index: u32, phase: Phase, due: Due, mut now_ns: u64) {
        self.account_for(phase, now_ns);
        let kind = self.feed.next();
        let has_socket = self.users[index as usize].connection.has_socket();
        if !has_socket || self.feed.has_waited() {
            // Other connections were opened since, or requests were waited for: that is the engine's time.
            now_ns = self.wire.net.now_ns();
        }
        let tally = self.account.tally();
        tally.schedule(phase, kind);
        let due_ns = match due {
            Due::Now { since_ns } => {
                let since_ns = since_ns.max(self.course.began_at_ns(tally.phase));
                tally.counts.users_waited_ns += now_ns.saturating_sub(since_ns);
                now_ns
            }
            Due::At { due_ns, ready_ns } => {
                if phase == tally.phase {
                    tally.times.record(Time::EngineLateness, now_ns.saturating_sub(ready_ns));
                    if L::IS_OPEN && has_socket {
                        tally.times.record(Time::Lateness, now_ns.saturating_sub(due_ns));
                    }
                }
                due_ns
            }
        };
        debug_assert!(self.users[index as usize].in_flight.is_none(), "one request at a time");
        self.in_flight.push(index);
        let hash = self.samples(kind, index);
        let user = &mut self.users[index as usize];
        let may_repeat =
            user.begin(phase, due_ns, now_ns, self.plan.requests[usize::from(kind)].is_idempotent);
        let own = self.feed.bytes();
        user.connection.prepare(kind, own, may_repeat, hash);
        if has_socket {
            let own = if may_repeat { None } else { own };
            let step = user.connection.send(&mut self.wire, own);
            self.on_step(index, step);
        } else {
            self.connect(index, now_ns);
        }
    }

    #[cold]
    fn connect(&mut self, index: u32, now_ns: u64) {
        self.opened += 1;
        let user = &mut self.users[index as usize];
        user.sent_ns = now_ns;
        let step = user.connection.connect(&mut self.wire, index);
        if matches!(step, Step::Pending | Step::Again) {
            self.connecting.push_back((now_ns, index));
        }
        self.on_step(index, step);
        self.see_connections();
    }

    #[cold]
    fn repeat(&mut self, index: u32, now_ns: u64) {
        self.account.tally().counts.retried += 1;
        self.users[index as usize].connection.prepare_again();
        self.connect(index, now_ns);
    }

    /// Whether the next answer is hashed: the first of every connection, and one in so many.
    #[inline]
    fn samples(&mut self, kind: u16, index: u32) -> bool {
        let one_in = self.plan.requests[usize::from(kind)].expect.hash_one_in;
        if one_in == 0 {
            return false;
        }
        let is_drawn = self.samples[usize::from(kind)].draws(one_in, &mut self.random);
        is_drawn || self.users[index as usize].connection.is_fresh()
    }

    /// Ends what has waited too long, and looks again at backlogs that were full.
    #[inline]
    fn lose_patience(&mut self, now_ns: u64) {
        if !self.connecting.is_empty() || !self.again.is_empty() {
            self.lose_patience_with_connections(now_ns);
        }
        while let Some(index) = self.in_flight.first() {
            let user = &mut self.users[index as usize];
            if now_ns.saturating_sub(user.since_ns) < self.plan.request_timeout_ns {
                break;
            }
            user.connection.close(&mut self.wire);
            self.end(index, Outcome::Timeout);
            if self.in_flight.first() == Some(index) {
                break; // The trial is over.
            }
        }
        self.end_all();
    }

    #[cold]
    fn lose_patience_with_connections(&mut self, now_ns: u64) {
        while let Some(&(began_ns, index)) = self.connecting.front() {
            let user = &mut self.users[index as usize];
            let still = user.is_connecting() && user.sent_ns == began_ns;
            if still && now_ns.saturating_sub(began_ns) < self.plan.connect_timeout_ns {
                break;
            }
            self.connecting.pop_front();
            if still {
                user.connection.close(&mut self.wire);
                self.end(index, Outcome::ConnectTimeout);
            }
        }
        // One finds out for all of them whether the backlog has room.
        while self.again_at_ns <= now_ns
            && let Some((began_ns, index)) = self.again.pop_front()
        {
            let user = &mut self.users[index as usize];
            if user.in_flight.is_some() && !user.connection.has_socket() && user.sent_ns == began_ns {
                let step = user.connection.connect(&mut self.wire, index);
                self.on_step(index, step);
                if step == Step::Again {
                    break;
                }
            }
        }
    }

    /// Closes the interval, or the phase, that `now_ns` is beyond.
    #[inline]
    fn account_for(&mut self, phase: Phase, now_ns: u64) {
        let is_over = phase == Phase::Measured || now_ns >= self.course.measured_from_ns();
        if is_over && self.account.phase() == Phase::WarmUp {
            self.account.turn(&mut self.wire, now_ns);
            self.load.begin(Phase::Measured, now_ns);
        } else if now_ns >= self.account.ends_at_ns() {
            self.account.next_interval(&mut self.wire, now_ns);
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
            // Of a number of requests this one is handed out already.
            Act::Send { phase, .. } if self.plan.stop.requests.is_some() => Some(*phase),
            _ => None,
        });
        for phase in never_opened.chain(self.load.left(ended_ns)) {
            self.account.tally().give_up(phase);
        }
        self.account.finish(&self.users, &mut self.wire, ended_ns)
    }

    /// How long there is nothing to do but to wait for answers.
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
        if let Some(index) = self.in_flight.first() {
            wake_ns = wake_ns.min(self.users[index as usize].since_ns + self.plan.request_timeout_ns);
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

/// Fetches a user into the cache, where the processor can be told to.
#[inline]
fn prefetch<S>(user: &User<S>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(user).cast::<i8>();
        // SAFETY: both lines are the user's own, and fetching changes nothing.
        unsafe {
            _mm_prefetch(first, _MM_HINT_T0);
            _mm_prefetch(first.add(64), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = user;
}

/// One in so many, at a random place among them: a fixed place would meet the same requests in every pass of a deck.
#[derive(Default)]
struct Sample {
    /// Requests left of the present lot, and after how many of them the one is drawn.
    left: u32,
    until: u32,
}

impl Sample {
    #[inline]
    fn draws(&mut self, one_in: u32, random: &mut Xoshiro256PlusPlus) -> bool {
        if self.left == 0 {
            self.left = one_in;
            self.until = (uniform(random) * f64::from(one_in)) as u32;
        }
        self.left -= 1;
        if self.until == 0 {
            self.until = u32::MAX;
            return true;
        }
        self.until -= 1;
        false
    }
}

/// Distinguishes the random numbers drawn here from those of other parts of the engine.
const SAMPLE_PURPOSE: u64 = 0x5a3b_0000;

/// Whether the connection, or the attempt at one, failed.
fn is_broken(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused
            | Outcome::NotSent
            | Outcome::ConnectTimeout
            | Outcome::Reset
            | Outcome::ClosedEarly
            | Outcome::Malformed
    )
}

const _: () = assert!(INTERVAL_NS > BACKLOG_POLL_NS);
