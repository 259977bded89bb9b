//! One line of progress, as the lab reads it. `output.rs` writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::outcome::Outcomes;
use crate::phase::Phase;

/// One line of progress: figures of the last second, and the totals so far, warm-up included.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgressLine {
    /// Since the first instant.
    pub at_s: f64,
    pub phase: Phase,
    /// Requests that ended `ok` so far.
    pub ok: u64,
    /// Requests that failed so far.
    pub failed: u64,
    /// Over the last second.
    pub throughput_per_s: f64,
    /// Of the last 100 ms.
    pub p50_ns: Option<u64>,
    /// Of the ten intervals of 100 ms of the last second, the highest 99th percentile.
    pub p99_ns: Option<u64>,
    /// Over the last second.
    pub max_ns: Option<u64>,
    /// Open connections.
    pub connections: u64,
    /// How long the trial may still take.
    pub left_s: f64,
    /// Whole answers so far by their status, expected or not.
    pub statuses: BTreeMap<u16, u64>,
    pub measured: MeasuredSoFar,
}

/// The measured phase so far.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasuredSoFar {
    pub seconds: f64,
    pub scheduled: u64,
    pub outcomes: Outcomes,
    /// For each of the spec's `slower_than_ns`: right answers that took longer, and requests that have been in flight for
    /// longer.
    pub slower: Vec<u64>,
}
