//! Why requests of a trial failed, with the number of each reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Reason, Reasons};

/// The requests that ended with one outcome for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonRecord {
    pub outcome: Outcome,
    pub reason: Reason,
    pub count: u64,
    /// When the first of them ended, since the first instant.
    pub first_ns: u64,
}

impl ReasonRecord {
    pub fn all(reasons: &Reasons) -> Vec<Self> {
        let record = |(outcome, reason, seen): (_, _, crate::outcome::Seen)| Self {
            outcome,
            reason,
            count: seen.count,
            first_ns: seen.first_ns,
        };
        reasons.each().map(record).collect()
    }
}
