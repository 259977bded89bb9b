//! The law of shares: where slow or failed answers come one by one.
//!
//! Their share rises with the load: a floor, there at any load, and a Weibull curve above it (as in Quick, *A vector
//! magnitude model*, 1974) whose steepness is unknown. Answers that came in bunches count as fewer. Shares far from the
//! limit all count alike, because no curve is right over all loads: a level far below the breaking point would otherwise
//! decide the steepness there.

use super::spec::{LevelSpec, ShareLawSpec};

/// The powers by which the share may rise with the load: how many, the least and the most. All are equally likely
/// beforehand.
const POWERS: usize = 12;
const POWER_MIN: f64 = 0.5;
const POWER_MAX: f64 = 1_500.0;
/// The floors, as shares of the limit: the share of answers against it at any load.
const FLOORS: [f64; 3] = [0.0, 0.6, 0.9];
/// A queue grows beyond the limit only now and then, so levels of seconds hold at loads above the highest that lasts: by
/// these shares of the gap between that load and the capacity, in logarithms.
const HELD_BEYOND: [f64; 3] = [0.0, 0.3, 0.6];
/// Shares this factor or more from the limit, as odds, count alike.
const FAR: f64 = 8.0;
/// The shares that a level may show if it says nothing of the load: how many, and the ends of their logarithms.
const ANY: usize = 50;
const ANY_MIN: f64 = -12.0;
const ANY_MAX: f64 = 2.5;

/// How the share may rise with the load.
#[derive(Clone, Copy)]
struct Curve {
    power: f64,
    floor: f64,
    beyond: f64,
    /// The value of the curve at the breaking point.
    at_limit: f64,
}

/// Logarithms of a share against the objective, and of the rest.
type Logs = (f64, f64);

/// Each function for the whole grid returns curves × grid.
pub struct ShareLaw {
    spec: ShareLawSpec,
    curves: Vec<Curve>,
    least: f64,
    most: f64,
    /// How likely each curve is.
    pub prior: Vec<f64>,
}

impl ShareLaw {
    pub fn new(spec: ShareLawSpec) -> Self {
        let beyond: &[f64] = if spec.gap == 0.0 { &[0.0] } else { &HELD_BEYOND };
        let mut curves = Vec::new();
        for number in 0..POWERS {
            let power = POWER_MIN * (POWER_MAX / POWER_MIN).powf(number as f64 / (POWERS - 1) as f64);
            for floor in FLOORS.map(|floor| floor * spec.limit) {
                let at_limit = (-(-(spec.limit - floor) / (1.0 - floor)).ln_1p()).ln();
                curves.extend(beyond.iter().map(|part| Curve {
                    power,
                    floor,
                    beyond: part * spec.gap,
                    at_limit,
                }));
            }
        }
        let odds = spec.limit / (1.0 - spec.limit);
        let [least, most] = [odds / FAR, odds * FAR].map(|odds| odds / (1.0 + odds));
        let prior = vec![1.0 / curves.len() as f64; curves.len()];
        Self { spec, curves, least, most, prior }
    }

    /// Returns how likely the level is at each breaking point of the grid, by the `shares` of its load there.
    pub fn likelihood(&self, level: &LevelSpec, shares: &[Logs]) -> Vec<f64> {
        let (against, others) = (
            level.against as f64 / self.spec.together,
            (level.known - level.against) as f64 / self.spec.together,
        );
        let seen = if level.known == 0 { 0.0 } else { level.against as f64 / level.known as f64 };
        let seen = seen.clamp(self.least, self.most);
        // Relative to that of the share seen.
        let best = against * seen.ln() + others * (-seen).ln_1p();
        shares.iter().map(|(share, rest)| (against * share + others * rest - best).exp()).collect()
    }

    /// Returns the share against the objective at that load, for each breaking point of the grid.
    pub fn shares(&self, load: f64, grid: &[f64]) -> Vec<Logs> {
        let log = load.ln();
        let mut all = Vec::with_capacity(self.curves.len() * grid.len());
        for curve in &self.curves {
            all.extend(grid.iter().map(|at| {
                let up = curve.at_limit + curve.power * (log - at - curve.beyond);
                let risen = -(-up.clamp(-40.0, 3.5).exp()).exp_m1();
                self.logs(curve.floor + (1.0 - curve.floor) * risen)
            }));
        }
        all
    }

    /// Returns how likely the evidence is if the level says nothing of the load: any share is possible.
    pub fn blind(&self, level: &LevelSpec) -> f64 {
        let any = |number: usize| {
            let log = ANY_MIN + (ANY_MAX - ANY_MIN) * number as f64 / (ANY - 1) as f64;
            self.logs(-(-log.exp()).exp_m1())
        };
        let likely = self.likelihood(level, &(0..ANY).map(any).collect::<Vec<_>>());
        likely.iter().sum::<f64>() / ANY as f64
    }

    /// Returns the load at which a level says most, as a logarithm, for each breaking point of the grid.
    pub fn reach(&self, grid: &[f64]) -> Vec<f64> {
        let telling = ((-self.spec.telling).ln_1p() / (-self.spec.limit).ln_1p()).ln();
        let of_curve = |curve: &Curve| curve.beyond + telling / curve.power;
        self.curves.iter().flat_map(|curve| grid.iter().map(move |at| at + of_curve(curve))).collect()
    }

    fn logs(&self, share: f64) -> Logs {
        let share = share.clamp(self.least, self.most);
        (share.ln(), (-share).ln_1p())
    }
}

#[cfg(test)]
#[path = "share_law_tests.rs"]
mod tests;
