//! When the phases of a trial begin and end, and which phase it is now. The engine's threads share this while the
//! clock runs. It is a few atomics, so that no thread waits for a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phases in which there is load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    WarmUp,
    Measured,
}

/// What ends a phase: that this many of its requests have ended, if a number is given, and at the latest that it has
/// lasted for `within_ns`.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    pub requests: Option<u64>,
    pub within_ns: u64,
}

/// The load of the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct WarmUp {
    /// The number of connections that the warm-up uses.
    pub connections: usize,
    /// Whether users pause as the shape says. If not, each sends its next request at once.
    pub pauses: bool,
    pub stop: Stop,
}

/// One of the turns in which a load is put on.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub warm_up: WarmUp,
    /// How long it measures; 0 = it only warms up.
    pub measured_ns: u64,
}

const NOT_YET: u64 = u64::MAX;
/// How late the beginning of the measured phase is noticed, at most, after a warm-up by number. The window of a load of few
/// requests lacks as much.
const BEGINNING_NS: u64 = 250_000;

/// The phases of one trial on the monotonic clock, and their requests where a number of requests ends a phase.
///
/// A load that is put on in turns has both phases in each of them, and only the present turn is on the clock. On the time axis
/// of the record its turns follow one another: what lies between two of them is not there, and neither is a warm-up that
/// comes after something was measured.
pub struct Course {
    began_ns: AtomicU64,
    warm_up_for_ns: u64,
    measured_for_ns: u64,
    measured_from_ns: AtomicU64,
    ends_at_ns: AtomicU64,
    /// When the trial was stopped. It is apart from the instants above, as a thread may set these at the same time: the
    /// one whose request is the last of the warm-up.
    stopped_ns: AtomicU64,
    warm_up: Count,
    measured: Count,
    is_in_turns: AtomicBool,
    /// How long the turns before this one warmed up, up to the first that measured, and how long they measured.
    warmed_up_ns: AtomicU64,
    measured_before_ns: AtomicU64,
}

/// How many requests of a phase were issued, and how many have ended. They are counted only if there is a `limit`:
/// the number of requests that ends the phase.
struct Count {
    limit: Option<u64>,
    issued: Apart,
    ended: Apart,
}

/// A number that all threads write to. It shares no cache line with anything else: each write takes the line from the
/// other cores. It has two lines of 64 bytes, as some processors fetch lines in pairs.
#[repr(align(128))]
struct Apart(AtomicU64);

impl Course {
    /// The course of a trial that has not begun; without a warm-up if `warm_up` is `None`.
    pub fn new(warm_up: Option<Stop>, measured: Stop) -> Self {
        Self {
            began_ns: AtomicU64::new(NOT_YET),
            warm_up_for_ns: warm_up.map_or(0, |stop| stop.within_ns),
            measured_for_ns: measured.within_ns,
            measured_from_ns: AtomicU64::new(NOT_YET),
            ends_at_ns: AtomicU64::new(NOT_YET),
            stopped_ns: AtomicU64::new(NOT_YET),
            warm_up: Count::new(warm_up.and_then(|stop| stop.requests)),
            measured: Count::new(measured.requests),
            is_in_turns: AtomicBool::new(false),
            warmed_up_ns: AtomicU64::new(0),
            measured_before_ns: AtomicU64::new(0),
        }
    }

    /// Begins the trial at `began_ns`, which is now or a little later.
    pub fn begin(&self, began_ns: u64) {
        self.began_ns.store(began_ns, Relaxed);
        self.begin_measuring(began_ns + self.warm_up_for_ns);
    }

    /// Begins the next turn at `began_ns`. The one before is over, and nothing of it is counted any more.
    pub fn begin_turn(&self, began_ns: u64, turn: &Turn) {
        if self.is_in_turns.swap(true, Relaxed) {
            let (warmed_up_ns, measured_ns) = (self.warm_up_ns(), self.measured_ns());
            self.warmed_up_ns.store(warmed_up_ns, Relaxed);
            self.measured_before_ns.store(measured_ns, Relaxed);
        }
        let from_ns = began_ns + turn.warm_up.stop.within_ns;
        self.began_ns.store(began_ns, Relaxed);
        self.ends_at_ns.store(from_ns + turn.measured_ns, Relaxed);
        self.measured_from_ns.store(from_ns, Relaxed);
    }

