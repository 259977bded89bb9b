//! How long a random walk that cannot fall below 0, and begins there, stays below 1: how a wait grows in a queue.
//!
//! The walk has a spread of 1 and any drift. Its likelihoods are in a table, computed for a walk on a row of cells.

use std::f64::consts::{PI, SQRT_2};
use std::sync::LazyLock;

use super::cells::Cells;

/// The drifts and times of the table.
const DRIFTS: usize = 45;
const TIMES: usize = 61;
const DRIFT_UNIT: f64 = 0.5;
const DRIFT_MAX: f64 = 24.0;
const TIME_MIN: f64 = 0.003;
const TIME_MAX: f64 = 60.0;
const LEAST: f64 = 1e-12;
/// Standard deviations below the mean from which on the series is exact to a double's last digits.
const FAR: f64 = -12.0;

/// For each drift and each time: the logarithm of `below`.
static TABLE: LazyLock<Vec<[f64; TIMES]>> = LazyLock::new(|| drifts().map(row).collect());
/// For each time: the drift at which half of the walks have not reached 1 by then.
static HALVES: LazyLock<[f64; TIMES]> = LazyLock::new(halves);

/// Returns how likely the walk has not reached 1 within `time`.
pub fn below(drift: f64, time: f64) -> f64 {
    if drift > DRIFT_MAX {
        return straight(drift, time);
    }
    if time <= 0.0 {
        return 1.0;
    }
    let unit = 2.0 * (DRIFT_MAX / DRIFT_UNIT).asinh() / (DRIFTS - 1) as f64;
    let across = (drift.max(-DRIFT_MAX) / DRIFT_UNIT).asinh() / unit + (DRIFTS - 1) as f64 / 2.0;
    let along = place_of(time.clamp(TIME_MIN, TIME_MAX));
    let row = (across as usize).min(DRIFTS - 2);
    let column = (along as usize).min(TIMES - 2);
    let (down, right) = (across - row as f64, along - column as f64);
    let between = |row: usize| (1.0 - right) * TABLE[row][column] + right * TABLE[row][column + 1];
    let log = (1.0 - down) * between(row) + down * between(row + 1);
    // In the long run the logarithm falls evenly with time.
    (log * (time / TIME_MAX).max(1.0)).exp()
}

/// Returns about the drift at which half of the walks have not reached 1 within `time`.
pub fn half(time: f64) -> f64 {
    let along = place_of(time.clamp(TIME_MIN, TIME_MAX));
    let column = (along as usize).min(TIMES - 2);
    let right = along - column as f64;
    (1.0 - right) * HALVES[column] + right * HALVES[column + 1]
}

/// Returns the place of a time in the table.
fn place_of(time: f64) -> f64 {
    (time / TIME_MIN).ln() / (TIME_MAX / TIME_MIN).ln() * (TIMES - 1) as f64
}

/// `below` for a walk that drifts up so fast that the wall at 0 hardly matters: an inverse Gaussian.
fn straight(drift: f64, time: f64) -> f64 {
    let time = time.max(1e-12);
    let back = (2.0 * drift + log_normal_below(-(1.0 + drift * time) / time.sqrt())).exp();
    (log_normal_below((1.0 - drift * time) / time.sqrt()).exp() - back).max(0.0)
}

/// Returns the logarithm of the share of the standard normal distribution below `z`.
fn log_normal_below(z: f64) -> f64 {
    if z > FAR {
        return (libm::erfc(-z / SQRT_2) / 2.0).ln();
    }
    // The asymptotic series of erfc (DLMF 7.12.1).
    let square = z * z;
    let mut term = 1.0;
    let mut total = 1.0;
    for number in 1..12 {
        term *= -f64::from(2 * number - 1) / square;
        total += term;
    }
    -square / 2.0 - (-z * (2.0 * PI).sqrt()).ln() + f64::ln(total)
}

fn drifts() -> impl Iterator<Item = f64> {
    let end = (DRIFT_MAX / DRIFT_UNIT).asinh();
    let across = move |number: usize| end * (2.0 * number as f64 / (DRIFTS - 1) as f64 - 1.0);
    (0..DRIFTS).map(move |number| DRIFT_UNIT * across(number).sinh())
}

fn time(column: usize) -> f64 {
    TIME_MIN * (TIME_MAX / TIME_MIN).powf(column as f64 / (TIMES - 1) as f64)
}

/// Returns a row of the table: the logarithm of `below` at each time.
fn row(drift: f64) -> [f64; TIMES] {
    let cells = Cells::new(drift);
    std::array::from_fn(|column| cells.stays(time(column)).clamp(LEAST, 1.0).ln())
}

fn halves() -> [f64; TIMES] {
    let drifts: Vec<f64> = drifts().collect();
    std::array::from_fn(|column| {
        let half = f64::ln(0.5);
        let after = TABLE.partition_point(|row| row[column] >= half);
        if after == 0 || after == DRIFTS {
            return drifts[after.min(DRIFTS - 1)];
        }
        let (before, here) = (TABLE[after - 1][column], TABLE[after][column]);
        drifts[after - 1] + (drifts[after] - drifts[after - 1]) * (before - half) / (before - here)
    })
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
