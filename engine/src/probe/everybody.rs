//! Who uses CPU time beside the engine and the server. The kernel's own threads, such as those that write to a disk, do
//! what programs have asked for, the server among them. All else is another program's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::all_processes::{AllProcesses, pids};
use super::stat::{Stat, ns_per_tick};
use crate::process_tree::{Pid, after_name, name};
use crate::record::OtherProgram;

/// The process that waits for those whose parents have ended.
const FIRST: Pid = 1;
/// The thread that starts all others of the kernel.
const KTHREADD: Pid = 2;
/// Of `flags` in `/proc/PID/stat`: it is a thread of the kernel (`PF_KTHREAD`).
const IS_KERNEL_THREAD: u64 = 0x0020_0000;
/// Of so many other programs the record has a line. Those who serve a dependency are among them.
const PROGRAMS: usize = 8;

/// CPU time in ns at the beginning of the measured phase.
#[derive(Default)]
pub struct Everybody {
    kernel_threads: BTreeMap<Pid, u64>,
    programs: BTreeMap<Pid, Stat>,
    /// The processes of the server.
    served_by: BTreeSet<Pid>,
}

/// What was used since.
#[derive(Debug, Default)]
pub struct Used {
    pub kernel_threads_ns: u64,
    /// Those that used most, most first.
    pub programs: Vec<OtherProgram>,
}

impl Everybody {
    /// Reads all processes. In a namespace of process ids no thread of the kernel is to be seen.
    pub fn open(server: Option<Pid>) -> Self {
        let (kernel, programs) = read();
        Self {
            kernel_threads: kernel.into_iter().filter_map(|pid| Some((pid, cpu_ns(pid)?))).collect(),
            served_by: tree(server, &programs),
            programs: programs.into_iter().map(|stat| (stat.pid, stat)).collect(),
        }
    }

    /// Returns what all have used since; those that began meanwhile, from their beginning.
    pub fn used(&self, server: Option<Pid>) -> Used {
        let (kernel, programs) = read();
        let thread_ns = |pid| {
            let before_ns = self.kernel_threads.get(&pid).copied().unwrap_or_default();
            Some(cpu_ns(pid)?.saturating_sub(before_ns))
        };
        let kernel_threads_ns = kernel.into_iter().filter_map(thread_ns).sum();
        Used { kernel_threads_ns, programs: self.most(&programs, &tree(server, &programs)) }
    }

    /// Returns the other programs that used most. `served_by`: the server's processes now.
    fn most(&self, programs: &[Stat], served_by: &BTreeSet<Pid>) -> Vec<OtherProgram> {
        let spent = self.spent(programs);
        let used_ns = |stat: &Stat| spent.get(&stat.pid).copied().unwrap_or_default();
        let mut used: Vec<&Stat> = programs
            .iter()
            .filter(|stat| !self.served_by.contains(&stat.pid) && !served_by.contains(&stat.pid))
            .filter(|stat| used_ns(stat) >= ns_per_tick())
            .collect();
        used.sort_by_key(|stat| Reverse(used_ns(stat)));
        let ours = Engines::of_this();
        used.into_iter()
            .filter(|stat| !ours.has(stat))
            .filter_map(|stat| {
                Some(OtherProgram { pid: stat.pid, name: name(stat.pid)?, cpu_ns: used_ns(stat) })
            })
            .take(PROGRAMS)
            .collect()
    }

    /// Returns what each process that is there now has used since, with what its children did that ended.
    ///
    /// When a parent has waited for a child, the kernel adds all that the child ever used to the parent. What it had used
    /// before is left out. Process 1 waits for children of others, too, so only its own time counts.
    fn spent(&self, now: &[Stat]) -> BTreeMap<Pid, u64> {
        let there: BTreeSet<(Pid, u64)> = now.iter().map(|stat| (stat.pid, stat.started)).collect();
        let is_there = |before: &Stat| there.contains(&(before.pid, before.started));
        let mut ended_ns: BTreeMap<Pid, u64> = BTreeMap::new();
        for stat in self.programs.values().filter(|stat| !is_there(stat)) {
            let (mut whose, mut left) = (Some(stat), self.programs.len());
            while let Some(ended) = whose.filter(|whose| !is_there(whose) && left > 0) {
                (whose, left) = (self.programs.get(&ended.parent), left - 1);
            }
            if let Some(whose) = whose.filter(|_| left > 0) {
                *ended_ns.entry(whose.pid).or_default() += (stat.own + stat.children).total_ns();
            }
        }
        let used_ns = |stat: &Stat| {
            let before =
                self.programs.get(&stat.pid).filter(|before| is_there(before)).copied().unwrap_or_default();
            let own_ns = (stat.own - before.own).total_ns();
            if stat.pid == FIRST {
                return own_ns;
            }
            let ended_ns = ended_ns.get(&stat.pid).copied().unwrap_or_default();
            own_ns + (stat.children - before.children).total_ns().saturating_sub(ended_ns)
        };
        now.iter().map(|stat| (stat.pid, used_ns(stat))).collect()
    }
}

/// This engine, and others that the same process has started: they send light requests beside its load.
struct Engines {
    parent: Option<Pid>,
    name: Option<String>,
}

impl Engines {
    fn of_this() -> Self {
        let own = std::process::id() as Pid;
        Self { parent: Stat::read(own).map(|stat| stat.parent), name: name(own) }
    }