    /// Begins the measured phase at `now_ns`, unless it began earlier: the last request of a warm-up by number has ended.
    pub fn measure(&self, now_ns: u64) {
        if now_ns < self.measured_from_ns() {
            self.begin_measuring(now_ns);
        }
    }

    /// Returns whether anything is measured in the present turn.
    pub fn measures(&self) -> bool {
        !self.is_in_turns.load(Relaxed) || self.measured_from_ns() < self.ends_at_ns()
    }

    /// Returns how long the load warmed up before it was measured.
    pub fn warm_up_ns(&self) -> u64 {
        let before_ns = self.warmed_up_ns.load(Relaxed);
        let is_resumed = self.measured_before_ns() > 0;
        if is_resumed { before_ns } else { before_ns + self.measured_from_ns() - self.began_ns() }
    }

    /// Returns how long the load was measured, the present turn included.
    pub fn measured_ns(&self) -> u64 {
        self.measured_before_ns() + self.ends_at_ns() - self.measured_from_ns()
    }

    /// Returns how long it was measured in the turns before this one.
    pub fn measured_before_ns(&self) -> u64 {
        self.measured_before_ns.load(Relaxed)
    }

    /// Returns whether this instant of the present turn has a place on the time axis of the record.
    pub fn counts(&self, now_ns: u64) -> bool {
        self.measured_before_ns() == 0 || now_ns >= self.measured_from_ns()
    }

    /// Returns where this instant of the present turn is on the time axis of the record. An instant that has no place there is
    /// put where the turn begins, and one after the turn where it ends.
    pub fn at_ns(&self, now_ns: u64) -> u64 {
        let before_ns = self.warmed_up_ns.load(Relaxed) + self.measured_before_ns();
        let from_ns = if self.measured_before_ns() == 0 { self.began_ns() } else { self.measured_from_ns() };
        let until_ns = if self.is_in_turns.load(Relaxed) { self.ends_at_ns() } else { NOT_YET };
        before_ns + now_ns.min(until_ns).saturating_sub(from_ns)
    }

    pub fn began_ns(&self) -> u64 {
        self.began_ns.load(Relaxed)
    }

    /// Returns the phase at `now_ns`, or `None` if the trial is over. Before the first instant it is `WarmUp`, even
    /// if the trial has no warm-up.
    #[inline]
    pub fn phase(&self, now_ns: u64) -> Option<Phase> {
        if now_ns < self.measured_from_ns() {
            Some(Phase::WarmUp)
        } else if now_ns < self.ends_at_ns() {
            Some(Phase::Measured)
        } else {
            None
        }
    }

    /// Returns the phase that begins at the first instant.
    pub fn first_phase(&self) -> Phase {
        if self.warm_up_for_ns == 0 { Phase::Measured } else { Phase::WarmUp }
    }

    /// Returns when a thread that waits for the measured phase is to look again: when the phase begins, or soon, if a number
    /// of requests ends the warm-up, as nobody knows that instant before. `now_ns` lies in the warm-up.
    pub fn look_again_ns(&self, now_ns: u64) -> u64 {
        let soon_ns = self.warm_up.limit.map(|_| now_ns + BEGINNING_NS);
        self.measured_from_ns().min(soon_ns.unwrap_or(NOT_YET))
    }

    /// Returns the phase of a request that is due at `due_ns`.
    #[inline]
    pub fn phase_of(&self, due_ns: u64) -> Phase {
        if due_ns < self.measured_from_ns() { Phase::WarmUp } else { Phase::Measured }
    }

    /// Ends the trial at `now_ns`, unless it ends earlier.
    pub fn stop(&self, now_ns: u64) {
        let now_ns = now_ns.max(self.began_ns()); // `began_ns` may be later than now.
        self.stopped_ns.fetch_min(now_ns, Relaxed);
    }

    /// Returns when the measured phase begins. Until then this may change to an earlier instant: if the last request
    /// of a warm-up by number ends, or if the trial is stopped.
    pub fn measured_from_ns(&self) -> u64 {
        self.measured_from_ns.load(Relaxed).min(self.stopped_ns.load(Relaxed))
    }

