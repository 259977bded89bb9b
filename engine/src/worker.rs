//! The hot loop: one thread's connections, from readiness to the next request, and only that. It
//! allocates nothing, locks nothing and formats nothing per request.

mod closed;
mod duties;
mod open;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, Sender};

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::event::epoll;
use rustix::io::Errno;

use crate::clock::{now_ns, unix_ahead_ns};
use crate::connection::{Step, Wire};
use crate::failure::Failure;
use crate::http::feed::Feed;
use crate::ledger::{INTERVAL_NS, Ledger};
use crate::outcome::Outcome;
use crate::pacer::{self, Pacer};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::queue::Queue;
use crate::shape::closed::{Closed, share};
use crate::shape::{Shape, random};
use crate::spec::ConnectionUse;
use crate::tally::{Tally, Time};
use crate::timetable::Timetable;
use crate::user::User;

/// A connection that could not be made is tried again after this pause, as a user would: at once
/// would turn a server that refuses into a race.
const RETRY_PAUSE_NS: u64 = 10_000_000;
const EVENTS_AT_ONCE: usize = 256;
/// How long the distance between wall clock and monotonic clock is taken to hold: even while the wall
/// clock is being adjusted (at most 500 µs a second, adjtimex(2)) it moves half a microsecond meanwhile.
const CLOCKS_HOLD_NS: u64 = 1_000_000;
const BUFFER_BYTES: usize = 256 * 1024;

/// Where requests come from.
enum Load<'a> {
    /// From each user, when its last one is answered.
    Closed(&'a Closed),
    /// From the timetable.
    Open(Queue<'a>),
}

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

pub struct Worker<'a> {
    plan: &'a Plan,
    course: &'a Course,
    wire: Wire<'a>,
    users: Vec<User>,
    load: Load<'a>,
    feed: Feed,
    thread: usize,
    /// How many of the users take part in the warm-up.
    warm_up_users: usize,
    warm_up_pauses: bool,
    /// Whether the measured phase counts what ends in it, and not only what was due in it: it goes on
    /// with the load that the warm-up was.
    takes_over: bool,
    resting: BinaryHeap<Reverse<(u64, u32)>>,
    pacer: Pacer,
    random: Xoshiro256PlusPlus,
    ledger: Ledger<'a>,
    unix_ahead_ns: u64,
    /// When that was read.
    clocks_read_ns: u64,
    /// The clock as last read, in the present batch of events; 0 = not in this one.
    seen_ns: u64,
    until_hashed: u32,
    next_sweep_ns: u64,
    sweep_every_ns: u64,
}

