//! What a system call, a context switch, a thread and a process cost on this machine. Each is repeated many times on
//! one core and timed from outside. Nothing here is part of a trial.

use std::io::{self, pipe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitOptions, waitpid};
use serde::Serialize;

use crate::clock::now_ns;
use crate::cores::pin_current_thread;
use crate::failure::Failure;
use crate::output;

/// The number of rounds in which each cost is measured. The figures are percentiles of the rounds.
const ROUNDS: usize = 41;
/// The length of a round. It is so long that reading the clock does not matter.
const ROUND_NS: u64 = 5_000_000;
const STACK_BYTES: usize = 64 * 1024;

/// Measure what system calls, context switches, threads and processes cost on one core
#[derive(clap::Args)]
pub struct Costs {
    /// Core to measure on; if left out, the scheduler chooses one and may move to another
    #[arg(long)]
    core: Option<usize>,
}

/// One cost in nanoseconds: the median, the 10th and the 90th percentile of the rounds.
#[derive(Debug, Serialize)]
pub struct Cost {
    pub name: &'static str,
    pub meaning: &'static str,
    pub ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    pub rounds: usize,
    pub repeats: u64,
}

/// Prints all costs as JSON on standard output.
///
/// # Errors
/// If a thread, a process or a descriptor cannot be had.
pub fn run(costs: &Costs) -> Result<(), Failure> {
    let measured = pinned(costs.core).and_then(|()| all()).map_err(|error| {
        Failure::new(format!("the costs cannot be measured here: {error}"))
            .remedy("see ulimit -a for what is scarce")
    })?;
    output::print(&serde_json::to_string(&measured).expect("costs are numbers and names"))
}

fn pinned(core: Option<usize>) -> io::Result<()> {
    core.map_or(Ok(()), |core| Ok(pin_current_thread(&[core])?))
}

fn all() -> io::Result<Vec<Cost>> {
    let alone = pipe_alone_ns()?;
    Ok(vec![
        cost("system_call", "getppid, which does next to nothing", system_call),
        non_blocking_read()?,
        less(between_threads()?, alone),
        less(between_processes()?, alone),
        cost("thread", "starting a thread that ends at once, and waiting for its end", || {
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(|| ());
            drop(thread.map(thread::JoinHandle::join));
        }),
        cost("process", "forking a process of this size that ends at once, and waiting for its end", || {
            // SAFETY: the child calls only _exit.
            match unsafe { libc::fork() } {
                // SAFETY: _exit ends the child before it runs any code of the parent.
                0 => unsafe { libc::_exit(0) },
                child if child > 0 => wait_for(child),
                _ => {}
            }
        }),
    ])
}

fn system_call() {
    let _ = rustix::process::getppid();
}

fn non_blocking_read() -> io::Result<Cost> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (near, _far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(cost("non_blocking_read", "read from a socket on which nothing has come", || {
        let read = rustix::io::read(&near, &mut [0_u8; 64]);
        debug_assert_eq!(read, Err(Errno::AGAIN));
    }))
}

/// Returns what it costs one thread to write a byte into a pipe and to read it again. A switch is measured through
/// pipes; this is the part of that cost that is not the switch.
fn pipe_alone_ns() -> io::Result<f64> {
    let (read, write) = pipe()?;
    Ok(cost("", "", || exchange(write.as_fd(), read.as_fd())).ns)
}

fn between_threads() -> io::Result<Cost> {
    let (ours, theirs) = (Ends::new()?, Ends::new()?);
    let (read, write) = (ours.read, theirs.write);
    let (their_read, their_write) = (theirs.read, ours.write);
    let echo = thread::Builder::new().spawn(move || echo(their_read.as_fd(), their_write.as_fd()))?;
    let meaning = "from one thread to another of the same process, on the same core where one is given";
    let cost = halved(cost("thread_switch", meaning, || exchange(write.as_fd(), read.as_fd())));
    drop(write);
    let _ = echo.join();
    Ok(cost)
}

