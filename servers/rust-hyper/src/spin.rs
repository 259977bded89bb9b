//! CPU work of a given length: a plain arithmetic loop, and how many of its rounds this processor does per microsecond.

use std::hint::black_box;
use std::time::{Duration, Instant};

const PIECE_ROUNDS: u64 = 250_000;
const CALIBRATION: Duration = Duration::from_millis(200);

pub struct Spinner {
    rounds_per_us: f64,
}

impl Spinner {
    /// Takes the best of many short pieces: whatever else the machine does can only make one slower.
    pub fn calibrated() -> Self {
        let began = Instant::now();
        let mut rounds_per_us = 0.0_f64;
        while began.elapsed() < CALIBRATION {
            let piece = Instant::now();
            turn(black_box(PIECE_ROUNDS));
            rounds_per_us =
                rounds_per_us.max(PIECE_ROUNDS as f64 / (piece.elapsed().as_secs_f64() * 1e6));
        }
        Self { rounds_per_us }
    }

    pub fn spin(&self, us: usize) {
        turn((us as f64 * self.rounds_per_us) as u64);
    }
}

// One loop for both: where it knew the count, the compiler would write a loop of another speed.
#[inline(never)]
fn turn(rounds: u64) {
    let mut x = 1_u32;
    for _ in 0..rounds {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    // Used, so that no compiler may leave the loop out.
    black_box(x);
}