impl<'a> Worker<'a> {
    /// Fails where the kernel gives no epoll.
    pub fn new(plan: &'a Plan, place: Place<'a>) -> Result<Self, Failure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| Failure::new(format!("cannot create an epoll instance: {errno}")))?;
        let mut none = Vec::with_capacity(1);
        let at_once = pacer::timespec(0);
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut none), Some(&at_once)).map_err(|errno| {
            Failure::new(format!("cannot wait to the nanosecond (epoll_pwait2): {errno}"))
                .remedy("the engine needs Linux 5.11 or later")
        })?;
        let users = share(plan.shape.connections(), place.thread, plan.threads);
        let warm_up = plan.warm_up.map_or(0, |warm_up| warm_up.connections);
        let warm_up_pauses = plan.warm_up.is_none_or(|warm_up| warm_up.pauses);
        let load = match (&plan.shape, place.timetable) {
            (Shape::Closed(closed), _) => Load::Closed(closed),
            (Shape::Open(_), Some(table)) => Load::Open(Queue::new(table, users)),
            (Shape::Open(_), None) => return Err(Failure::new("an open shape without its timetable")),
        };
        Ok(Self {
            plan,
            course: place.course,
            wire: Wire::new(plan, epoll, BUFFER_BYTES),
            users: (0..users).map(|_| User::new()).collect(),
            load,
            feed: place.feed,
            thread: place.thread,
            warm_up_users: share(warm_up, place.thread, plan.threads),
            takes_over: plan.stop.requests.is_none()
                && matches!(
                    &plan.shape,
                    Shape::Closed(closed) if closed.ramp.is_none() && (warm_up_pauses || closed.pause.is_none())
                ),
            warm_up_pauses,
            resting: BinaryHeap::with_capacity(users),
            pacer: Pacer::new(plan.pacing),
            random: random(plan.seed, place.thread as u64 + 1),
            ledger: Ledger::new(place.course, place.outbox, place.spent),
            unix_ahead_ns: unix_ahead_ns(),
            clocks_read_ns: now_ns(),
            seen_ns: 0,
            until_hashed: 0,
            next_sweep_ns: 0,
            sweep_every_ns: (plan.connect_timeout_ns.min(plan.request_timeout_ns) / 20)
                .clamp(1_000_000, INTERVAL_NS),
        })
    }

    /// Runs until the course is over. What it counted has then gone to the collector; what it was given
    /// back by is returned.
    pub fn run(mut self) -> Receiver<Box<Tally>> {
        pacer::ask_for_exact_timers();
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        let mut now = now_ns();
        self.set_out(now);
        while let Some(phase) = self.course.phase(now) {
            self.do_duties(phase, now);
            let began_ns = if self.plan.shape.is_open() { now_ns() } else { now };
            let sleep_ns = self.sleep_ns(began_ns);
            let timeout = pacer::timespec(sleep_ns);
            events.clear();
            match epoll::wait(&self.wire.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break, // Not for a valid instance and buffer.
            }
            self.seen_ns = 0;
            for event in &events {
                self.on_event(*event);
            }
            now = if self.seen_ns == 0 { now_ns() } else { self.seen_ns };
            if events.is_empty() && sleep_ns > 0 {
                self.pacer.woke(began_ns + sleep_ns, now);
            }
        }
        self.finish();
        self.ledger.into_spent()
    }

    #[inline]
    fn on_event(&mut self, event: epoll::Event) {
        let index = event.data.u64() as usize;
        let user = &mut self.users[index];
        let mut step = user.connection.advance(event.flags, &mut self.wire);
        if step == Step::Connected {
            step = self.on_connected(index);
        }
        if let Step::Ended(outcome) = step {
            let now_ns = now_ns();
            self.seen_ns = now_ns;
            self.end(index, outcome, now_ns);
            // Before the next answer is read: what is due must not wait for what has come.
            self.serve_due(now_ns);
        }
    }

    #[cold]
    fn on_connected(&mut self, index: usize) -> Step {
        let now_ns = now_ns();
        let user = &mut self.users[index];
        user.sent_ns = now_ns;
        let tally = &mut self.ledger.tally;
        tally.counts.connections_opened += 1;
        tally.times.record(Time::Connect, now_ns - user.connect_began_ns);
        if user.in_hand == Some(tally.phase) && matches!(self.load, Load::Open(_)) {
            tally.times.record(Time::Lateness, now_ns - user.due_ns);
        }
        user.connection.send(&mut self.wire)
    }

    /// The request in hand of user `index` has ended: counts it and goes on to the next.
    #[inline]
    fn end(&mut self, index: usize, outcome: Outcome, now_ns: u64) {
        let user = &mut self.users[index];
        let Some(phase) = user.in_hand else {
            return;
        };
        if outcome != Outcome::Ok && user.met_a_closed_door(outcome) {
            self.send_again(index, now_ns);
            return;
        }
        let Some(present) = self.course.phase(now_ns) else {
            return; // Too late: it stays in hand, and counts as unfinished.
        };
        if self.ledger.phase() != present {
            self.turn(present, now_ns);
        }
        let freed_ns = self.count(index, phase, outcome, now_ns);
        let pauses = self.pauses_in(present);
        let user = &mut self.users[index];
        user.in_hand = None;
        user.freed_ns = now_ns;
        if self.plan.connection == ConnectionUse::PerRequest {
            user.connection.close();
        }
        self.course.end_one(phase, now_ns);
        let rests = matches!(outcome, Outcome::Refused | Outcome::NotSent | Outcome::ConnectTimeout);
        let rest_ns = if rests { RETRY_PAUSE_NS } else { 0 };
        match &mut self.load {
            Load::Closed(shape) if phase != present && shape.ramp.is_some() => self.come_anew(index, now_ns),
            Load::Closed(shape) => {
                let pause_ns =
                    if pauses { shape.pause.draw_ns(&mut self.random).max(rest_ns) } else { rest_ns };
                if pause_ns > 0 {
                    self.resting.push(Reverse((now_ns + pause_ns, index as u32)));
                } else {
                    self.next_request(index, now_ns, now_ns);
                }
            }
            Load::Open(_) if rests => self.resting.push(Reverse((now_ns + rest_ns, index as u32))),
            Load::Open(queue) if user.connection.has_socket() => queue.release(index as u32, freed_ns),
            Load::Open(queue) => queue.release_unopened(index as u32),
        }
    }

    /// Counts a request of `phase` that ended, and says when its connection became free.
    #[inline]
    fn count(&mut self, index: usize, phase: Phase, outcome: Outcome, now_ns: u64) -> u64 {
        let user = &self.users[index];
        let tally = &mut self.ledger.tally;
        if phase != tally.phase {
            let measured_from_ns = self.course.measured_from_ns();
            if !self.takes_over {
                tally.stragglers.count(outcome);
                tally.times.record(Time::CarriedOver, now_ns - measured_from_ns);
                return now_ns;
            }
            tally.take_over(measured_from_ns.saturating_sub(user.due_ns));
        }
        if outcome != Outcome::Ok {
            tally.count(outcome, now_ns - user.due_ns);
            return now_ns;
        }
        if self.plan.stamped && now_ns - self.clocks_read_ns > CLOCKS_HOLD_NS {
            self.unix_ahead_ns = unix_ahead_ns();
            self.clocks_read_ns = now_ns;
        }
        let came = user.came(self.unix_ahead_ns, now_ns);
        tally.count(outcome, came.last_ns - user.due_ns);
        tally.times.record(Time::FirstByte, came.first_ns - user.sent_ns);
        if matches!(self.load, Load::Open(_)) {
            tally.times.record(Time::Service, came.last_ns - user.sent_ns);
        }
        let counts = &mut tally.counts;
        counts.held_ns += now_ns - came.last_ns;
        counts.unstamped += u64::from(self.plan.stamped && !came.stamped);
        counts.bodies_hashed += u64::from(user.connection.is_hashed());
        came.last_ns
    }

    /// Takes a request in hand and sends it, over a new connection if need be.
    #[inline]
    fn take(&mut self, index: usize, phase: Phase, due_ns: u64, now_ns: u64) {
        self.ledger.tally.schedule(phase);
        let kind = self.feed.next();
        let user = &mut self.users[index];
        user.take(phase, due_ns, now_ns);
        let one_in = self.plan.requests[usize::from(kind)].expect.hash_one_in;
        let hash = sample(&mut self.until_hashed, one_in, user.connection.served);
        user.connection.prepare(kind, self.feed.bytes(), hash);
        let step = if user.connection.has_socket() {
            user.connection.send(&mut self.wire)
        } else {
            user.connect_began_ns = now_ns;
            user.connection.connect(&mut self.wire, index as u64)
        };
        if let Step::Ended(outcome) = step {
            // Bounded: every failure to connect rests first, every failure to send closes the socket.
            self.end(index, outcome, now_ns);
        }
    }

    #[cold]
    fn send_again(&mut self, index: usize, now_ns: u64) {
        self.ledger.tally.counts.retried += 1;
        let user = &mut self.users[index];
        user.connect_began_ns = now_ns;
        user.connection.prepare_again();
        if let Step::Ended(outcome) = user.connection.connect(&mut self.wire, index as u64) {
            self.end(index, outcome, now_ns);
        }
    }
}

/// Whether the next answer is hashed: the first of every connection, then one in so many.
#[inline]
fn sample(until_hashed: &mut u32, one_in: u32, served: u32) -> bool {
    if one_in == 0 {
        return false;
    }
    if *until_hashed == 0 || served == 0 {
        *until_hashed = one_in - 1;
        return true;
    }
    *until_hashed -= 1;
    false
}
