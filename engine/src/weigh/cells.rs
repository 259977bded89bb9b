//! The random walk of `walk` on a row of cells, step by step. All that is added is positive, so nothing cancels.

use std::f64::consts::PI;

const CELLS: usize = 80;
/// The walk has settled when what began otherwise is this little of it. Then it is left at an even rate.
const SETTLED: f64 = 1e-14;
/// A walk that is this unlikely to go on is over.
const OVER: f64 = 1e-15;
/// How many deviations of the number of steps count, and how many times as many steps as the settling takes are taken.
const DEVIATIONS: f64 = 10.0;
const SPARE: f64 = 1.15;
/// How many times as many steps as moves there are: if each step were a move, even and odd cells would take turns.
const STEPS_PER_MOVE: f64 = 1.1;

/// A walk that begins in the first cell, and ends when it leaves the last. Below the first is a wall.
pub struct Cells {
    /// Steps in a unit of time.
    rate: f64,
    /// How likely the walk is still in a cell after each number of steps.
    stays: Vec<f64>,
    /// The factor by which that falls with each further step; `None`: the walk is over.
    ratio: Option<f64>,
}

impl Cells {
    pub fn new(drift: f64) -> Self {
        let width = 1.0 / CELLS as f64;
        // These rates of a step are right for any drift (Scharfetter & Gummel, 1969).
        let per_unit = |sign: f64| bernoulli(sign * 2.0 * drift * width) / (2.0 * width * width);
        let (up, down) = (per_unit(-1.0), per_unit(1.0));
        // The first cell has a wall on one side, and is half as wide: it is left twice as fast.
        let rate = STEPS_PER_MOVE * f64::max(2.0 * up, up + down);
        let steps = (SPARE * settling(drift) * rate).ceil() as usize;
        let (up, down) = (up / rate, down / rate);
        let mut now = [1.0; CELLS];
        let mut stays = vec![1.0];
        while stays.len() <= steps && stays[stays.len() - 1] > OVER {
            let before = now;
            now[0] = (1.0 - 2.0 * up) * before[0] + 2.0 * up * before[1];
            for cell in 1..CELLS - 1 {
                now[cell] =
                    (1.0 - up - down) * before[cell] + up * before[cell + 1] + down * before[cell - 1];
            }
            now[CELLS - 1] = (1.0 - up - down) * before[CELLS - 1] + down * before[CELLS - 2];
            stays.push(now[0]);
        }
        let (last, some) = (stays.len() - 1, stays.len() / 20);
        let ratio = (last == steps).then(|| ((stays[last] / stays[last - some]).ln() / some as f64).exp());
        Self { rate, stays, ratio }
    }

    /// Returns how likely the walk is still in a cell at that time: the number of steps until then is a Poisson one.
    pub fn stays(&self, time: f64) -> f64 {
        let (mean, last) = (self.rate * time, self.stays.len() - 1);
        let reach = DEVIATIONS * (mean.sqrt() + 1.0);
        if let Some(ratio) = self.ratio
            && mean + reach > last as f64
        {
            return self.stays[last] * (-(mean * (1.0 - ratio)) - last as f64 * ratio.ln()).exp();
        }
        let stays = |steps: usize| self.stays.get(steps).copied().unwrap_or(0.0);
        let middle = mean as usize;
        let (mut sum, mut total) = (stays(middle), 1.0);
        let mut add = |steps: usize, weight: f64| {
            sum += weight * stays(steps);
            total += weight;
        };
        let mut weight = 1.0;
        for steps in middle + 1..=(mean + reach) as usize {
            weight *= mean / steps as f64;
            add(steps, weight);
        }
        weight = 1.0;
        for steps in ((mean - reach).max(0.0) as usize..middle).rev() {
            weight *= (steps + 1) as f64 / mean;
            add(steps, weight);
        }
        sum / total
    }
}

/// Returns after which time the walk has settled: the second of its rates of decay is larger than the first by at least
/// this gap.
fn settling(drift: f64) -> f64 {
    let gap = PI * PI + drift.min(0.0).powi(2) / 2.0;
    -SETTLED.ln() / gap
}

fn bernoulli(value: f64) -> f64 {
    if value.abs() > 1e-9 { value / value.exp_m1() } else { 1.0 }
}