fn between_processes() -> io::Result<Cost> {
    let (ours, theirs) = (Ends::new()?, Ends::new()?);
    // SAFETY: the child calls only close, read, write and _exit, which are safe after a fork.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        drop((ours.read, theirs.write));
        echo(theirs.read.as_fd(), ours.write.as_fd());
        // SAFETY: _exit ends the child before it runs any code of the parent.
        unsafe { libc::_exit(0) };
    }
    let (read, write) = (ours.read, theirs.write);
    drop((theirs.read, ours.write));
    let meaning = "from one process to another, on the same core where one is given";
    let cost = halved(cost("process_switch", meaning, || exchange(write.as_fd(), read.as_fd())));
    drop(write);
    wait_for(child);
    Ok(cost)
}

struct Ends {
    read: OwnedFd,
    write: OwnedFd,
}

impl Ends {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe()?;
        Ok(Self { read: read.into(), write: write.into() })
    }
}

fn exchange(write: BorrowedFd, read: BorrowedFd) {
    let mut byte = [0_u8];
    let _ = rustix::io::write(write, &byte);
    let _ = rustix::io::read(read, &mut byte);
}

/// Sends back each byte until the other end is closed.
fn echo(read: BorrowedFd, write: BorrowedFd) {
    let mut byte = [0_u8];
    while rustix::io::read(read, &mut byte) == Ok(1) {
        let _ = rustix::io::write(write, &byte);
    }
}

fn wait_for(child: libc::pid_t) {
    let _ = waitpid(Pid::from_raw(child), WaitOptions::empty());
}

fn cost(name: &'static str, meaning: &'static str, mut once: impl FnMut()) -> Cost {
    let mut round_ns = |repeats: u64| {
        let began_ns = now_ns();
        (0..repeats).for_each(|_| once());
        (now_ns() - began_ns) as f64
    };
    let repeats = 1 + (ROUND_NS as f64 / (round_ns(100) / 100.0).max(1.0)) as u64;
    let mut rounds_ns: Vec<f64> = (0..ROUNDS).map(|_| round_ns(repeats) / repeats as f64).collect();
    rounds_ns.sort_by(f64::total_cmp);
    let at = |share: f64| rounds_ns[(share * (ROUNDS - 1) as f64) as usize];
    Cost { name, meaning, ns: at(0.5), low_ns: at(0.1), high_ns: at(0.9), rounds: ROUNDS, repeats }
}

/// Halves a cost: the way there and back is two switches.
fn halved(cost: Cost) -> Cost {
    Cost { ns: cost.ns / 2.0, low_ns: cost.low_ns / 2.0, high_ns: cost.high_ns / 2.0, ..cost }
}

fn less(cost: Cost, alone_ns: f64) -> Cost {
    let without = |ns: f64| (ns - alone_ns).max(0.0);
    Cost { ns: without(cost.ns), low_ns: without(cost.low_ns), high_ns: without(cost.high_ns), ..cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_is_between_its_low_and_its_high_and_is_named() {
        let costs = all().unwrap();
        let names: Vec<&str> = costs.iter().map(|cost| cost.name).collect();
        assert_eq!(
            names,
            ["system_call", "non_blocking_read", "thread_switch", "process_switch", "thread", "process"]
        );
        assert!(costs.iter().all(|cost| cost.low_ns <= cost.ns && cost.ns <= cost.high_ns));
        assert!(costs.iter().all(|cost| cost.rounds == ROUNDS && cost.repeats > 0));
    }

    #[test]
    fn what_is_timed_is_what_is_done() {
        let mut done = 0;
        let cost = cost("", "", || done += 1);
        assert_eq!(done, 100 + ROUNDS as u64 * cost.repeats);
    }

    #[test]
    fn a_cost_without_what_it_stands_on_is_never_below_nothing() {
        let cost = |ns| Cost {
            name: "",
            meaning: "",
            ns,
            low_ns: ns - 1.0,
            high_ns: ns + 1.0,
            rounds: 1,
            repeats: 1,
        };
        let without = less(halved(cost(10.0)), 5.0);
        assert_eq!((without.low_ns, without.ns, without.high_ns), (0.0, 0.0, 0.5));
    }
}
