//! What must hold of the hot loop, whatever its peers do: every request ends as exactly one outcome and has its reason,
//! what is counted is what went over the network, nothing that has come lies unread, and no request outlives its
//! timeout. The tests here draw peers at random; the fuzz target draws them from its bytes.

mod answers;
mod draws;
mod network;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

use crumple_engine::http::feed;
use crumple_engine::outcome::{Outcome, Outcomes};
use crumple_engine::phase::{Course, Phase};
use crumple_engine::plan::Plan;
use crumple_engine::shape::Shape;
use crumple_engine::shape::closed::ClosedLoad;
use crumple_engine::shape::open::OpenLoad;
use crumple_engine::shape::timetable::{Filler, Timetable};
use crumple_engine::spec::TrialSpec;
use crumple_engine::tally::{Tally, Time};
use crumple_engine::worker::{Loop, Place};
use draws::Draws;
use network::{Played, Seen};
use serde_json::{Value, json};

const BEGAN_NS: u64 = 3_000_000_000;
/// A turn of the loop delays what is due by this at most.
const TURN_NS: u64 = 10_000_000;

/// Runs a trial that is drawn from these bytes, against peers that are drawn from them, and asserts all of this.
pub fn assert_holds(bytes: &[u8]) {
    let mut draws = Draws::new(bytes);
    let plan = drawn_spec(&mut draws).plan().map_err(|failure| failure.error).unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let net = Played::new(draws, plan.shape.connections(), BEGAN_NS, seen.clone());
    let counted = Counted::of(run(&plan, net));
    counted.assert_adds_up(&plan);
    counted.assert_is_what_was_seen(&seen.borrow(), &plan);
}

