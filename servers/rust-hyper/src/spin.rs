//! CPU work of a given length: a plain arithmetic loop that ends by the clock of the thread's own CPU time.

use std::hint::black_box;
use std::time::Duration;

/// Between two looks at the clock: some 50 µs.
const PIECE_ROUNDS: u32 = 40_000;

pub fn spin(us: usize) {
    let until = cpu_time() + Duration::from_micros(us as u64);
    let mut x = 1_u32;
    while cpu_time() < until {
        for _ in 0..black_box(PIECE_ROUNDS) {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        }
    }
    // Used, so that no compiler may leave the loop out.
    black_box(x);
}

/// Of this thread; the standard library has no clock of it.
fn cpu_time() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on every Linux, and `now` is writable for the call.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    assert_eq!(done, 0, "no clock of the thread's CPU time");
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
