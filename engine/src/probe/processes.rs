//! CPU, memory, threads and context switches of one process tree, from `/proc` and the processes'
//! own CPU clocks. It looks at processes only, never at sockets or load.
//!
//! What is dear to read (each thread's switches, the proportional memory, the shape of the tree)
//! paces itself: it is read again only when two hundred times its last cost has gone by, so that a server
//! with thousands of threads is not slowed down by being watched.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::clock::now_ns;
use crate::process_tree::{self, Pid};

/// One reading of a process tree. CPU and switches are cumulative.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    pub at_ns: u64,
    pub late_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_kernel_ns: u64,
    pub rss_bytes: u64,
    pub pss_bytes: Option<u64>,
    pub processes: u64,
    pub threads: u64,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
}

pub struct Processes {
    root: Pid,
    tree: Vec<Pid>,
    tree_pace: Pace,
    switches_pace: Pace,
    pss_pace: Pace,
    /// Switches of each thread as last read; those of threads that ended stay counted.
    switches: BTreeMap<Pid, (u64, u64)>,
    /// Fields that could not be read, and why.
    unread: BTreeMap<&'static str, String>,
}

impl Processes {
    pub fn new(root: Pid) -> Self {
        Self {
            root,
            tree: vec![root],
            tree_pace: Pace::default(),
            switches_pace: Pace::default(),
            pss_pace: Pace::default(),
            switches: BTreeMap::new(),
            unread: BTreeMap::new(),
        }
    }

    /// Reads the tree, as of now; `due_ns` is when the reading should have been. At the `boundary`
    /// of a phase everything is read, whatever it costs.
    pub fn sample(&mut self, due_ns: u64, boundary: bool) -> Sample {
        let began_ns = now_ns();
        if self.tree_pace.allows(boundary) {
            self.tree = process_tree::with_descendants(self.root);
            self.tree_pace.spent(began_ns);
        }
        let mut sample =
            Sample { at_ns: began_ns, late_ns: began_ns.saturating_sub(due_ns), ..Sample::default() };
        for &pid in &self.tree {
            if let Some(stat) = Stat::read(pid) {
                stat.add_to(&mut sample);
            }
        }
        if sample.processes == 0 {
            self.unread.insert("cpu_user_ns", format!("process {} is gone", self.root));
        }
        let pss_began_ns = now_ns();
        if self.pss_pace.allows(boundary) {
            sample.pss_bytes = self.read_pss();
            self.pss_pace.spent(pss_began_ns);
        }
        let switches_began_ns = now_ns();
        if self.switches_pace.allows(boundary) {
            (sample.voluntary_switches, sample.involuntary_switches) = self.read_switches();
            self.switches_pace.spent(switches_began_ns);
        }
        sample
    }

    /// What could not be read, and why.
    pub fn unread(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.unread.iter().map(|(field, why)| (*field, why.as_str()))
    }

    fn read_pss(&mut self) -> Option<u64> {
        let mut total = None;
        for pid in &self.tree {
            match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
                Ok(text) => *total.get_or_insert(0) += field(&text, "Pss:").unwrap_or(0) * 1024,
                Err(error) if gone(&error) => {}
                Err(error) => {
                    self.unread.insert("pss_bytes", format!("smaps_rollup: {error}"));
                    return None;
                }
            }
        }
        total
    }

    fn read_switches(&mut self) -> (Option<u64>, Option<u64>) {
        for pid in &self.tree {
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
                continue;
            };
            for thread in threads.flatten() {
                let Ok(text) = fs::read_to_string(thread.path().join("status")) else {
                    continue;
                };
                let Some(tid) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                let voluntary = field(&text, "voluntary_ctxt_switches:");
                let involuntary = field(&text, "nonvoluntary_ctxt_switches:");
                if let (Some(voluntary), Some(involuntary)) = (voluntary, involuntary) {
                    self.switches.insert(tid, (voluntary, involuntary));
                }
            }
        }
        if self.switches.is_empty() {
            self.unread.insert("voluntary_switches", "no thread of the tree could be read".into());
            return (None, None);
        }
        let total = self.switches.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (Some(total.0), Some(total.1))
    }
}

/// Lets a reading take at most half a percent of the time.
#[derive(Default)]
struct Pace {
    not_before_ns: u64,
}

impl Pace {
    fn allows(&self, boundary: bool) -> bool {
        boundary || now_ns() >= self.not_before_ns
    }

