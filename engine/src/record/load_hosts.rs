//! What each of several load hosts did of a load that they put on together. The lab fills it in: an engine knows of no other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::histograms::HistogramRecord;
use crate::outcome::Outcomes;

/// One of several load hosts, and what it did of the load in the measured phase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadHostRecord {
    /// As it was named.
    pub name: String,
    /// How long a line took there and back before the load.
    pub round_trip_ns: u64,
    /// How much later it began than the first of them, as far as their clocks tell.
    pub late_ns: u64,
    /// By how much `late_ns` may be wrong.
    pub late_off_ns: u64,
    pub measured_ns: u64,
    pub scheduled: u64,
    pub outcomes: Outcomes,
    /// From due to last byte, of the requests that ended `ok`.
    pub response_time: HistogramRecord,
    /// The engine's own lateness.
    pub engine_lateness: HistogramRecord,
    /// Its median response time divided by that of all others in the same intervals: the 95 % interval of the mean of the
    /// logarithms over the intervals; null with too few of them.
    pub beside_others: Option<(f64, f64)>,
    /// The word of its own record's validity.
    pub validity: String,
    /// The problems of its own record, a sentence each.
    pub problems: Vec<String>,
}