    fn has(&self, stat: &Stat) -> bool {
        stat.pid == std::process::id() as Pid
            || (Some(stat.parent) == self.parent && name(stat.pid) == self.name)
    }
}

/// Returns the threads of the kernel, and all processes that are none.
fn read() -> (Vec<Pid>, Vec<Stat>) {
    let has_kthreadd = is_kthreadd();
    let is_kernels = |stat: &Stat| has_kthreadd && (stat.pid == KTHREADD || stat.parent == KTHREADD);
    let (kernel, programs): (Vec<Stat>, Vec<Stat>) =
        pids().into_iter().filter_map(Stat::read).partition(is_kernels);
    (kernel.iter().map(|stat| stat.pid).collect(), programs)
}

fn tree(root: Option<Pid>, programs: &[Stat]) -> BTreeSet<Pid> {
    AllProcesses::of(programs.iter().copied()).with_descendants(&root.into_iter().collect())
}

fn is_kthreadd() -> bool {
    let text = fs::read(format!("/proc/{KTHREADD}/stat")).unwrap_or_default();
    let flags = after_name(&text).and_then(|mut fields| fields.nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & IS_KERNEL_THREAD != 0)
}

fn cpu_ns(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Busy(Child);

    impl Busy {
        /// Starts a program that computes until it is dropped.
        fn start() -> Self {
            Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
        }

        fn pid(&self) -> Pid {
            self.0.id() as Pid
        }

        fn computes(&self, for_ns: u64) {
            let used = || Stat::read(self.pid()).map_or(u64::MAX, |stat| stat.own.total_ns());
            let until_ns = used() + for_ns;
            while used() < until_ns {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).ok();
        }
    }

    #[test]
    fn a_program_that_computes_is_named_unless_it_is_the_server() {
        let everybody = Everybody::open(None);
        let busy = Busy::start();
        busy.computes(300_000_000);
        let used = everybody.used(None).programs;
        let found = used.iter().find(|program| program.pid == busy.pid()).unwrap();
        assert!(found.name == "sh" && found.cpu_ns >= 300_000_000, "{found:?}");
        assert!(used.iter().all(|program| program.pid != std::process::id() as Pid), "{used:?}");
        let used = everybody.used(Some(busy.pid())).programs;
        assert!(used.iter().all(|program| program.pid != busy.pid()), "{used:?}");
    }

    #[test]
    fn only_what_is_used_meanwhile_counts() {
        let busy = Busy::start();
        busy.computes(300_000_000);
        let everybody = Everybody::open(None);
        let before_ns = Stat::read(busy.pid()).unwrap().own.total_ns();
        busy.computes(100_000_000);
        let used = everybody.used(None).programs;
        let found = used.iter().find(|program| program.pid == busy.pid()).unwrap();
        let now_ns = Stat::read(busy.pid()).unwrap().own.total_ns();
        assert!(found.cpu_ns >= 100_000_000 && found.cpu_ns <= now_ns - before_ns + 50_000_000, "{found:?}");
    }

    fn stat(pid: Pid, parent: Pid, own_s: u64, children_s: u64) -> Stat {
        let cpu = |s: u64| super::super::stat::Cpu { user_ns: s * 1_000_000_000, kernel_ns: 0 };
        Stat { pid, parent, started: 1, own: cpu(own_s), children: cpu(children_s), ..Stat::default() }
    }

    #[test]
    fn what_a_child_had_used_before_is_not_its_parents() {
        // A backup of 20 minutes ends, and the shell that had started it waits for it: 1 s of it was meanwhile.
        let programs = [stat(10, 1, 0, 0), stat(11, 10, 0, 0), stat(12, 11, 1_200, 0), stat(1, 0, 5, 7)];
        let before = Everybody {
            programs: programs.into_iter().map(|stat| (stat.pid, stat)).collect(),
            ..Everybody::default()
        };
        let spent = before.spent(&[stat(10, 1, 0, 1_201), stat(1, 0, 6, 7)]);
        assert_eq!(spent, [(1, 1_000_000_000), (10, 1_000_000_000)].into());
        // Another process has the number of one that ended.
        let spent = before.spent(&[Stat { started: 2, ..stat(12, 1, 3, 0) }, stat(1, 0, 5, 1_207)]);
        assert_eq!(spent, [(1, 0), (12, 3_000_000_000)].into());
        // Who does not wait for its children has used what it has used.
        let spent = before.spent(&[stat(10, 1, 2, 0), stat(1, 0, 5, 7)]);
        assert_eq!(spent, [(1, 0), (10, 2_000_000_000)].into());
    }

    #[test]
    fn what_this_process_computes_is_not_the_kernels() {
        let everybody = Everybody::open(None);
        let began_ns = super::super::own_cpu_ns();
        while super::super::own_cpu_ns() < began_ns + 200_000_000 {}
        let used_ns = everybody.used(None).kernel_threads_ns;
        assert!(used_ns < 150_000_000, "{used_ns}");
        assert!(!everybody.kernel_threads.contains_key(&(std::process::id() as Pid)));
    }

    #[test]
    fn where_kernel_threads_are_shown_each_has_a_time() {
        assert_eq!(Everybody::open(None).kernel_threads.contains_key(&KTHREADD), is_kthreadd());
    }
}