    fn spent(&mut self, began_ns: u64) {
        let now_ns = now_ns();
        self.not_before_ns = now_ns + 200 * (now_ns - began_ns);
    }
}

/// One process, from `/proc/<pid>/stat` (proc(5)) and its CPU clock.
struct Stat {
    cpu_user_ns: u64,
    cpu_kernel_ns: u64,
    threads: u64,
    rss_bytes: u64,
}

impl Stat {
    fn read(pid: Pid) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&text, process_cpu_ns(pid))
    }

    /// `cpu_ns` is the process's own CPU clock. `stat` counts in ticks of 10 ms, so the clock gives
    /// the amount and the ticks only its split between user and kernel. Children count once they
    /// are waited for: servers that fork per connection live on that.
    fn parse(text: &str, cpu_ns: Option<u64>) -> Option<Self> {
        // The name, field 2, may hold anything; the last parenthesis ends it.
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ns_per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let (user_ticks, kernel_ticks) = (number(14)?, number(15)?);
        let ticks = user_ticks + kernel_ticks;
        let own_ns = cpu_ns.unwrap_or(ticks * ns_per_tick);
        let own_user_ns = own_ns as u128 * u128::from(user_ticks) / u128::from(ticks.max(1));
        let own_user_ns = own_user_ns as u64;
        Some(Self {
            cpu_user_ns: own_user_ns + number(16)? * ns_per_tick,
            cpu_kernel_ns: own_ns - own_user_ns + number(17)? * ns_per_tick,
            threads: number(20)?,
            rss_bytes: number(24)? * rustix::param::page_size() as u64,
        })
    }

    fn add_to(&self, sample: &mut Sample) {
        sample.processes += 1;
        sample.threads += self.threads;
        sample.cpu_user_ns += self.cpu_user_ns;
        sample.cpu_kernel_ns += self.cpu_kernel_ns;
        sample.rss_bytes += self.rss_bytes;
    }
}

/// Whether the process had ended when it was read: before its file was opened, or after, as a zombie's.
fn gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// CPU time of all threads of a process, past and present (clock_getcpuclockid(3)).
fn process_cpu_ns(pid: Pid) -> Option<u64> {
    const CPUCLOCK_SCHED: i32 = 2;
    let clock = (!pid << 3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call; an unknown clock is an error, not undefined.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    done.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_over() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194560 10 0 0 0 30 10 4 6 20 0 3 0 5 1000 25 18446744";
        let stat = Stat::parse(text, Some(800_000_000)).unwrap();
        assert_eq!(stat.cpu_user_ns, 600_000_000 + 40_000_000);
        assert_eq!(stat.cpu_kernel_ns, 200_000_000 + 60_000_000);
        assert_eq!(stat.threads, 3);
        assert_eq!(stat.rss_bytes, 25 * rustix::param::page_size() as u64);
    }

    #[test]
    fn our_own_work_shows_in_our_own_reading() {
        let own = std::process::id() as Pid;
        let mut probe = Processes::new(own);
        // Without the tree: other tests have children, who come and go.
        let cpu_ns = || Stat::read(own).map(|stat| stat.cpu_user_ns + stat.cpu_kernel_ns).unwrap();
        let before_ns = cpu_ns();
        // By the CPU clock, not the wall's: a busy machine may give us little of it.
        let own_ns = || process_cpu_ns(own).unwrap();
        let until_ns = own_ns() + 30_000_000;
        while own_ns() < until_ns {
            std::hint::spin_loop();
        }
        assert!(cpu_ns() - before_ns >= 30_000_000);
        let after = probe.sample(now_ns(), true);
        assert!(after.rss_bytes > 0 && after.pss_bytes.unwrap() > 0);
        assert!(after.voluntary_switches.unwrap() + after.involuntary_switches.unwrap() > 0);
        assert_eq!(probe.unread().count(), 0);
    }

    #[test]
    fn a_child_that_ended_and_was_not_waited_for_holds_no_memory() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let zombie = child.id() as Pid;
        let state = || fs::read_to_string(format!("/proc/{zombie}/stat")).unwrap();
        while !state().contains(") Z ") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut probe = Processes::new(std::process::id() as Pid);
        probe.tree.push(zombie);
        assert!(probe.read_pss().unwrap() > 0);
        assert_eq!(probe.unread().count(), 0);
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_said_to_be() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut probe = Processes::new(child.id() as Pid);
        assert_eq!(probe.sample(now_ns(), true).processes, 0);
        assert!(probe.unread().any(|(field, _)| field == "cpu_user_ns"));
    }
}
