//! Smooths rows of likelihoods along the grid by normal distributions.

use realfft::RealFftPlanner;
use std::f64::consts::PI;

/// The distance between neighbours of the grid, as logarithms.
pub const GRID_STEP: f64 = 0.004;
/// Standard deviations beyond which a normal distribution is cut off.
const REACH: f64 = 4.0;

/// Keeps the plans of the transforms.
#[derive(Default)]
pub struct Blur(RealFftPlanner<f64>);

impl Blur {
    /// Returns, for each of `spreads`, all `rows` of that width, smoothed by a normal distribution of this deviation.
    pub fn blurred(&mut self, rows: &[f64], width: usize, spreads: &[f64]) -> Vec<f64> {
        let largest = spreads.iter().copied().fold(0.0, f64::max);
        let reach = (REACH * largest / GRID_STEP).ceil() as usize;
        if reach == 0 {
            return rows.repeat(spreads.len());
        }
        let length = fast(width + 2 * reach);
        let (forward, inverse) = (self.0.plan_fft_forward(length), self.0.plan_fft_inverse(length));
        let kept: Vec<_> = spreads.iter().map(|spread| kept(*spread, length)).collect();
        let (mut widened, mut smooth) = (forward.make_input_vec(), inverse.make_output_vec());
        let (mut waves, mut damped) = (forward.make_output_vec(), inverse.make_input_vec());
        let mut scratch = vec![waves[0]; forward.get_scratch_len().max(inverse.get_scratch_len())];
        let mut blurred = vec![0.0; spreads.len() * rows.len()];
        for (number, row) in rows.chunks_exact(width).enumerate() {
            widen(row, reach, &mut widened);
            forward
                .process_with_scratch(&mut widened, &mut waves, &mut scratch)
                .expect("lengths are the plan's");
            for (at, kept) in kept.iter().enumerate() {
                let out = &mut blurred[at * rows.len() + number * width..][..width];
                for ((damped, wave), share) in damped.iter_mut().zip(&waves).zip(kept) {
                    *damped = wave * share;
                }
                inverse
                    .process_with_scratch(&mut damped, &mut smooth, &mut scratch)
                    .expect("the waves are real");
                for (out, value) in out.iter_mut().zip(&smooth[reach..]) {
                    *out = value.max(0.0);
                }
            }
        }
        blurred
    }
}

/// Beyond the grid all is as at its ends.
fn widen(row: &[f64], reach: usize, widened: &mut [f64]) {
    let end = reach + row.len();
    widened[..reach].fill(row[0]);
    widened[reach..end].copy_from_slice(row);
    widened[end..end + reach].fill(row[row.len() - 1]);
    widened[end + reach..].fill(0.0);
}

/// Returns the share of every wave that is left after smoothing, over the length, by which both transforms multiply.
fn kept(spread: f64, length: usize) -> Vec<f64> {
    let wave = 2.0 * PI / (length as f64 * GRID_STEP);
    (0..=length / 2)
        .map(|number| (-(spread * wave * number as f64).powi(2) / 2.0).exp() / length as f64)
        .collect()
}

/// Returns the next length whose only prime factors are 2, 3 and 5: a transform of it is fast.
fn fast(length: usize) -> usize {
    let is_fast = |length: &usize| {
        let mut rest = *length;
        for factor in [2, 3, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    (length..).find(is_fast).expect("there is a larger power of two")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_becomes_a_normal_distribution() {
        let mut row = vec![0.0; 401];
        row[200] = 1.0;
        let blurred = Blur::default().blurred(&row, 401, &[0.0, 0.02, 0.04]);
        assert!((blurred[200] - 1.0).abs() < 1e-12);
        for (at, spread) in [(1, 0.02), (2, 0.04)] {
            for off in [0, 3, 17] {
                let z = off as f64 * GRID_STEP / spread;
                let density = GRID_STEP / spread / (2.0 * PI).sqrt() * (-z * z / 2.0).exp();
                assert!((blurred[at * 401 + 200 + off] - density).abs() < 1e-9, "{spread} {off}");
            }
        }
    }

    #[test]
    fn beyond_the_grid_all_is_as_at_its_ends() {
        let rows = [vec![1.0; 50], vec![0.25; 50]].concat();
        for value in Blur::default().blurred(&rows, 50, &[0.1]).chunks_exact(50).zip([1.0, 0.25]) {
            // What is more than four deviations away does not count.
            assert!(value.0.iter().all(|each| (each / value.1 - 1.0).abs() < 1e-4));
        }
    }

    #[test]
    fn nothing_changes_without_a_spread() {
        assert_eq!(Blur::default().blurred(&[1.0, 2.0], 2, &[0.0]), [1.0, 2.0]);
    }

    #[test]
    fn a_fast_length_has_small_factors_only() {
        assert_eq!([1, 7, 11, 1201, 1296].map(fast), [1, 8, 12, 1215, 1296]);
    }
}
