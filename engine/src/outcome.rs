//! How a request can end. Every scheduled request ends as exactly one of these.

mod malformed;
mod reason;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use malformed::Malformed;
pub use reason::{Fault, Reason};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The answer that was expected came.
    Ok,
    /// A whole answer came, with another status than expected.
    WrongStatus,
    /// The expected status came, with a body of another length or content.
    WrongBody,
    /// The connection was not accepted.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the answer was whole.
    ClosedEarly,
    /// The connection was not established in time.
    ConnectTimeout,
    /// The answer was not whole in time.
    Timeout,
    /// What came was no HTTP/1.x answer to this request, or exceeded a bound of the engine, or TLS failed: `Reason` has
    /// the reasons.
    Malformed,
    /// The request was due, but was never sent.
    NotSent,
    /// The request was sent, or waited for its connection, and the engine had not read its whole answer when the trial
    /// ended.
    Unfinished,
}

/// The number of requests with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Outcomes {
    pub ok: u64,
    pub wrong_status: u64,
    pub wrong_body: u64,
    pub refused: u64,
    pub reset: u64,
    pub closed_early: u64,
    pub connect_timeout: u64,
    pub timeout: u64,
    pub malformed: u64,
    pub not_sent: u64,
    pub unfinished: u64,
}

impl Outcomes {
    #[inline]
    pub fn count(&mut self, outcome: Outcome) {
        *self.of(outcome) += 1;
    }

    pub fn of(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::WrongStatus => &mut self.wrong_status,
            Outcome::WrongBody => &mut self.wrong_body,
            Outcome::Refused => &mut self.refused,
            Outcome::Reset => &mut self.reset,
            Outcome::ClosedEarly => &mut self.closed_early,
            Outcome::ConnectTimeout => &mut self.connect_timeout,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Malformed => &mut self.malformed,
            Outcome::NotSent => &mut self.not_sent,
            Outcome::Unfinished => &mut self.unfinished,
        }
    }

    /// Returns the number of requests with any outcome but `ok`, `not-sent` and `unfinished`.
    pub fn failed(&self) -> u64 {
        self.total() - self.ok - self.not_sent - self.unfinished
    }

    pub fn total(&self) -> u64 {
        self.ok
            + self.wrong_status
            + self.wrong_body
            + self.refused
            + self.reset
            + self.closed_early
            + self.connect_timeout
            + self.timeout
            + self.malformed
            + self.not_sent
            + self.unfinished
    }
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.wrong_status += other.wrong_status;
        self.wrong_body += other.wrong_body;
        self.refused += other.refused;
        self.reset += other.reset;
        self.closed_early += other.closed_early;
        self.connect_timeout += other.connect_timeout;
        self.timeout += other.timeout;
        self.malformed += other.malformed;
        self.not_sent += other.not_sent;
        self.unfinished += other.unfinished;
    }
}

/// How often requests failed for one reason, and when the first did, since the first instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub count: u64,
    pub first_ns: u64,
}

/// The reasons for which requests failed, by outcome.
#[derive(Clone, Debug, Default)]
pub struct Reasons(BTreeMap<(Outcome, Reason), Seen>);

impl Reasons {
    /// Counts a request that ended so at `at_ns`.
    pub fn count(&mut self, outcome: Outcome, reason: Reason, at_ns: u64) {
        self.add_one(outcome, reason, Seen { count: 1, first_ns: at_ns });
    }

    pub fn add(&mut self, other: &Self) {
        other.each().for_each(|(outcome, reason, seen)| self.add_one(outcome, reason, seen));
    }

    fn add_one(&mut self, outcome: Outcome, reason: Reason, more: Seen) {
        let seen = self.0.entry((outcome, reason)).or_insert(Seen { count: 0, first_ns: more.first_ns });
        seen.count += more.count;
        seen.first_ns = seen.first_ns.min(more.first_ns);
    }

    pub fn each(&self) -> impl Iterator<Item = (Outcome, Reason, Seen)> {
        self.0.iter().map(|(&(outcome, reason), &seen)| (outcome, reason, seen))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_counted_for_its_outcome_and_its_first_occurrence_is_kept() {
        let mut reasons = Reasons::default();
        reasons.count(Outcome::Reset, Reason::InBody, 9);
        reasons.count(Outcome::Reset, Reason::InBody, 12);
        reasons.count(Outcome::ClosedEarly, Reason::InBody, 3);
        let mut sum = Reasons::default();
        sum.count(Outcome::Reset, Reason::InBody, 7);
        sum.add(&reasons);
        let found: Vec<_> = sum.each().collect();
        assert_eq!(
            found,
            [
                (Outcome::Reset, Reason::InBody, Seen { count: 3, first_ns: 7 }),
                (Outcome::ClosedEarly, Reason::InBody, Seen { count: 1, first_ns: 3 }),
            ]
        );
        sum.clear();
        assert_eq!(sum.each().count(), 0);
    }
}