    pub fn ends_at_ns(&self) -> u64 {
        self.ends_at_ns.load(Relaxed).min(self.stopped_ns.load(Relaxed))
    }

    pub fn began_at_ns(&self, phase: Phase) -> u64 {
        match phase {
            Phase::WarmUp => self.began_ns(),
            Phase::Measured => self.measured_from_ns(),
        }
    }

    /// Issues one more request of `phase`. Returns false if the phase has no request left, or is not the present one:
    /// another thread, or this one, may just have ended the warm-up.
    #[inline]
    pub fn issue(&self, phase: Phase, now_ns: u64) -> bool {
        self.phase(now_ns) == Some(phase) && self.count(phase).issue()
    }

    /// Counts one request of `phase` that ended at `now_ns`. If a number of requests ends the phase and this was the
    /// last of them, the phase ends now.
    #[inline]
    pub fn end_one(&self, phase: Phase, now_ns: u64) {
        if self.count(phase).end_one() {
            match phase {
                Phase::WarmUp => self.measure(now_ns),
                Phase::Measured => {
                    self.ends_at_ns.fetch_min(now_ns, Relaxed);
                }
            }
        }
    }

    /// Returns how many of the requests that `phase` has by number were never issued; 0 if it has no number.
    pub fn never_issued(&self, phase: Phase) -> u64 {
        let count = self.count(phase);
        count.limit.map_or(0, |limit| limit.saturating_sub(count.issued.0.load(Relaxed)))
    }

    fn begin_measuring(&self, from_ns: u64) {
        self.ends_at_ns.store(from_ns + self.measured_for_ns, Relaxed);
        self.measured_from_ns.store(from_ns, Relaxed);
    }

    fn count(&self, phase: Phase) -> &Count {
        match phase {
            Phase::WarmUp => &self.warm_up,
            Phase::Measured => &self.measured,
        }
    }
}

impl Count {
    fn new(limit: Option<u64>) -> Self {
        Self { limit, issued: Apart(AtomicU64::new(0)), ended: Apart(AtomicU64::new(0)) }
    }

    #[inline]
    fn issue(&self) -> bool {
        // Load first: where no request is left, nothing is written, and no other core loses the cache line.
        self.limit.is_none_or(|limit| {
            self.issued.0.load(Relaxed) < limit && self.issued.0.fetch_add(1, Relaxed) < limit
        })
    }

    #[inline]
    fn end_one(&self) -> bool {
        self.limit.is_some_and(|limit| self.ended.0.fetch_add(1, Relaxed) + 1 == limit)
    }
}

