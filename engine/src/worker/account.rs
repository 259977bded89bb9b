//! What a worker counts: the phase of a request, when its answer came, and its outcome. It sends nothing.

use std::sync::mpsc::Receiver;

use super::examples::Examples;
use crate::connection::Wire;
use crate::ledger::Ledger;
use crate::net::Network;
use crate::outcome::{Outcome, Reason};
use crate::phase::{Course, Phase};
use crate::plan::Plan;
use crate::tally::{Tally, Time};
use crate::user::{Came, User};

pub struct Account<'a> {
    plan: &'a Plan,
    course: &'a Course,
    ledger: Ledger<'a>,
    examples: Examples,
    /// Whether the measured phase counts the requests that end in it, and not only those that were due in it. It does
    /// if it goes on with the load of the warm-up.
    takes_over: bool,
}

impl<'a> Account<'a> {
    pub fn new(plan: &'a Plan, course: &'a Course, ledger: Ledger<'a>) -> Self {
        Self { plan, course, ledger, examples: Examples::new(plan), takes_over: takes_over(plan) }
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.ledger.phase()
    }

    /// Returns when the present interval ends.
    #[inline]
    pub fn ends_at_ns(&self) -> u64 {
        self.ledger.ends_at_ns()
    }

    #[inline]
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.ledger.tally
    }

    pub fn begin(&mut self, phase: Phase, now_ns: u64) {
        self.ledger.begin_interval(phase, now_ns);
    }

    /// Begins the next interval.
    #[cold]
    pub fn next_interval<N: Network>(&mut self, wire: &mut Wire<N>, now_ns: u64) {
        let phase = self.phase();
        self.hand_over(wire, now_ns);
        self.ledger.begin_interval(phase, now_ns);
    }

    /// Ends the warm-up.
    #[cold]
    pub fn turn<N: Network>(&mut self, wire: &mut Wire<N>, now_ns: u64) {
        self.hand_over(wire, now_ns);
        self.ledger.begin_interval(Phase::Measured, now_ns);
    }

    fn hand_over<N: Network>(&mut self, wire: &mut Wire<N>, now_ns: u64) {
        let tally = &mut self.ledger.tally;
        tally.counts.received_bytes = std::mem::take(&mut wire.received_bytes);
        tally.counts.sent_bytes = std::mem::take(&mut wire.sent_bytes);
        tally.counts.connections_closed_by_server = std::mem::take(&mut wire.closed_by_server);
        tally.tls_fault.clone_from(&wire.tls_fault);
        self.ledger.hand_over(now_ns, wire.open);
    }

    /// Counts a connection that was established at `now_ns`, and for which `user` has waited since `began_ns`.
    #[cold]
    pub fn connected<S>(&mut self, user: &User<S>, began_ns: u64, now_ns: u64, is_open: bool) {
        let tally = &mut self.ledger.tally;
        tally.counts.connections_opened += 1;
        tally.times.record(Time::Connect, now_ns - began_ns);
        if is_open && user.in_flight == Some(tally.phase) && !user.is_repeated {
            tally.times.record(Time::Lateness, now_ns.saturating_sub(user.since_ns));
        }
    }

    /// Counts the request of `user` that has ended. Returns its final outcome, and when its connection became free.
    #[inline]
    pub fn count<N: Network>(
        &mut self,
        user: &mut User<N::Socket>,
        wire: &mut Wire<N>,
        outcome: Outcome,
        now_ns: u64,
        is_open: bool,
    ) -> (Outcome, u64) {
        let came = is_whole(outcome).then(|| user.came(&mut wire.net, self.plan.stamped, now_ns));
        let last_ns = came.map_or(now_ns, |at| at.last_ns);
        let took_ns = last_ns.saturating_sub(user.since_ns);
        // A user who waits no longer than the timeout does not see this answer.
        let is_late = came.is_some() && took_ns >= self.plan.request_timeout_ns;
        let outcome = if is_late { Outcome::Timeout } else { outcome };
        let course = self.course;
        let at_ns = || course.at_ns(now_ns);
        if outcome != Outcome::Ok || self.plan.keeps_all_examples {
            let reason = user.connection.reason().or(is_late.then_some(Reason::Late));
            self.examples.keep(user, wire, outcome, reason, at_ns(), &mut self.ledger.tally);
        }
        let is_own = user.in_flight == Some(self.phase());
        if !is_own && !self.take_over(user, outcome, last_ns, now_ns) {
            return (outcome, last_ns);
        }
        self.count_answer(user, came, now_ns);
        if outcome == Outcome::Ok {
            self.count_ok(user, came, took_ns, is_open);
        } else {
            let tally = &mut self.ledger.tally;
            if outcome == Outcome::NotSent {
                tally.counts.not_sent.count(user.connection.why_not_sent());
            }
            if let Some(reason) = user.connection.reason().or(is_late.then_some(Reason::Late)) {
                tally.reasons.count(outcome, reason, at_ns());
            }
            tally.fail(user.connection.kind(), outcome, took_ns);
        }
        (outcome, last_ns)
    }

    /// Counts a request of the warm-up that ended after it. Returns whether the measured phase counts it as its own.
    #[cold]
    fn take_over<S>(&mut self, user: &User<S>, outcome: Outcome, last_ns: u64, now_ns: u64) -> bool {
        let measured_from_ns = self.course.measured_from_ns();
        let tally = &mut self.ledger.tally;
        if self.takes_over {
            tally.take_over(user.connection.kind(), measured_from_ns.saturating_sub(user.since_ns));
        } else {
            tally.stragglers.count(outcome);
            tally.times.record(Time::CarriedOver, last_ns.saturating_sub(measured_from_ns));
            tally.counts.held_ns += now_ns - last_ns.max(measured_from_ns);
        }
        self.takes_over
    }

    /// Counts the answer of a request of this phase, if a whole one came.
    #[inline]
    fn count_answer<S>(&mut self, user: &mut User<S>, came: Option<Came>, now_ns: u64) {
        let tally = &mut self.ledger.tally;
        if let (Some(at), Some(status)) = (came, user.connection.status()) {
            tally.kinds.of(user.connection.kind()).statuses.count(status);
            user.answered_in = Some(tally.phase);
            tally.counts.held_ns += now_ns - at.last_ns;
        }
    }

    /// Counts a request of this phase that ended as `ok`, `took_ns` after it was due.
    #[inline]
    fn count_ok<S>(&mut self, user: &User<S>, came: Option<Came>, took_ns: u64, is_open: bool) {
        let tally = &mut self.ledger.tally;
        tally.succeed(user.connection.kind(), took_ns, user.connection.is_hashed());
        if let Some(at) = came {
            tally.times.record(Time::FirstByte, at.first_ns - user.sent_ns);
            if is_open {
                tally.times.record(Time::Service, at.last_ns - user.sent_ns);
            }
            tally.counts.unstamped += u64::from(self.plan.stamped && !at.stamped);
        }
    }

    /// Counts the requests still in flight when the trial ends, and hands over the last tally.
    pub fn finish<N: Network>(
        mut self,
        users: &[User<N::Socket>],
        wire: &mut Wire<N>,
        ended_ns: u64,
    ) -> Receiver<Box<Tally>> {
        let measured_from_ns = self.course.measured_from_ns();
        let tally = &mut self.ledger.tally;
        for user in users {
            let answered = user.answered_in == Some(Phase::Measured);
            if answered || user.in_flight.is_some() || user.asked_in == Some(Phase::Measured) {
                tally.counts.users += 1;
                tally.counts.users_unanswered += u64::from(!answered);
            }
            let Some(phase) = user.in_flight else {
                continue;
            };
            let kind = user.connection.kind();
            if phase == Phase::WarmUp {
                if !self.takes_over {
                    tally.stragglers.count(Outcome::Unfinished);
                    tally.times.record(Time::CarriedOver, ended_ns.saturating_sub(measured_from_ns));
                    continue;
                }
                tally.take_over(kind, measured_from_ns.saturating_sub(user.since_ns));
            }
            tally.fail(kind, Outcome::Unfinished, ended_ns.saturating_sub(user.since_ns));
        }
        tally.is_last = true;
        self.hand_over(wire, ended_ns);
        self.ledger.into_spent()
    }
}

fn takes_over(plan: &Plan) -> bool {
    plan.shape.goes_on_after(plan.warm_up.as_ref()) && plan.stop.requests.is_none()
}

/// Returns whether a whole answer came.
fn is_whole(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Ok | Outcome::WrongStatus | Outcome::WrongBody)
}
