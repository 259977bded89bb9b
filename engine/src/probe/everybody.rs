//! Who uses CPU time beside the engine and the server. The kernel's own threads, such as those that write to a disk, do
//! what programs have asked for, the server among them. All else is another program's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::all_processes::{AllProcesses, pids};
use super::stat::{Stat, ns_per_tick};
use crate::process_tree::Pid;
use crate::record::OtherProgram;

/// The thread that starts all others of the kernel.
const KTHREADD: Pid = 2;
/// Of `flags` in `/proc/PID/stat`: it is a thread of the kernel (`PF_KTHREAD`).
const IS_KERNEL_THREAD: u64 = 0x0020_0000;
/// Of so many other programs the record has a line.
const PROGRAMS: usize = 5;

/// CPU time in ns at the beginning of the measured phase.
#[derive(Default)]
pub struct Everybody {
    kernel_threads: BTreeMap<Pid, u64>,
    /// Process and when it started → its time, with that of children that it has waited for.
    programs: BTreeMap<(Pid, u64), u64>,
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
            programs: programs.iter().map(|stat| ((stat.pid, stat.started), of(stat))).collect(),
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
        let (ours, served_by) = (name(std::process::id() as Pid), tree(server, &programs));
        let is_another = |pid| !self.served_by.contains(&pid) && !served_by.contains(&pid);
        let mut used: Vec<(u64, Pid)> = programs
            .iter()
            .map(|stat| (self.since(stat), stat.pid))
            .filter(|&(_, pid)| is_another(pid))
            .collect();
        used.sort_unstable_by_key(|&(cpu_ns, _)| Reverse(cpu_ns));
        let programs = used
            .into_iter()
            .take_while(|&(cpu_ns, _)| cpu_ns >= ns_per_tick())
            .filter_map(|(cpu_ns, pid)| Some(OtherProgram { pid, name: name(pid)?, cpu_ns }))
            // Another engine is the load's own: it sends light requests beside it.
            .filter(|program| Some(&program.name) != ours.as_ref())
            .take(PROGRAMS)
            .collect();
        Used { kernel_threads_ns, programs }
    }

    fn since(&self, stat: &Stat) -> u64 {
        let before_ns = self.programs.get(&(stat.pid, stat.started)).copied().unwrap_or_default();
        of(stat).saturating_sub(before_ns)
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

fn of(stat: &Stat) -> u64 {
    (stat.own + stat.children).total_ns()
}

fn name(pid: Pid) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

fn is_kthreadd() -> bool {
    let text = fs::read_to_string(format!("/proc/{KTHREADD}/stat")).unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = after_name.split_ascii_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
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
