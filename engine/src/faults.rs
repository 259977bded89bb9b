//! Collects what is wrong in a document, so that everything is reported at once.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use crate::failure::Failure;

/// Everything that was found wrong so far.
#[derive(Default)]
pub struct Faults(Vec<String>);

impl Faults {
    pub fn add(&mut self, key: &str, what: impl std::fmt::Display) {
        self.0.push(format!("{key} {what}"));
    }

    pub fn unless(&mut self, holds: bool, key: &str, what: &str) {
        if !holds {
            self.add(key, what);
        }
    }

    /// Returns `value`. If it is out of `bounds`, adds a fault of `key` and returns the lower bound.
    pub fn within<T: Copy + Debug + PartialOrd>(
        &mut self,
        value: T,
        bounds: RangeInclusive<T>,
        key: &str,
    ) -> T {
        if bounds.contains(&value) {
            return value;
        }
        self.add(
            key,
            format!("is {value:?}, and must lie between {:?} and {:?}", bounds.start(), bounds.end()),
        );
        *bounds.start()
    }

    /// # Errors
    /// One `Failure` (exit code 2) with every fault, if there is any.
    pub fn none(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!("the trial makes no sense: {}", self.0.join("; ")))
            .remedy("correct these keys of the TrialSpec"))
    }
}
