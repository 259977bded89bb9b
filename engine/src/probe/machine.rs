//! CPU time of the whole machine over the measured phase: what all processes used, and what the hypervisor took. It
//! is read only at both ends, as the kernel sums over all cores and interrupts for each reading.

use std::fs::File;
use std::io;

use super::everybody::{Everybody, Used};
use super::reread::reread;
use super::stat::ns_per_tick;
use super::{field, rise};
use crate::process_tree::Pid;
use crate::record::{MachineRecord, MachineWindow, Unread};

/// Room for the lines of some hundred cores.
const BUFFER_BYTES: usize = 64 * 1024;

/// `/proc/stat` (proc(5)) at one instant, in ticks since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    busy_ticks: u64,
    stolen_ticks: u64,
    cores: u64,
    switches: Option<u64>,
}

pub struct Machine {
    stat: io::Result<File>,
    buffer: Box<[u8]>,
    opened: Option<Reading>,
    closed: Option<Reading>,
    everybody: Everybody,
    used: Used,
    /// Why it could not be read, if that was tried.
    why: Option<String>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            // The file stays open, so that a trial that runs out of descriptors can still be sampled.
            stat: File::open("/proc/stat"),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            opened: None,
            closed: None,
            everybody: Everybody::default(),
            used: Used::default(),
            why: None,
        }
    }

    /// Reads at the beginning of the measured phase.
    pub fn open(&mut self) {
        self.opened = self.read();
    }

    /// Reads at the end of the measured phase.
    pub fn close(&mut self) {
        self.closed = self.read();
    }

    /// Reads everybody's CPU time at the beginning. This takes longer, and so it comes after what is read of the server.
    pub fn open_everybody(&mut self, server: Option<Pid>) {
        self.everybody = Everybody::open(server);
    }

    /// Reads it at the end.
    pub fn close_everybody(&mut self, server: Option<Pid>) {
        self.used = self.everybody.used(server);
    }

    pub fn record(self) -> MachineRecord {
        let window = self
            .opened
            .zip(self.closed)
            .map(|(opened, closed)| Reading::window(opened, closed, self.used.kernel_threads_ns));
        let unread = self.why.map(|why| Unread { field: "window".into(), why });
        MachineRecord { window, programs: self.used.programs, unread: unread.into_iter().collect() }
    }

    fn read(&mut self) -> Option<Reading> {
        let text = match &self.stat {
            Ok(file) => reread(file, &mut self.buffer).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let read = text
            .and_then(|text| Reading::parse(text).ok_or_else(|| "this kernel does not count it".to_owned()));
        read.map_err(|why| self.why = Some(why)).ok()
    }
}

impl Reading {
    /// Parses `user nice system idle iowait irq softirq steal` of all cores, and counts the lines of single cores.
    /// What guests of this machine used is already in `user` and `nice`.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let all: Option<Vec<u64>> = lines
            .next()?
            .strip_prefix("cpu ")?
            .split_ascii_whitespace()
            .map(|field| field.parse().ok())
            .collect();
        let &[user, nice, system, _idle, _waiting, irq, softirq, stolen_ticks, ..] = all?.as_slice() else {
            return None;
        };
        let cores = lines.take_while(|line| line.starts_with("cpu")).count() as u64;
        let busy_ticks = user + nice + system + irq + softirq;
        Some(Self { busy_ticks, stolen_ticks, cores, switches: field(text.as_bytes(), "ctxt") })
    }

    fn window(opened: Self, closed: Self, kernel_threads_ns: u64) -> MachineWindow {
        let between = |from: u64, to: u64| to.saturating_sub(from) * ns_per_tick();
        MachineWindow {
            busy_ns: between(opened.busy_ticks, closed.busy_ticks),
            steal_ns: between(opened.stolen_ticks, closed.stolen_ticks),
            cores: closed.cores,
            kernel_threads_ns,
            switches: rise(opened.switches, closed.switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const STAT: &str = "cpu  100 20 30 9999 50 4 6 7 90 10\ncpu0 50 10 15 5000 25 2 3 4 0 0\n\
        cpu1 50 10 15 4999 25 2 3 3 0 0\nintr 39109522 0 0\nctxt 5\n";

    #[test]
    fn what_is_used_is_told_from_what_is_idle_waits_or_is_taken() {
        let read = Reading::parse(STAT).unwrap();
        assert_eq!(read, Reading { busy_ticks: 160, stolen_ticks: 7, cores: 2, switches: Some(5) });
        let later = Reading { busy_ticks: 163, stolen_ticks: 8, cores: 2, switches: Some(12) };
        let tick_ns = ns_per_tick();
        assert_eq!(
            Reading::window(read, later, 5),
            MachineWindow {
                busy_ns: 3 * tick_ns,
                steal_ns: tick_ns,
                cores: 2,
                kernel_threads_ns: 5,
                switches: Some(7)
            }
        );
    }

    #[test]
    fn what_a_kernel_does_not_say_is_not_zero() {
        for text in ["", "cpu  1 2 3 4 5 6 7\n", "cpu  1 2 x 4 5 6 7 8\n", "intr 1 2 3 4 5 6 7 8 9\n"] {
            assert_eq!(Reading::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn our_own_work_is_among_everybody_s() {
        let mut machine = Machine::new();
        machine.open();
        let own_ns = || super::super::cpu_clock::thread_ns(rustix::thread::gettid().as_raw_nonzero().get());
        let (from_ns, deadline) = (own_ns().unwrap(), Instant::now() + Duration::from_secs(20));
        while own_ns().unwrap() < from_ns + 200_000_000 && Instant::now() < deadline {
            std::hint::spin_loop();
        }
        machine.close();
        let window = machine.record().window.unwrap();
        // This thread used 200 ms, but ticks do not fall evenly.
        assert!(window.busy_ns >= 100_000_000, "{window:?}");
        assert!(window.cores >= 1);
    }
}
