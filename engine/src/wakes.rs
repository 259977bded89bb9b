//! When a thread wakes up that reads at random times: at its instants, at the beginning of the measured phase, and when the
//! trial is over. It reads nothing.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::clock::now_ns;
use crate::phase::Course;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The measured phase has begun. It is told once.
    Measuring,
    Due,
    /// The trial is over.
    Over,
}

#[derive(Default)]
pub struct Wakes {
    is_measuring: bool,
}

impl Wakes {
    /// Returns whether the beginning of the measured phase was told.
    pub fn is_measuring(&self) -> bool {
        self.is_measuring
    }

    /// Waits until `due_ns`, or until something else is to be told before. `course` must have begun; the trial is over, too,
    /// if `ended` is closed.
    pub fn wait(&mut self, due_ns: u64, course: &Course, ended: &Receiver<()>) -> Woken {
        loop {
            let now_ns = now_ns();
            if now_ns >= course.ends_at_ns() {
                return Woken::Over;
            }
            if !self.is_measuring && now_ns >= course.measured_from_ns() {
                self.is_measuring = true;
                return Woken::Measuring;
            }
            if now_ns >= due_ns {
                return Woken::Due;
            }
            let mut until_ns = due_ns.min(course.ends_at_ns());
            if !self.is_measuring {
                until_ns = until_ns.min(course.look_again_ns(now_ns));
            }
            let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns));
            if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return Woken::Over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_beginning_of_the_measured_phase_is_told_once_and_before_what_is_due_later() {
        let (course, (_open, ended)) = (Course::begun(5_000_000, 60_000_000_000), mpsc::channel());
        let (mut wakes, due_ns) = (Wakes::default(), course.began_ns() + 20_000_000);
        assert_eq!(wakes.wait(due_ns, &course, &ended), Woken::Measuring);
        assert!(now_ns() >= course.measured_from_ns() && wakes.is_measuring());
        assert_eq!(wakes.wait(due_ns, &course, &ended), Woken::Due);
        let short = Course::begun(0, 5_000_000);
        assert_eq!(wakes.wait(u64::MAX, &short, &ended), Woken::Over);
        assert!(now_ns() >= short.ends_at_ns());
    }

    #[test]
    fn it_is_over_when_the_channel_is_closed() {
        let (course, (open, ended)) = (Course::begun(1_000_000_000, 1_000_000_000), mpsc::channel());
        drop(open);
        assert_eq!(Wakes::default().wait(u64::MAX, &course, &ended), Woken::Over);
    }
}
