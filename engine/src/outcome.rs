//! How a request can end. Every scheduled request ends as exactly one of these.

mod malformed;

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use malformed::Malformed;

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
    /// What came was no HTTP/1.x answer to this request, or exceeded a bound of the engine, or TLS failed: `Malformed`
    /// has the reasons.
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
