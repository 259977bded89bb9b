//! The least that a request can cost: a loop that sends, receives, and does only what its variant says. It parses
//! nothing, and checks nothing except how many bytes came.
//!
//!     bare_loop ADDRESS CONNECTIONS SECONDS [VARIANT...] [--path PATH] [--slice-ms N]
//!
//! A variant is `bare` (nothing is measured), `stamped` (the kernel's timestamps, a reading of the clock and a
//! histogram store for each answer), or one of them with changes: `stamped+two-passes`. variant.rs lists them all.
//! Several variants run in turn, in slices of N milliseconds. Each round has a random order of its own, so that other
//! work on the machine affects all variants alike. The loop prints a line of JSON for each slice: the answers, the
//! bytes received, its CPU time, the time it took and how often it waited.

mod book;
mod epoll;
mod uring;
mod variant;
mod wire;

use std::io;
use std::process::exit;
use std::time::Duration;

use clap::Parser;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::thread::{ClockId, set_current_timer_slack};
use rustix::time::clock_gettime;

use variant::{Backend, Variant};
use wire::Target;

/// The exit code if io_uring cannot be had.
const NOT_PERMITTED: i32 = 3;

#[derive(clap::Parser)]
struct Arguments {
    /// Where the server listens, for instance 127.0.0.1:8080
    address: String,
    connections: usize,
    seconds: f64,
    #[arg(default_value = "bare")]
    variants: Vec<Variant>,
    #[arg(long, default_value = "/")]
    path: String,
    #[arg(long, default_value_t = 50)]
    slice_ms: u64,
}

/// The result of one slice.
#[derive(Clone, Copy, Default)]
pub struct Done {
    answered: u64,
    received_bytes: u64,
    waits: u64,
}

/// A loop with connections of its own.
trait Loop {
    /// Sends a request over every connection, and the next after each answer until `ends_ns` on the monotonic clock.
    /// Then waits for the requests in flight.
    fn slice(&mut self, ends_ns: u64) -> Done;
}

fn main() {
    let arguments = Arguments::parse();
    // The engine does this, too: by default a timer may be 50 µs late, to save power (PR_SET_TIMERSLACK).
    set_current_timer_slack(std::num::NonZeroU64::new(1)).expect("timer slack can be set");
    let target = Target::look(&arguments.address, &arguments.path);
    let loops: io::Result<Vec<Box<dyn Loop>>> = arguments
        .variants
        .iter()
        .map(|variant| start(variant, &target, arguments.connections))
        .collect();
    let mut loops = loops.unwrap_or_else(|error| {
        eprintln!("no io_uring here: {error}");
        exit(NOT_PERMITTED)
    });
    let slice = Duration::from_millis(arguments.slice_ms);
    let ends_ns = now_ns() + (arguments.seconds * 1e9) as u64;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for round in 0.. {
        if now_ns() >= ends_ns {
            break;
        }
        for turn in shuffled(loops.len(), &mut random) {
            report(round, &arguments.variants[turn], &mut *loops[turn], slice);
        }
    }
}

fn start(variant: &Variant, target: &Target, connections: usize) -> io::Result<Box<dyn Loop>> {
    Ok(match variant.backend {
        Backend::Epoll => Box::new(epoll::Epoll::new(variant, target, connections)),
        Backend::Uring => Box::new(uring::Uring::new(variant, target, connections)?),
    })
}

fn shuffled(count: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.next_u64() as usize % (last + 1));
    }
    order
}

fn report(round: u32, variant: &Variant, one: &mut dyn Loop, slice: Duration) {
    let (began_ns, cpu_began_ns) = (now_ns(), cpu_ns());
    let done = one.slice(began_ns + slice.as_nanos() as u64);
    let (cpu_ns, ns) = (cpu_ns() - cpu_began_ns, now_ns() - began_ns);
    println!(
        r#"{{"round":{round},"variant":"{}","answered":{},"received_bytes":{},"cpu_ns":{cpu_ns},"ns":{ns},"waits":{}}}"#,
        variant.name, done.answered, done.received_bytes, done.waits
    );
}

pub fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

fn cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
