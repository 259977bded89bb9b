//! What is recorded of the speed of cores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How fast the cores were while measured: a fixed piece of work was done on one of them at random times. Neighbours on the
/// same physical core, and the processor's clock, make it slower, though no CPU time is stolen.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedRecord {
    pub readings: u64,
    /// Pieces of work for a second of CPU time, on average over readings; null if there was none.
    pub mean_per_s: Option<f64>,
    /// CPU time of all readings.
    pub cost_ns: u64,
    /// Why nothing could be read; null if it could.
    pub why: Option<String>,
}
