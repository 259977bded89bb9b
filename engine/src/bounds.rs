//! The least and the most of every number in a `TrialSpec`. These bounds are far beyond any useful trial, and low
//! enough that no sum or product of the numbers overflows.

use std::ops::RangeInclusive;

pub const CONNECTIONS: RangeInclusive<usize> = 1..=4_000_000;
pub const THREADS: RangeInclusive<usize> = 1..=1_024;
/// A `CpuSet` of rustix holds 1,024 cores.
pub const CORE: RangeInclusive<usize> = 0..=1_023;
pub const CORES: RangeInclusive<usize> = 0..=1_024;
pub const SOURCES: RangeInclusive<usize> = 0..=65_536;
pub const REQUEST_KINDS: RangeInclusive<usize> = 1..=10_000;
/// A load of many hosts has a few hundred of them.
pub const PARTS: RangeInclusive<usize> = 1..=1_024;
/// A status code has three digits (RFC 9110, 15).
pub const STATUS: RangeInclusive<u16> = 100..=999;
pub const BODY_BYTES: RangeInclusive<u64> = 0..=1 << 40;
/// The number of requests after which a phase ends.
pub const REQUESTS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// From a microsecond to a day.
pub const SECONDS: RangeInclusive<f64> = 1e-6..=86_400.0;
/// For how long an engine may hear nothing before it ends. Who started it says each half second that they are there, and are
/// not to be taken for lost because one line is late.
pub const SILENCE_S: RangeInclusive<f64> = 1.0..=3_600.0;
/// Each turn of a load has some readings of all processes in memory.
pub const TURNS: RangeInclusive<usize> = 1..=1_000;
pub const PAUSE_MS: RangeInclusive<f64> = 0.0..=86_400_000.0;
pub const INTERVAL_MS: RangeInclusive<u64> = 1..=86_400_000;
pub const INTERVAL_NS: RangeInclusive<u64> = 0..=86_400_000_000_000;
pub const SLOWER_THAN: RangeInclusive<usize> = 0..=100;
/// A rate above 0: from one request in eleven days to ten times what an engine sends on the largest machines.
pub const PER_S: RangeInclusive<f64> = 1e-6..=10_000_000.0;
pub const STRETCHES: RangeInclusive<usize> = 1..=10_000;
/// The kernel's own maximum (PID_MAX_LIMIT).
pub const PID: RangeInclusive<i32> = 1..=4_194_304;
