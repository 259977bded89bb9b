//! CPU time of the whole machine and of each core over the measured phase: what all processes used, and what the
//! hypervisor took. It is read only at both ends, as the kernel sums over all cores and interrupts for each reading.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use super::reread::reread_whole;
use super::stat::ns_per_tick;
use super::{field, rise, sum};
use crate::clock::now_ns;
use crate::record::{CoreColumns, MachineRecord, MachineWindow, Unread};

/// Room for the lines of some hundred cores.
const BUFFER_BYTES: usize = 64 * 1024;
/// The record has a row for each of the first 1,024 cores.
const CORES_MOST: usize = 1024;

/// Ticks since the machine started, of one core or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    stolen: u64,
    idle: u64,
}

/// `/proc/stat` (proc(5)) at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    all: Ticks,
    cores: BTreeMap<u32, Ticks>,
    switches: Option<u64>,
}

/// A reading, and when it was taken.
type Taken = (u64, Reading);

pub struct Machine {
    stat: io::Result<File>,
    buffer: Vec<u8>,
    opened: Option<Taken>,
    /// Each turn that was measured; `None`: it could not be read at both ends.
    windows: Vec<Option<MachineWindow>>,
    /// Why it could not be read, if that was tried.
    why: Option<String>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        // The file stays open, so that a trial that runs out of descriptors can still be sampled.
        Self::over(File::open("/proc/stat"))
    }

    fn over(stat: io::Result<File>) -> Self {
        Self { stat, buffer: vec![0; BUFFER_BYTES], opened: None, windows: Vec::new(), why: None }
    }

    /// Reads at the beginning of the measured phase.
    pub fn open(&mut self) {
        self.opened = self.read();
    }

    /// Reads at the end of the measured phase.
    pub fn close(&mut self) {
        let closed = self.read();
        self.windows.push(self.opened.take().zip(closed).map(|(opened, closed)| window(&opened, &closed)));
    }

    pub fn record(self) -> MachineRecord {
        let windows: Option<Vec<MachineWindow>> = self.windows.into_iter().collect();
        let window = windows.and_then(|all| all.into_iter().reduce(MachineWindow::and));
        let cores = window.as_ref().map_or(0, |window| window.cores);
        let beyond = (cores > CORES_MOST as u64).then(|| {
            let why =
                format!("this machine has {cores} cores, of which the first {CORES_MOST} are told apart");
            Unread { field: "per_core".into(), why }
        });
        let unread = self.why.map(|why| Unread { field: "window".into(), why });
        let unread = unread.into_iter().chain(beyond).collect();
        MachineRecord { window, unread, ..MachineRecord::default() }
    }

    fn read(&mut self) -> Option<Taken> {
        let at_ns = now_ns();
        let text = match &self.stat {
            Ok(file) => reread_whole(file, &mut self.buffer).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let read = text
            .and_then(|text| Reading::parse(text).ok_or_else(|| "this kernel does not count it".to_owned()));
        read.map_err(|why| self.why = Some(why)).ok().map(|read| (at_ns, read))
    }
}

impl Reading {
    /// Parses the line of all cores, and those of single cores that come after it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let all = Ticks::parse(lines.next()?.strip_prefix("cpu ")?)?;
        let cores = lines.map_while(|line| {
            let (core, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((core.parse().ok()?, Ticks::parse(fields)?))
        });
        Some(Self { all, cores: cores.collect(), switches: field(text.as_bytes(), "ctxt") })
    }
}

impl Ticks {
    /// Parses `user nice system idle iowait irq softirq steal`. What guests of this machine used is already in `user` and
    /// `nice`.
    fn parse(fields: &str) -> Option<Self> {
        let fields: Option<Vec<u64>> =
            fields.split_ascii_whitespace().map(|field| field.parse().ok()).collect();
        let &[user, nice, system, idle, waiting, irq, softirq, stolen, ..] = fields?.as_slice() else {
            return None;
        };
        let sum = |parts: &[u64]| parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        Some(Self { busy: sum(&[user, nice, system, irq, softirq]), stolen, idle: sum(&[idle, waiting]) })
    }
}

/// Returns how long the ticks between two counts last.
fn between(from: u64, to: u64) -> u64 {
    to.saturating_sub(from).saturating_mul(ns_per_tick())
}

fn window((opened_ns, opened): &Taken, (closed_ns, closed): &Taken) -> MachineWindow {
    let mut per_core = CoreColumns::default();
    // A core that was taken away or came between the two readings has no row.
    let both = closed.cores.iter().filter_map(|(core, after)| Some((core, opened.cores.get(core)?, after)));
    for (&core, before, after) in both.take(CORES_MOST) {
        per_core.core.push(core);
        per_core.busy_ns.push(between(before.busy, after.busy));
        per_core.steal_ns.push(between(before.stolen, after.stolen));
        per_core.idle_ns.push(between(before.idle, after.idle));
    }
    MachineWindow {
        span_ns: closed_ns.saturating_sub(*opened_ns),
        busy_ns: between(opened.all.busy, closed.all.busy),
        steal_ns: between(opened.all.stolen, closed.all.stolen),
        cores: closed.cores.len() as u64,
        switches: rise(opened.switches, closed.switches),
        per_core,
    }
}

