//! The hot loop: one thread's connections, from readiness to the next request, and only that. It
//! allocates nothing, locks nothing and formats nothing per request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, Sender};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::clock::now_ns;
use crate::connection::{Connection, Step, Wire};
use crate::failure::Failure;
use crate::http::head::HeadMemo;
use crate::outcome::Outcome;
use crate::phase::{Course, Phase};
use crate::shape::closed::Closed;
use crate::spec::{ConnectionUse, Plan};
use crate::tally::Tally;

pub const INTERVAL_NS: u64 = 100_000_000;
/// A connection that could not be made is tried again after this pause, as a user would: at once
/// would turn a server that refuses into a race.
const RETRY_PAUSE_NS: u64 = 10_000_000;
const EVENTS_AT_ONCE: usize = 256;
const BUFFER_BYTES: usize = 256 * 1024;
const IDLE_POLL_NS: u64 = 1_000_000;

/// One user of the closed shape: a connection and the request it has in hand.
struct User {
    connection: Connection,
    /// The phase of the request in hand; `None` when there is none.
    in_hand: Option<Phase>,
    /// Asked for a request and got none; waits for the next phase.
    parked: bool,
    due_ns: u64,
    connect_began_ns: u64,
}

pub struct Worker<'a> {
    plan: &'a Plan,
    course: &'a Course,
    wire: Wire<'a>,
    users: Vec<User>,
    /// How many of the users take part in the warm-up.
    warm_up_users: usize,
    resting: BinaryHeap<Reverse<(u64, u32)>>,
    tally: Box<Tally>,
    outbox: Sender<Box<Tally>>,
    spent: Receiver<Box<Tally>>,
    until_hashed: u32,
    next_sweep_ns: u64,
    sweep_every_ns: u64,
}