fn drawn_spec(draws: &mut Draws) -> TrialSpec {
    let mut spec: Value = serde_json::from_str(include_str!("../../../contract/golden/spec.json")).unwrap();
    let users = draws.one_of(&[1, 2, 3, 8]);
    let rate = draws.one_of(&[100.0, 2_000.0]);
    let pause_ms = draws.one_of(&[0.0, 0.0, 7.0]);
    spec["shape"] = match draws.below(4) {
        0 | 1 => {
            json!({"kind": "closed", "connections": users, "pause_ms": pause_ms, "pause": "exponential"})
        }
        2 => json!({"kind": "ramp", "from_connections": users / 2, "to_connections": users, "over_s": 0.05,
            "pause_ms": pause_ms, "pause": "fixed"}),
        _ => json!({"kind": "open", "connections": users, "arrivals": draws.one_of(&["poisson", "even"]),
            "rates": [{"from_per_s": rate, "to_per_s": rate, "duration_s": 1.0}]}),
    };
    let by_time = |seconds: f64| json!({"kind": "duration", "duration_s": seconds});
    let by_number = |requests: u64| json!({"kind": "requests", "requests": requests, "within_s": 0.2});
    let is_open = spec["shape"]["kind"] == "open";
    spec["warm_up"] = match draws.below(3) {
        0 => Value::Null,
        1 if !is_open => json!({"connections": null, "pauses": draws.rarely(2), "stop": by_number(5)}),
        _ => json!({"connections": null, "pauses": true, "stop": by_time(0.05)}),
    };
    spec["stop"] = if draws.rarely(3) { by_number(20) } else { by_time(0.2) };
    spec["connection"] = json!(if draws.rarely(4) { "per-request" } else { "keep-alive" });
    spec["timeouts"] = json!({"connect_s": 0.03, "request_s": draws.one_of(&[0.06, 0.01, 0.5])});
    spec["threads"] = json!(1);
    let examples = if draws.rarely(2) { "all" } else { "unexpected" };
    spec["examples"] = json!(examples);
    let body = if draws.rarely(3) { "x".repeat(5_000) } else { String::new() };
    let hash_one_in = draws.one_of(&[0, 1, 3]);
    let requests = draws.one_of(&[&["GET"][..], &["POST"], &["GET", "PUT", "POST"]]);
    let request = |method: &&str| {
        json!({"name": method, "method": method, "path": "/", "headers": [], "body": body, "body_file": null,
            "varies": false, "weight": 1, "expect": {"status": 200, "body_bytes": null,
            "body_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "hash_one_in": hash_one_in}})
    };
    spec["requests"] = requests.iter().map(request).collect();
    serde_json::from_value(spec).unwrap()
}

/// Returns the tallies of a trial of this plan over this network.
fn run(plan: &Plan, net: Played) -> Vec<Tally> {
    let course = Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    course.begin(BEGAN_NS);
    let (outbox, inbox) = mpsc::channel();
    let (_returned, spent) = mpsc::channel();
    let (mut feeds, _) = feed::feeds(&plan.requests, 1, plan.part, plan.seed);
    let place = Place { course: &course, thread: 0, feed: feeds.remove(0), outbox, spent, board: None };
    match &plan.shape {
        Shape::Closed(shape) => {
            let load = ClosedLoad::new(shape, &course, plan.warm_up.as_ref(), (0, 1), plan.seed);
            Loop::new(plan, place, net, load).run();
        }
        Shape::Open(shape) => {
            let table = Timetable::new(shape);
            let warm_up_ns = plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns);
            let mut filler = Filler::new(shape, BEGAN_NS, warm_up_ns, plan.stop.requests, plan.seed);
            while !filler.fill(&table) {}
            let by_number = plan.stop.requests.is_some();
            let load = OpenLoad::new(&table, &course, shape.connections, plan.request_timeout_ns, by_number);
            Loop::new(plan, place, net, load).run();
        }
    }
    inbox.iter().map(|tally| *tally).collect()
}

/// What a trial counted, over all of its intervals.
struct Counted {
    tallies: Vec<Tally>,
    measured: Outcomes,
    warm_up: Outcomes,
}

impl Counted {
    fn of(tallies: Vec<Tally>) -> Self {
        let (mut measured, mut warm_up) = (Outcomes::default(), Outcomes::default());
        for tally in &tallies {
            match tally.phase {
                Phase::Measured => measured += tally.outcomes(),
                Phase::WarmUp => warm_up += tally.outcomes(),
            }
            warm_up += tally.stragglers;
        }
        Self { tallies, measured, warm_up }
    }

    fn sum(&self, of: impl Fn(&Tally) -> u64) -> u64 {
        self.tallies.iter().map(of).sum()
    }

    /// Returns how many requests ended so, in both phases.
    fn ended(&self, outcome: Outcome) -> u64 {
        let (mut measured, mut warm_up) = (self.measured, self.warm_up);
        *measured.of(outcome) + *warm_up.of(outcome)
    }

    fn longest_ns(&self, time: Time) -> u64 {
        let longest = |tally: &Tally| tally.times.of(time).quantile_ns(1.0);
        self.tallies.iter().filter_map(longest).max().unwrap_or_default()
    }

    fn assert_adds_up(&self, plan: &Plan) {
        let in_phase = |phase, tally: &Tally| if tally.phase == phase { tally.counts.scheduled } else { 0 };
        let measured = self.sum(|tally| in_phase(Phase::Measured, tally));
        assert_eq!(measured, self.measured.total(), "{:?}", self.measured);
        let warm_up = self.sum(|tally| in_phase(Phase::WarmUp, tally) + tally.stragglers_scheduled)
            - self.sum(|tally| tally.taken_over);
        assert_eq!(warm_up, self.warm_up.total(), "{:?}", self.warm_up);
        for tally in &self.tallies {
            let kinds = tally.kinds.counted().map(|(_, kind)| kind.scheduled).sum::<u64>();
            assert_eq!(kinds + tally.too_late, tally.counts.scheduled);
            let why = tally.counts.not_sent;
            let reasons = why.too_late + why.ports + why.descriptors + why.memory + why.forbidden + why.route;
            let mut outcomes = tally.outcomes();
            assert_eq!(reasons, *outcomes.of(Outcome::NotSent), "{why:?}");
            let mut counted = Outcomes::default();
            tally.reasons.each().for_each(|(outcome, _, seen)| *counted.of(outcome) += seen.count);
            let wrong = outcomes.wrong_status + outcomes.wrong_body;
            assert_eq!(counted.failed() + wrong, outcomes.failed(), "{:?}", tally.reasons);
            assert_eq!(counted.malformed, outcomes.malformed, "{:?}", tally.reasons);
            assert_eq!(counted.total(), counted.failed(), "{:?}", tally.reasons);
        }
        // A bucket of a histogram is as wide as a thousandth of its times.
        let timeout_ns = plan.request_timeout_ns + plan.request_timeout_ns / 1_000;
        assert!(self.longest_ns(Time::Response) <= timeout_ns, "{}", self.longest_ns(Time::Response));
        for time in [Time::TimedOut, Time::UnfinishedAge] {
            let longest_ns = self.longest_ns(time);
            assert!(longest_ns <= timeout_ns + TURN_NS, "{time:?} {longest_ns} ns of {timeout_ns}");
        }
    }

    fn assert_is_what_was_seen(&self, seen: &Seen, plan: &Plan) {
        assert_eq!(self.sum(|tally| tally.counts.received_bytes), seen.received_bytes);
        assert_eq!(self.sum(|tally| tally.counts.sent_bytes), seen.sent_bytes);
        assert_eq!(self.sum(|tally| tally.counts.connections_opened), seen.opened);
        assert_eq!(self.tallies.last().unwrap().connections_open, seen.open);
        let retried = self.sum(|tally| tally.counts.retried);
        assert!(retried == 0 || plan.requests.iter().any(|request| request.is_idempotent));
        assert!(retried <= seen.unanswered, "{retried} again, {} without an answer", seen.unanswered);
        let scheduled = self.measured.total() + self.warm_up.total();
        assert!(seen.asked <= scheduled + retried, "{} asked, {scheduled} and {retried} again", seen.asked);
        let whole = [Outcome::Ok, Outcome::WrongStatus, Outcome::WrongBody];
        let whole: u64 = whole.into_iter().map(|outcome| self.ended(outcome)).sum();
        assert!(whole <= seen.whole + seen.unknown, "{whole} of {} and {}", seen.whole, seen.unknown);
        // One that came late counts as a timeout, and one that came in the last turn as unfinished.
        let late = self.ended(Outcome::Timeout) + self.ended(Outcome::Unfinished);
        assert!(seen.whole <= whole + late, "{} of {whole} and {late}", seen.whole);
    }
}
