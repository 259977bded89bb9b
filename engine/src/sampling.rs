//! Has samples taken when they are due, while the clock of a course runs: beside a load, and on the server's host beside
//! one that comes from elsewhere.

use std::sync::Arc;

use crate::phase::Course;
use crate::watches::Watches;

pub struct Sampling {
    pub watches: Watches,
    course: Arc<Course>,
    next_ns: u64,
}

impl Sampling {
    pub fn new(course: Arc<Course>, watches: Watches) -> Self {
        Self { watches, course, next_ns: 0 }
    }

    /// Begins to sample. The course, or its next turn, must have begun.
    pub fn begin(&mut self) {
        self.next_ns = self.course.began_ns();
    }

    /// Takes the samples that are due; false: none are.
    pub fn sample(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns && !self.watches.are_to_open(&self.course, now_ns) {
            return false;
        }
        self.watches.sample(&self.course, self.next_ns, now_ns);
        let every_ns = self.watches.every_ns(now_ns.saturating_sub(self.course.began_ns()));
        self.next_ns = after(now_ns, self.next_ns, every_ns);
        true
    }

    /// Takes what the other threads have read, and returns when there is something to sample again.
    pub fn gather(&mut self, now_ns: u64) -> u64 {
        self.watches.gather(&self.course);
        if self.course.measured_from_ns() > now_ns {
            self.next_ns.min(self.course.look_again_ns(now_ns))
        } else {
            self.next_ns
        }
    }

    /// Takes the last samples of the course, or of its present turn.
    pub fn end(&mut self) {
        self.watches.close(&self.course);
    }
}

/// Returns the first of the instants `next_ns`, `next_ns + every_ns`, … that is later than `now_ns`.
pub fn after(now_ns: u64, next_ns: u64, every_ns: u64) -> u64 {
    if now_ns < next_ns { next_ns } else { next_ns + every_ns * (1 + (now_ns - next_ns) / every_ns) }
}