impl<'a> Worker<'a> {
    /// Thread `index` of the plan's; fails where the kernel gives no epoll.
    pub fn new(
        plan: &'a Plan,
        course: &'a Course,
        index: usize,
        outbox: Sender<Box<Tally>>,
        spent: Receiver<Box<Tally>>,
    ) -> Result<Self, Failure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| Failure::new(format!("cannot create an epoll instance: {errno}")))?;
        let users = Closed::share(plan.shape.connections, index, plan.threads);
        let warm_up = plan.warm_up.map_or(0, |warm_up| warm_up.connections);
        let shortest_timeout_ns = plan.connect_timeout_ns.min(plan.request_timeout_ns);
        Ok(Self {
            plan,
            course,
            wire: Wire {
                address: plan.address,
                epoll,
                request: &plan.request,
                expect: &plan.expect,
                buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
                memo: HeadMemo::default(),
                received_bytes: 0,
                sent_bytes: 0,
            },
            users: (0..users).map(|_| User::new()).collect(),
            warm_up_users: Closed::share(warm_up, index, plan.threads),
            resting: BinaryHeap::with_capacity(users),
            tally: Box::new(Tally::new(course.phase(course.began_ns).unwrap_or(Phase::Measured))),
            outbox,
            spent,
            until_hashed: 0,
            next_sweep_ns: 0,
            sweep_every_ns: (shortest_timeout_ns / 20).clamp(1_000_000, INTERVAL_NS),
        })
    }

    /// Runs until the course is over. What it counted has then gone to the collector.
    pub fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        self.set_out(now_ns());
        loop {
            let timeout = self.until_next_duty(now_ns());
            events.clear();
            match epoll::wait(&self.wire.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break, // Not for a valid instance and buffer.
            }
            for event in &events {
                self.on_event(*event);
            }
            let now_ns = now_ns();
            let Some(phase) = self.course.phase(now_ns) else {
                break;
            };
            self.do_duties(phase, now_ns);
        }
        self.finish();
    }

    #[inline]
    fn on_event(&mut self, event: epoll::Event) {
        let index = event.data.u64() as usize;
        let user = &mut self.users[index];
        let was_connecting = user.connection.is_connecting();
        let step = user.connection.advance(event.flags, &mut self.wire);
        if was_connecting && user.connection.is_open() {
            let took_ns = now_ns() - user.connect_began_ns;
            self.tally.connections_opened += 1;
            self.tally.times.connect_time.saturating_record(took_ns);
        }
        if let Step::Ended(outcome) = step {
            self.end(index, outcome, now_ns());
        }
    }

    /// The request in hand of user `index` has ended: counts it and goes on to the next.
    #[inline]
    fn end(&mut self, index: usize, outcome: Outcome, now_ns: u64) {
        let user = &mut self.users[index];
        let Some(phase) = user.in_hand else {
            return;
        };
        let Some(present) = self.course.phase(now_ns) else {
            return; // Too late: it stays in hand, and counts as unfinished.
        };
        user.in_hand = None;
        let took_ns = now_ns - user.due_ns;
        if self.plan.connection == ConnectionUse::PerRequest {
            user.connection.close();
        }
        let hashed = user.connection.is_hashed();
        if self.tally.phase != present {
            self.turn(present, now_ns);
        }
        if phase == self.tally.phase {
            self.tally.count(outcome, took_ns, hashed);
        } else {
            self.tally.stragglers.count(outcome);
            self.tally.times.carried_over.saturating_record(now_ns - self.course.measured_from_ns());
        }
        self.course.end_one(phase, now_ns);
        let mut next_due_ns = self.plan.shape.next_due_ns(now_ns);
        if matches!(outcome, Outcome::Refused | Outcome::NotSent | Outcome::ConnectTimeout) {
            next_due_ns = next_due_ns.max(now_ns + RETRY_PAUSE_NS);
        }
        if next_due_ns > now_ns {
            self.resting.push(Reverse((next_due_ns, index as u32)));
        } else {
            self.next_request(index, now_ns, now_ns);
        }
    }

    /// Takes the next request, due at `due_ns`, and sends it, over a new connection if need be.
    #[inline]
    fn next_request(&mut self, index: usize, due_ns: u64, now_ns: u64) {
        let Some(phase) = self.course.issue(now_ns) else {
            self.users[index].parked = true;
            return;
        };
        if self.tally.phase != phase {
            self.turn(phase, now_ns);
        }
        self.tally.scheduled += 1;
        let user = &mut self.users[index];
        user.in_hand = Some(phase);
        user.due_ns = due_ns;
        let hash = sample(&mut self.until_hashed, self.plan.expect.hash_one_in, user.connection.served);
        user.connection.prepare(hash);
        let step = if user.connection.has_socket() {
            user.connection.send(&mut self.wire)
        } else {
            user.connect_began_ns = now_ns;
            user.connection.connect(&self.wire, index as u64)
        };
        if let Step::Ended(outcome) = step {
            // Bounded: every failure to connect rests first, every failure to send closes the socket.
            self.end(index, outcome, now_ns);
        }
    }

    /// All that is not an answer: the end of a pause, of an interval, of a phase, of patience.
    #[inline]
    fn do_duties(&mut self, phase: Phase, now_ns: u64) {
        if self.tally.phase != phase {
            self.turn(phase, now_ns);
        }
        while let Some(&Reverse((due_ns, index))) = self.resting.peek() {
            if due_ns > now_ns {
                break;
            }
            self.resting.pop();
            self.next_request(index as usize, due_ns, now_ns);
        }
        if now_ns >= self.tally.ends_at_ns {
            self.hand_over(now_ns);
            self.begin_interval(phase, now_ns);
        }
        if now_ns >= self.next_sweep_ns {
            self.sweep(now_ns);
            self.next_sweep_ns = now_ns + self.sweep_every_ns;
        }
    }

    fn set_out(&mut self, now_ns: u64) {
        let phase = self.course.phase(now_ns).unwrap_or(Phase::Measured);
        self.tally.clear(phase, 0);
        self.begin_interval(phase, now_ns);
        self.next_sweep_ns = now_ns + self.sweep_every_ns;
        for user in &mut self.users {
            user.parked = true;
        }
        self.set_parked_to_work(phase, now_ns);
    }

    fn set_parked_to_work(&mut self, phase: Phase, now_ns: u64) {
        let working = match phase {
            Phase::WarmUp => self.warm_up_users,
            Phase::Measured => self.users.len(),
        };
        for index in 0..working {
            if std::mem::take(&mut self.users[index].parked) {
                self.next_request(index, now_ns, now_ns);
            }
        }
    }

    /// The phase has changed under us.
    fn turn(&mut self, phase: Phase, now_ns: u64) {
        self.hand_over(now_ns);
        self.begin_interval(phase, now_ns);
        self.set_parked_to_work(phase, now_ns);
    }

    fn begin_interval(&mut self, phase: Phase, now_ns: u64) {
        let began_ns = self.course.began_at_ns(phase);
        let index = now_ns.saturating_sub(began_ns) / INTERVAL_NS;
        self.tally.clear(phase, index);
        self.tally.ends_at_ns = began_ns + (index + 1) * INTERVAL_NS;
    }

    /// Sends the tally to the collector and takes up a spent one.
    fn hand_over(&mut self, now_ns: u64) {
        let phase = self.tally.phase;
        let mut full = match self.spent.try_recv() {
            Ok(spent) => std::mem::replace(&mut self.tally, spent),
            Err(_) => std::mem::replace(&mut self.tally, Box::new(Tally::new(phase))),
        };
        full.ends_at_ns = now_ns;
        full.received_bytes = std::mem::take(&mut self.wire.received_bytes);
        full.sent_bytes = std::mem::take(&mut self.wire.sent_bytes);
        full.connections_open = self.users.iter().filter(|user| user.connection.is_open()).count() as u64;
        let _ = self.outbox.send(full); // The collector outlives us.
    }

    /// Ends what has waited too long.
    fn sweep(&mut self, now_ns: u64) {
        for index in 0..self.users.len() {
            let user = &mut self.users[index];
            if user.in_hand.is_none() {
                continue;
            }
            let connecting = user.connection.is_connecting();
            if connecting && now_ns.saturating_sub(user.connect_began_ns) >= self.plan.connect_timeout_ns {
                user.connection.close();
                self.end(index, Outcome::ConnectTimeout, now_ns);
            } else if now_ns.saturating_sub(user.due_ns) >= self.plan.request_timeout_ns {
                user.connection.close();
                self.end(index, Outcome::Timeout, now_ns);
            }
        }
    }

    fn finish(&mut self) {
        let ended_ns = self.course.ends_at_ns();
        for user in &self.users {
            match user.in_hand {
                Some(Phase::Measured) => {
                    self.tally.outcomes.count(Outcome::Unfinished);
                    self.tally.times.unfinished_age.saturating_record(ended_ns.saturating_sub(user.due_ns));
                }
                Some(Phase::WarmUp) => {
                    self.tally.stragglers.count(Outcome::Unfinished);
                    self.tally
                        .times
                        .carried_over
                        .saturating_record(ended_ns - self.course.measured_from_ns());
                }
                None => {}
            }
        }
        self.tally.is_last = true;
        self.hand_over(ended_ns);
    }

    fn until_next_duty(&self, now_ns: u64) -> Timespec {
        let mut wake_ns = self.tally.ends_at_ns.min(self.next_sweep_ns).min(self.course.ends_at_ns());
        if let Some(&Reverse((due_ns, _))) = self.resting.peek() {
            wake_ns = wake_ns.min(due_ns);
        }
        if self.tally.phase == Phase::WarmUp {
            wake_ns = wake_ns.min(self.course.measured_from_ns());
            if self.users.iter().take(self.warm_up_users).all(|user| user.parked) {
                // Another thread's answer will end the warm-up, and nothing wakes us then.
                wake_ns = wake_ns.min(now_ns + IDLE_POLL_NS);
            }
        }
        let wait_ns = wake_ns.saturating_sub(now_ns);
        Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as _ }
    }
}

impl User {
    fn new() -> Self {
        Self { connection: Connection::new(), in_hand: None, parked: false, due_ns: 0, connect_began_ns: 0 }
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

impl Tally {
    /// Counts one request that ended `took_ns` after it was due.
    #[inline]
    fn count(&mut self, outcome: Outcome, took_ns: u64, hashed: bool) {
        self.outcomes.count(outcome);
        match outcome {
            Outcome::Ok => {
                self.bodies_hashed += u64::from(hashed);
                self.times.response_time.saturating_record(took_ns);
            }
            Outcome::Timeout | Outcome::ConnectTimeout => self.times.timed_out.saturating_record(took_ns),
            Outcome::NotSent => {}
            _ => self.times.failed.saturating_record(took_ns),
        }
    }
}
