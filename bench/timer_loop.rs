//! The control for lateness: a loop that waits for due times and does nothing else. Its lateness is that of the
//! machine. What the engine adds to it is the engine's own.
//!
//!     timer_loop sleep|spin RATE_PER_S SECONDS
//!
//! Prints `{"p50_ns":…,"p99_ns":…,"p999_ns":…,"max_ns":…}`: how long after its due time the loop noticed each.

use std::num::NonZeroU64;

use crumple_engine::clock::now_ns;
use hdrhistogram::Histogram;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_sleeping = match arguments[1].as_str() {
        "sleep" => true,
        "spin" => false,
        other => panic!("sleep or spin, not {other}"),
    };
    let (rate_per_s, seconds): (f64, f64) =
        (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
    // Otherwise the kernel may wake this thread 50 µs late on purpose, to save power (PR_SET_TIMERSLACK).
    set_current_timer_slack(NonZeroU64::new(1)).unwrap();
    let mut lateness_ns = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    let mut state = 1;
    let began_ns = now_ns();
    let mut due_s = 0.0;
    while due_s < seconds {
        due_s += exponential(&mut state) / rate_per_s;
        let due_ns = began_ns + (due_s * 1e9) as u64;
        while now_ns() < due_ns {
            if is_sleeping {
                let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(due_ns));
            }
        }
        lateness_ns.saturating_record((now_ns() - due_ns).max(1));
    }
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| lateness_ns.value_at_quantile(q));
    println!(
        r#"{{"p50_ns":{p50},"p99_ns":{p99},"p999_ns":{p999},"max_ns":{}}}"#,
        lateness_ns.max()
    );
}

fn timespec(at_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as _,
    }
}

/// Returns the next of a series of exponential numbers with mean 1, by SplitMix64.
fn exponential(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let uniform = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    -(1.0 - uniform).ln()
}