impl MachineWindow {
    fn and(self, other: Self) -> Self {
        Self {
            span_ns: self.span_ns + other.span_ns,
            busy_ns: self.busy_ns + other.busy_ns,
            steal_ns: self.steal_ns + other.steal_ns,
            cores: self.cores.max(other.cores),
            switches: sum(self.switches, other.switches),
            per_core: self.per_core.and(&other.per_core),
        }
    }
}

impl CoreColumns {
    /// Only a core that both of them have has a row.
    fn and(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (one, core) in self.core.iter().enumerate() {
            if let Some(two) = other.core.iter().position(|other| other == core) {
                both.core.push(*core);
                both.busy_ns.push(self.busy_ns[one] + other.busy_ns[two]);
                both.steal_ns.push(self.steal_ns[one] + other.steal_ns[two]);
                both.idle_ns.push(self.idle_ns[one] + other.idle_ns[two]);
            }
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, Instant};

    const STAT: &str = "cpu  100 20 30 9999 50 4 6 7 90 10\ncpu0 50 10 15 5000 25 2 3 4 0 0\n\
        cpu1 50 10 15 4999 25 2 3 3 0 0\nintr 39109522 0 0\nctxt 5\n";

    fn stat(text: &str) -> Machine {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Machine::over(Ok(file))
    }

    /// What a machine with this number of cores says: each was busy for this long, and has some hundred interrupts.
    fn of_cores(cores: usize, busy: u64) -> String {
        let lines: String = (0..cores).map(|core| format!("cpu{core} {busy} 0 0 70 5 0 0 3 0 0\n")).collect();
        let interrupts = " 4294967295".repeat(100 * cores);
        format!("cpu  {} 0 0 0 0 0 0 0\n{lines}intr 5{interrupts}\nctxt 77{busy}\n", busy * cores as u64)
    }

    #[test]
    fn what_is_used_is_told_from_what_is_idle_waits_or_is_taken() {
        let read = Reading::parse(STAT).unwrap();
        assert_eq!(read.all, Ticks { busy: 160, stolen: 7, idle: 10_049 });
        let ticks = |busy, stolen, idle| Ticks { busy, stolen, idle };
        assert_eq!(read.cores, [(0, ticks(80, 4, 5_025)), (1, ticks(80, 3, 5_024))].into());
        assert_eq!(read.switches, Some(5));
        let later = Reading {
            all: ticks(163, 8, 10_060),
            // The first core was taken away, and another came.
            cores: [(1, ticks(82, 4, 5_030)), (2, ticks(9, 9, 9))].into(),
            switches: Some(12),
        };
        let tick_ns = ns_per_tick();
        assert_eq!(
            window(&(1_000, read), &(4_000, later)),
            MachineWindow {
                span_ns: 3_000,
                busy_ns: 3 * tick_ns,
                steal_ns: tick_ns,
                cores: 2,
                switches: Some(7),
                per_core: CoreColumns {
                    core: vec![1],
                    busy_ns: vec![2 * tick_ns],
                    steal_ns: vec![tick_ns],
                    idle_ns: vec![6 * tick_ns],
                },
            }
        );
    }

    #[test]
    fn of_a_machine_with_many_cores_all_are_counted_and_the_first_told_apart() {
        let text = of_cores(2_000, 10);
        assert!(text.len() > 20 * BUFFER_BYTES);
        let mut machine = stat(&text);
        machine.open();
        machine.stat.as_ref().unwrap().write_all_at(of_cores(2_000, 13).as_bytes(), 0).unwrap();
        machine.close();
        let record = machine.record();
        let window = record.window.unwrap();
        assert_eq!((window.cores, window.switches), (2_000, Some(3)));
        assert_eq!(window.per_core.busy_ns, [3 * ns_per_tick(); CORES_MOST]);
        assert_eq!(record.unread.len(), 1);
        assert!(record.unread[0].why.contains("2000 cores"), "{:?}", record.unread);
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
        assert!(window.cores >= 1 && window.span_ns >= 200_000_000, "{window:?}");
        let by_core = window.per_core;
        assert_eq!(by_core.core.len() as u64, window.cores);
        // The kernel reads the cores one after the other, and the sum in between.
        let off_ns = by_core.busy_ns.iter().sum::<u64>().abs_diff(window.busy_ns);
        assert!(off_ns <= 2 * window.cores * ns_per_tick(), "{off_ns} of {}", window.busy_ns);
        for (idle_ns, busy_ns) in by_core.idle_ns.iter().zip(&by_core.busy_ns) {
            assert!(idle_ns + busy_ns <= window.span_ns + 5 * ns_per_tick(), "{idle_ns} and {busy_ns}");
        }
    }
}