#[cfg(test)]
impl Course {
    /// A trial that begins now, with phases of these lengths.
    pub fn begun(warm_up_ns: u64, measured_ns: u64) -> Self {
        let stop = |within_ns| Stop { requests: None, within_ns };
        let course = Self::new(Some(stop(warm_up_ns)), stop(measured_ns));
        course.begin(crate::clock::now_ns());
        course
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(began_ns: u64, warm_up: Option<Stop>, measured: Stop) -> Course {
        let course = Course::new(warm_up, measured);
        course.begin(began_ns);
        course
    }

    fn by_number(requests: u64) -> Stop {
        Stop { requests: Some(requests), within_ns: 1000 }
    }

    #[test]
    fn without_a_warm_up_measuring_begins_at_once() {
        let course = begun(50, None, Stop { requests: None, within_ns: 10 });
        assert_eq!(course.phase(50), Some(Phase::Measured));
        assert_eq!(course.phase(59), Some(Phase::Measured));
        assert_eq!(course.phase(60), None);
        assert_eq!(course.never_issued(Phase::Measured), 0);
    }

    #[test]
    fn a_warm_up_by_number_ends_with_its_last_request() {
        let course = begun(0, Some(by_number(2)), by_number(1));
        assert!(course.issue(Phase::WarmUp, 1) && course.issue(Phase::WarmUp, 1));
        assert!(!course.issue(Phase::WarmUp, 1), "it has no more");
        course.end_one(Phase::WarmUp, 5);
        assert_eq!(course.phase(6), Some(Phase::WarmUp));
        course.end_one(Phase::WarmUp, 7);
        assert_eq!(course.phase(7), Some(Phase::Measured));
        assert_eq!(course.never_issued(Phase::Measured), 1);
        assert!(!course.issue(Phase::WarmUp, 8), "it is over");
        assert!(course.issue(Phase::Measured, 8));
        course.end_one(Phase::Measured, 9);
        assert_eq!((course.measured_from_ns(), course.ends_at_ns()), (7, 9));
        assert_eq!(course.phase(9), None);
        assert_eq!(course.never_issued(Phase::Measured), 0);
    }

    #[test]
    fn time_ends_what_the_number_did_not() {
        let course = begun(0, Some(by_number(5)), by_number(5));
        assert_eq!(course.phase(1000), Some(Phase::Measured));
        course.issue(Phase::Measured, 1001);
        assert_eq!(course.phase(2000), None);
        assert!(!course.issue(Phase::Measured, 2000));
        assert_eq!(course.never_issued(Phase::Measured), 4);
    }

    #[test]
    fn turns_follow_one_another_on_the_time_axis_of_the_record() {
        let turn = |warm_up_ns, measured_ns| {
            let stop = Stop { requests: None, within_ns: warm_up_ns };
            Turn { warm_up: WarmUp { connections: 1, pauses: true, stop }, measured_ns }
        };
        let course = Course::new(Some(by_number(1)), by_number(1));
        course.begin_turn(1_000, &turn(100, 0));
        assert_eq!((course.phase(1_099), course.phase(1_100)), (Some(Phase::WarmUp), None));
        assert!(!course.measures() && course.counts(1_050));
        assert_eq!([1_000, 1_050, 1_300].map(|ns| course.at_ns(ns)), [0, 50, 100]);
        course.begin_turn(5_000, &turn(20, 40));
        assert!(course.measures() && course.counts(5_000));
        assert_eq!([5_000, 5_020, 5_060, 5_070].map(|ns| course.at_ns(ns)), [100, 120, 160, 160]);
        assert_eq!((course.warm_up_ns(), course.measured_ns()), (120, 40));
        // What warms up after that has no place: it is put where the turn begins.
        course.begin_turn(9_000, &turn(30, 60));
        assert_eq!((course.counts(9_029), course.counts(9_030)), (false, true));
        assert_eq!([9_000, 9_029, 9_030, 9_090, 9_100].map(|ns| course.at_ns(ns)), [160, 160, 160, 220, 220]);
        assert_eq!((course.warm_up_ns(), course.measured_ns(), course.measured_before_ns()), (120, 100, 40));
    }

    #[test]
    fn it_can_be_stopped_at_any_time() {
        let course = begun(0, None, by_number(5));
        course.stop(400);
        assert_eq!((course.phase(399), course.phase(400)), (Some(Phase::Measured), None));
        let course = begun(0, Some(by_number(5)), by_number(5));
        course.stop(400);
        assert_eq!((course.phase(399), course.phase(400)), (Some(Phase::WarmUp), None));
        assert_eq!(course.ends_at_ns() - course.measured_from_ns(), 0);
    }

    /// One thread stops the trial while another counts the last request of the warm-up, and has looked at the clock
    /// before.
    #[test]
    fn an_end_of_the_warm_up_at_the_same_time_does_not_undo_a_stop() {
        let course = begun(0, Some(by_number(5)), by_number(5));
        course.stop(400);
        course.begin_measuring(399);
        assert_eq!((course.measured_from_ns(), course.ends_at_ns()), (399, 400));
        course.begin_measuring(401);
        assert_eq!((course.measured_from_ns(), course.ends_at_ns()), (400, 400));
    }

    #[test]
    fn stopped_before_its_first_instant_it_has_no_length() {
        let course = begun(1_000, Some(by_number(5)), by_number(5));
        course.stop(400);
        assert_eq!((course.measured_from_ns(), course.ends_at_ns()), (1_000, 1_000));
    }

    #[test]
    fn a_late_end_of_the_warm_up_changes_nothing() {
        let course = begun(0, Some(by_number(1)), by_number(5));
        course.issue(Phase::WarmUp, 1);
        course.end_one(Phase::WarmUp, 1500);
        assert_eq!(course.measured_from_ns(), 1000);
        assert_eq!(course.never_issued(Phase::WarmUp), 0);
    }
}
