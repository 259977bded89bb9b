//! What is recorded of what the server's CPU time is spent on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the server's threads were in user space, by samples at even intervals of their CPU time there, in the warm-up: a
/// thread that is sampled takes longer to switch to. CPU time in the kernel has no samples.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileRecord {
    pub samples: u64,
    /// Samples that the kernel took and had no room for. They are not among `samples`.
    pub lost: u64,
    /// CPU time from one sample of a thread to its next; 0 if none was looked at.
    pub period_ns: u64,
    /// For how long samples were taken; 0 without a warm-up.
    pub window_ns: u64,
    /// Threads that were looked at, each for a while at least.
    pub threads: u64,
    /// Samples in functions whose name is known.
    pub named: u64,
    /// The functions in which most samples were, most first.
    pub functions: Vec<SampledFunction>,
    /// Of stripped files, between which two functions most samples without a name were, most first.
    pub between: Vec<SampledBetween>,
    /// The files in which most samples were, most first.
    pub objects: Vec<SampledObject>,
    /// CPU time of choosing threads and reading samples.
    pub cost_ns: u64,
    /// CPU time of finding the names, after the load.
    pub naming_cost_ns: u64,
    /// Why threads could not be looked at; null if all that were chosen could.
    pub why: Option<String>,
}

/// A function, and how many samples were in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampledFunction {
    /// As the program's maker named it, without what a terminal would obey.
    pub function: String,
    /// The name of the file it is in; empty for code made at run time.
    pub object: String,
    pub samples: u64,
}

/// Code without a name between two functions that have one, and how many samples were in it. What a compiler makes of one
/// source file stays together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampledBetween {
    /// The function that it comes after.
    pub after: String,
    /// The function that it comes before.
    pub before: String,
    /// The name of the file it is in.
    pub object: String,
    pub samples: u64,
}

/// A file of code, and how many samples were in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampledObject {
    /// Its name without the folder; empty for code made at run time, and "?" where it is not known.
    pub object: String,
    pub samples: u64,
    /// Of these, in functions whose name is known.
    pub named: u64,
    /// Why names could not be read; null if they could, as far as the file has them.
    pub why: Option<String>,
}
