//! What `crumple-engine weigh` reads and answers: the `Weighing` and the `Weighed`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the levels of a search showed of one part of its objective, and which quantiles of the breaking point are
/// asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weighing {
    pub law: LawSpec,
    /// The lowest load that was tried. The grid of breaking points reaches beyond it, and beyond the highest.
    pub lowest: f64,
    /// The highest load that was tried.
    pub highest: f64,
    /// The levels that were judged by this part, in the order in which they were tried.
    pub levels: Vec<LevelSpec>,
    pub quantiles: Vec<QuantilesSpec>,
}

/// How likely a level is at each breaking point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LawSpec {
    /// Slow answers come out of a queue, which grows near the server's capacity.
    Queue(QueueLawSpec),
    /// Slow or failed answers come one by one, and their share rises with the load.
    Shares(ShareLawSpec),
}

/// What the law of queues knows beside the levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct QueueLawSpec {
    /// The logarithm of one over the share that the objective allows.
    pub log_share: f64,
    /// The limit of a response time less the response time without a queue.
    pub room_s: f64,
    /// The variance of arrivals and of the work of requests, each over the square of its mean.
    pub variance: f64,
    /// The part of it that is the work's.
    pub work_variance: f64,
    /// How exactly the variance is known, as a logarithm.
    pub known_to: f64,
    /// How long a wait that passed the limit stays beyond it, for each request per second of load.
    pub beyond_s_per_load: f64,
    /// The length of a level that holds.
    pub level_s: f64,
    /// How many requests the server answered, and in how many seconds, when it had more to do than it could, before
    /// the first level; null = not known.
    pub pace: Option<(u64, f64)>,
}

/// What the law of shares knows beside the levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct ShareLawSpec {
    /// The share that the objective allows.
    pub limit: f64,
    /// The share at which a level says most.
    pub telling: f64,
    /// How many answers count as one.
    pub together: f64,
    /// The distance between the breaking point and the capacity, as a logarithm; 0 = no queue.
    pub gap: f64,
}

/// A level, and what it showed of the part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    pub load: f64,
    /// The start of the server that it was tried on.
    pub start: u32,
    /// Answers of which it is known whether they are against the part.
    pub known: u64,
    /// Answers that are against it.
    pub against: u64,
    /// How long the load ran before it was measured.
    pub settled_s: f64,
    /// How long it was measured.
    pub watched_s: f64,
    /// When the wait grew beyond the limit, since measuring began; null = it did not.
    pub passed_s: Option<f64>,
    /// The limit of a response time; null = the part limits none.
    pub limit_s: Option<f64>,
    /// How many requests the server answered, and in how many seconds, while it had more to do than it could.
    pub pace: Option<(u64, f64)>,
}

/// Which quantiles are asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuantilesSpec {
    /// Of which start's breaking point, which may have no level yet; null = of the server's.
    pub start: Option<u32>,
    /// Of the loads at which levels say most, instead of those at which it breaks.
    pub telling: bool,
    /// The probabilities.
    pub shares: Vec<f64>,
}

/// The answer to a `Weighing`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Weighed {
    /// A load for each probability of each of the quantiles.
    pub loads: Vec<Vec<f64>>,
}
