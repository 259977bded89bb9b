//! One process at one instant, from `/proc/<pid>/stat` (proc(5)) and its CPU clock.

use std::fs::File;
use std::io::Read;
use std::ops::{Add, AddAssign, Sub};

use crate::process_tree::{Pid, after_name};

/// 52 numbers of at most 20 digits each, and a name.
const LONGEST_BYTES: usize = 1280;

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    pub user_ns: u64,
    pub kernel_ns: u64,
}

impl Cpu {
    pub fn total_ns(self) -> u64 {
        self.user_ns + self.kernel_ns
    }

    /// Splits `total_ns` as `known` is split, or into halves if `known` is zero.
    pub fn like(known: Self, total_ns: u64) -> Self {
        let (user, all) = if known.total_ns() == 0 { (1, 2) } else { (known.user_ns, known.total_ns()) };
        let user_ns = (u128::from(total_ns) * u128::from(user) / u128::from(all)) as u64;
        Self { user_ns, kernel_ns: total_ns - user_ns }
    }
}

impl Add for Cpu {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user_ns: self.user_ns + other.user_ns, kernel_ns: self.kernel_ns + other.kernel_ns }
    }
}

impl AddAssign for Cpu {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cpu {
    type Output = Self;

    /// Subtracts user and kernel time separately. Either is zero if `other` has more.
    fn sub(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(other.user_ns),
            kernel_ns: self.kernel_ns.saturating_sub(other.kernel_ns),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub pid: Pid,
    pub parent: Pid,
    /// In ticks since the machine started. Together with the id it names one process, and no later one with that id.
    pub started: u64,
    pub own: Cpu,
    /// Whether it has used a tick. Before that, it is not known how much of its time was the kernel's.
    pub is_split: bool,
    /// CPU time of children that ended and were waited for, including that of their own children.
    pub children: Cpu,
    pub threads: u64,
    pub rss_bytes: u64,
}

impl Stat {
    /// Returns `None` if there is no such process.
    pub fn read(pid: Pid) -> Option<Self> {
        let mut buffer = [0; LONGEST_BYTES];
        let bytes =
            File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut buffer)).ok()?;
        Self::parse(pid, &buffer[..bytes], super::cpu_clock::process_ns(pid))
    }

    /// `cpu_ns` is the process's own CPU clock. `stat` counts in ticks of 10 ms, so the clock gives the amount, and
    /// the ticks give only its split between user and kernel.
    pub fn parse(pid: Pid, text: &[u8], cpu_ns: Option<u64>) -> Option<Self> {
        let fields: Vec<&str> = after_name(text)?.collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ns_per_tick = ns_per_tick();
        let (user_ticks, kernel_ticks) = (number(14)?, number(15)?);
        let ticks = user_ticks.saturating_add(kernel_ticks);
        let own_ns = cpu_ns.unwrap_or(ticks.saturating_mul(ns_per_tick));
        let user_ns = (u128::from(own_ns) * u128::from(user_ticks) / u128::from(ticks.max(1))) as u64;
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            started: number(22)?,
            own: Cpu { user_ns, kernel_ns: own_ns - user_ns },
            is_split: ticks > 0,
            children: Cpu {
                user_ns: number(16)?.saturating_mul(ns_per_tick),
                kernel_ns: number(17)?.saturating_mul(ns_per_tick),
            },
            threads: number(20)?,
            rss_bytes: number(24)?.saturating_mul(rustix::param::page_size() as u64),
        })
    }
}

/// Returns the length of a tick, in which `stat` counts.
pub fn ns_per_tick() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_over() {
        let text = "7 (a) b (c)) S 3 7 7 0 -1 4194560 10 0 0 0 30 10 4 6 20 0 3 0 5 1000 25 18446744";
        let stat = Stat::parse(7, text.as_bytes(), Some(800_000_000)).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.started), (7, 3, 5));
        assert_eq!(stat.own, Cpu { user_ns: 600_000_000, kernel_ns: 200_000_000 });
        assert_eq!(stat.children, Cpu { user_ns: 40_000_000, kernel_ns: 60_000_000 });
        assert_eq!(stat.threads, 3);
        assert!(
            stat.is_split
                && !Stat::parse(7, text.replace("30 10", "0 0").as_bytes(), Some(7)).unwrap().is_split
        );
        assert_eq!(stat.rss_bytes, 25 * rustix::param::page_size() as u64);
    }

    #[test]
    fn our_own_work_shows_in_our_own_reading() {
        let own = std::process::id() as Pid;
        let cpu_ns = || Stat::read(own).unwrap().own.total_ns();
        let before_ns = cpu_ns();
        // By the CPU clock and not the wall clock, as a busy machine may give this thread little time.
        let own_ns = || super::super::cpu_clock::process_ns(own).unwrap();
        let until_ns = own_ns() + 30_000_000;
        while own_ns() < until_ns {
            std::hint::spin_loop();
        }
        assert!(cpu_ns() - before_ns >= 30_000_000);
    }
}
