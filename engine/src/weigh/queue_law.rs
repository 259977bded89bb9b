//! The law of queues: where slow answers come out of a queue.
//!
//! Near its capacity the wait in any queue moves like a random walk that cannot fall below zero (Kingman, *The heavy
//! traffic approximation*, 1965). Its drift is load/capacity − 1, and its spread follows from the variance of arrivals
//! and of the work of requests. Two things follow: how likely a wait grows beyond the limit within a level, which begins
//! without a queue, and which share of requests waits for longer than the limit in the long run. At the breaking point
//! that share equals the objective's limit; it lies at `capacity − ln(1/share) × variance / (2 × room)`. `room`: the
//! limit less the response time without a queue. So a level of seconds that holds at a load slightly below the capacity
//! says little, and has little weight.

use std::f64::consts::PI;

use super::spec::{LevelSpec, QueueLawSpec};
use super::walk::{below, half};

/// How far the variance may lie from the one computed from arrivals and answers, as logarithms: how many, the least and
/// the most. Work that comes in bunches, or a server that stops at times, makes it larger.
const DEVIATIONS: usize = 11;
const DEVIATION_MIN: f64 = -0.75;
const DEVIATION_MAX: f64 = 1.75;
/// How likely the variance is the computed one, within what is known of it; how likely it is another, with the middle
/// and the deviation of these.
const AS_COMPUTED: f64 = 0.85;
const OTHERWISE: f64 = 0.15;
const OTHER_MIDDLE: f64 = 0.5;
const OTHER_DEVIATION: f64 = 0.6;
/// The instant at which a wait passed the limit is known to within this.
const PASSED_S: f64 = 0.3;
const PASSED_SEEN_S: f64 = 0.15;
/// The resolution of the time of a measured pace.
const PACE_S: f64 = 0.02;
const PACE_VARIANCE_MIN: f64 = 0.1;
/// Under a closed load a server may be faster or slower than under an open one by this, as a logarithm.
const CLOSED: f64 = 0.03;
/// A wait that passed the limit before measuring began is seen if that was within this many times the length for which
/// it stays beyond.
const LIMITS_SEEN: f64 = 4.0;
const LEAST: f64 = 1e-12;

/// Each function for the whole grid returns variances × grid.
pub struct QueueLaw {
    spec: QueueLawSpec,
    variances: [f64; DEVIATIONS],
    /// How likely each variance is.
    pub prior: Vec<f64>,
}

impl QueueLaw {
    pub fn new(spec: QueueLawSpec) -> Self {
        let deviations: [f64; DEVIATIONS] = std::array::from_fn(|number| {
            DEVIATION_MIN + (DEVIATION_MAX - DEVIATION_MIN) * number as f64 / (DEVIATIONS - 1) as f64
        });
        let likely = deviations.map(|off| {
            AS_COMPUTED * normal(off, spec.known_to) + OTHERWISE * normal(off - OTHER_MIDDLE, OTHER_DEVIATION)
        });
        let total: f64 = likely.iter().sum();
        Self {
            variances: deviations.map(|off| spec.variance * off.exp()),
            prior: likely.iter().map(|each| each / total).collect(),
            spec,
        }
    }

    /// Returns how likely the level is at each breaking point of the grid.
    pub fn likelihood(&self, level: &LevelSpec, grid: &[f64]) -> Vec<f64> {
        let room_s = self.spec.room_s;
        // A wait that passed the limit before measuring began, and ended before that, is not seen.
        let before_s = level.settled_s.min(LIMITS_SEEN * self.spec.beyond_s_per_load * level.load);
        self.each(grid, |variance, capacity| {
            let spread = variance / capacity;
            let drift = (level.load / capacity - 1.0) * room_s / spread;
            let speed = spread / (room_s * room_s);
            let likely = match level.passed_s {
                // Requests that came due later than that are not known to be slow yet.
                None => {
                    let watched_s = (level.watched_s - level.limit_s.unwrap_or(0.0)).max(0.0);
                    below(drift, speed * (before_s + watched_s))
                }
                Some(passed_s) => {
                    let at_s = before_s + passed_s;
                    // Requests due before measuring began are not counted: the wait may have passed any time before.
                    let early = if passed_s <= PASSED_SEEN_S { 0.0 } else { (at_s - PASSED_S).max(0.0) };
                    below(drift, speed * early) - below(drift, speed * (at_s + PASSED_S).max(PASSED_S))
                }
            };
            likely.max(LEAST) * level.pace.map_or(1.0, |pace| self.pace(pace, capacity, 0.0))
        })
    }

    /// Returns how likely the capacity known before the first level is at each breaking point; `None`: it is not known.
    pub fn before(&self, grid: &[f64]) -> Option<Vec<f64>> {
        let pace = self.spec.pace?;
        Some(self.each(grid, |_, capacity| self.pace(pace, capacity, CLOSED)))
    }

    /// Returns how likely the evidence is if the level says nothing of the load: any result is possible.
    pub fn blind(level: &LevelSpec) -> f64 {
        let passed = level.passed_s.map_or(0.5, |_| PASSED_S / level.watched_s.max(PASSED_S));
        passed * level.pace.map_or(1.0, |_| 0.5)
    }

    /// Returns a load at which about half of the levels hold, as a logarithm, for each breaking point of the grid. It is
    /// at most the capacity; above that the pace shows the capacity.
    pub fn reach(&self, grid: &[f64]) -> Vec<f64> {
        let (room_s, level_s) = (self.spec.room_s, self.spec.level_s);
        self.each(grid, |variance, capacity| {
            let spread = variance / capacity;
            let drift = half(level_s * spread / (room_s * room_s));
            capacity.ln() + (drift * spread / room_s).clamp(-0.9, 0.0).ln_1p()
        })
    }

    /// Returns what `of` says of each variance, and of the capacity at each breaking point by it.
    fn each(&self, grid: &[f64], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let loads: Vec<f64> = grid.iter().map(|log| log.exp()).collect();
        let mut all = Vec::with_capacity(DEVIATIONS * grid.len());
        for variance in self.variances {
            let below_it = self.spec.log_share * variance / (2.0 * self.spec.room_s);
            all.extend(loads.iter().map(|load| of(variance, load + below_it)));
        }
        all
    }

    /// Returns how likely a pace is that was measured at this capacity.
    fn pace(&self, (answers, seconds): (u64, f64), capacity: f64, apart: f64) -> f64 {
        let answers = answers.max(1) as f64;
        let by_chance = (self.spec.work_variance.max(PACE_VARIANCE_MIN) / answers).sqrt();
        let spread = by_chance.hypot(PACE_S / seconds).hypot(apart);
        student((capacity.ln() - (answers / seconds).ln()) / spread) / spread
    }
}

/// Returns the density of a normal distribution, so far off its mean.
fn normal(off: f64, deviation: f64) -> f64 {
    (-(off / deviation).powi(2) / 2.0).exp() / (deviation * (2.0 * PI).sqrt())
}

/// Returns the density of Student's t with four degrees of freedom, which allow for other disturbances of a pace.
fn student(t: f64) -> f64 {
    0.375 * (1.0 + t * t / 4.0).powf(-2.5)
}

#[cfg(test)]
#[path = "queue_law_tests.rs"]
mod tests;
