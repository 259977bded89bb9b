//! Who uses CPU time beside the engine and the server. The kernel's own threads, such as those that write to a disk, do
//! what programs have asked for, the server among them. All else is another program's.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use super::all_processes::AllProcesses;
use super::ends::{Both, Ends};
use super::stat::{Stat, ns_per_tick};
use crate::process_tree::{Pid, after_name, name};
use crate::record::{AllProcessesWindow, OtherProgram};

/// The process that waits for those whose parents have ended.
const FIRST: Pid = 1;
/// The thread that starts all others of the kernel.
const KTHREADD: Pid = 2;
/// Of `flags` in `/proc/PID/stat`: it is a thread of the kernel (`PF_KTHREAD`).
const IS_KERNEL_THREAD: u64 = 0x0020_0000;
/// The record has a line for each of the eight other programs that used most. Those that serve a dependency are among them.
const PROGRAMS: usize = 8;

/// Returns what all processes used between both ends of the measured phase; those that began between them, from
/// their beginning. `server`: the root of its tree. `None`: they were not read at both ends.
pub fn used(ends: &Ends, server: Option<Pid>) -> Option<AllProcessesWindow> {
    let turns = ends.turns().iter().map(|both| used_in(both, server));
    let mut window = turns.reduce(AllProcessesWindow::and)?;
    window.span_ns = ends.span_ns()?;
    window.programs.sort_by_key(|program| Reverse(program.cpu_ns));
    window.programs.truncate(PROGRAMS);
    Some(window)
}

fn used_in(both: &Both, server: Option<Pid>) -> AllProcessesWindow {
    let (begun, ended) = (&both.begun.all, &both.ended.all);
    let spent = spent(begun, ended);
    let used_ns = |stat: &Stat| spent.get(&stat.pid).copied().unwrap_or_default();
    let root = server.into_iter().collect();
    let mut served_by = begun.with_descendants(&root);
    served_by.extend(ended.with_descendants(&root));
    let (kernel, mut programs) = apart(ended, is_kthreadd());
    programs.retain(|stat| !served_by.contains(&stat.pid) && used_ns(stat) >= ns_per_tick());
    let ours = Engines::of_this();
    let named = programs.into_iter().filter(|stat| !ours.has(stat)).filter_map(|stat| {
        Some(OtherProgram { pid: stat.pid, name: name(stat.pid)?, cpu_ns: used_ns(stat) })
    });
    AllProcessesWindow {
        span_ns: 0, // It is that of all turns.
        kernel_threads_ns: kernel.into_iter().map(used_ns).sum(),
        programs: named.collect(),
        cost_ns: both.cost_ns(),
    }
}

impl AllProcessesWindow {
    fn and(mut self, other: Self) -> Self {
        self.kernel_threads_ns += other.kernel_threads_ns;
        self.cost_ns += other.cost_ns;
        for program in other.programs {
            let is_same =
                |known: &&mut OtherProgram| (known.pid, &known.name) == (program.pid, &program.name);
            match self.programs.iter_mut().find(is_same) {
                Some(known) => known.cpu_ns += program.cpu_ns,
                None => self.programs.push(program),
            }
        }
        self
    }
}

/// Returns the threads of the kernel, and all processes that are none. In a namespace of process ids no thread of the kernel
/// is to be seen.
fn apart(all: &AllProcesses, has_kthreadd: bool) -> (Vec<&Stat>, Vec<&Stat>) {
    all.each().partition(|stat| has_kthreadd && (stat.pid == KTHREADD || stat.parent == KTHREADD))
}

/// Returns what each process that is there at the end has used since the beginning, with what its children did that ended.
///
/// When a parent has waited for a child, the kernel adds all that the child ever used to the parent. What it had used before
/// is left out. Process 1 waits for children of others, too, so only its own time counts.
fn spent(begun: &AllProcesses, ended: &AllProcesses) -> BTreeMap<Pid, u64> {
    let is_there = |before: &Stat| ended.get(before.pid).is_some_and(|stat| stat.started == before.started);
    let mut ended_ns: BTreeMap<Pid, u64> = BTreeMap::new();
    for stat in begun.each().filter(|stat| !is_there(stat)) {
        let (mut whose, mut left) = (Some(stat), begun.each().count());
        while let Some(gone) = whose.filter(|whose| !is_there(whose) && left > 0) {
            (whose, left) = (begun.get(gone.parent), left - 1);
        }
        if let Some(whose) = whose.filter(|_| left > 0) {
            *ended_ns.entry(whose.pid).or_default() += (stat.own + stat.children).total_ns();
        }
    }
    let used_ns = |stat: &Stat| {
        let before = begun.get(stat.pid).filter(|before| is_there(before)).copied().unwrap_or_default();
        let own_ns = (stat.own - before.own).total_ns();
        if stat.pid == FIRST {
            return own_ns;
        }
        let ended_ns = ended_ns.get(&stat.pid).copied().unwrap_or_default();
        own_ns + (stat.children - before.children).total_ns().saturating_sub(ended_ns)
    };
    ended.each().map(|stat| (stat.pid, used_ns(stat))).collect()
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

fn is_kthreadd() -> bool {
    let text = fs::read(format!("/proc/{KTHREADD}/stat")).unwrap_or_default();
    let flags = after_name(&text).and_then(|mut fields| fields.nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & IS_KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::super::rests::Rests;
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

    fn read() -> AllProcesses {
        AllProcesses::read(&mut Rests::none())
    }

    #[test]
    fn a_program_that_computes_is_named_unless_it_is_the_server() {
        let (begun, busy) = (read(), Busy::start());
        busy.computes(300_000_000);
        // Of a machine that others use, too, eight programs may have used more. Here are two, and this one.
        let busy_and_this = [busy.pid(), std::process::id() as Pid].into();
        let ended = AllProcesses::of(read().some(&busy_and_this));
        let ends = Ends::of(begun, ended);
        let programs = used(&ends, None).unwrap().programs;
        assert_eq!(programs.len(), 1, "{programs:?}");
        assert_eq!((programs[0].pid, programs[0].name.as_str()), (busy.pid(), "sh"));
        assert!(programs[0].cpu_ns >= 300_000_000, "{programs:?}");
        assert_eq!(used(&ends, Some(busy.pid())).unwrap().programs, []);
        assert_eq!(used(&Ends::default(), None), None);
    }

    #[test]
    fn only_what_is_used_meanwhile_counts() {
        let busy = Busy::start();
        busy.computes(300_000_000);
        let begun = read();
        let before_ns = Stat::read(busy.pid()).unwrap().own.total_ns();
        busy.computes(100_000_000);
        let ended = read();
        let used_ns = spent(&begun, &ended)[&busy.pid()];
        let now_ns = Stat::read(busy.pid()).unwrap().own.total_ns();
        assert!(used_ns >= 100_000_000 && used_ns <= now_ns - before_ns + 50_000_000, "{used_ns}");
    }

    fn stat(pid: Pid, parent: Pid, own_s: u64, children_s: u64) -> Stat {
        let cpu = |s: u64| super::super::stat::Cpu { user_ns: s * 1_000_000_000, kernel_ns: 0 };
        Stat { pid, parent, started: 1, own: cpu(own_s), children: cpu(children_s), ..Stat::default() }
    }

    #[test]
    fn what_a_child_had_used_before_is_not_its_parents() {
        // A backup of 20 minutes ends, and the shell that had started it waits for it: 1 s of it was meanwhile.
        let programs = [stat(10, 1, 0, 0), stat(11, 10, 0, 0), stat(12, 11, 1_200, 0), stat(1, 0, 5, 7)];
        let since = |now: &[Stat]| {
            let ended = AllProcesses::of(now.iter().copied());
            spent(&AllProcesses::of(programs), &ended)
        };
        assert_eq!(
            since(&[stat(10, 1, 0, 1_201), stat(1, 0, 6, 7)]),
            [(1, 1_000_000_000), (10, 1_000_000_000)].into()
        );
        // Another process has the number of one that ended.
        assert_eq!(
            since(&[Stat { started: 2, ..stat(12, 1, 3, 0) }, stat(1, 0, 5, 1_207)]),
            [(1, 0), (12, 3_000_000_000)].into()
        );
        // Who does not wait for its children has used what it has used.
        assert_eq!(since(&[stat(10, 1, 2, 0), stat(1, 0, 5, 7)]), [(1, 0), (10, 2_000_000_000)].into());
    }

    #[test]
    fn what_kernel_threads_use_is_apart_from_what_programs_do() {
        let begun = AllProcesses::of([stat(2, 0, 1, 0), stat(3, 2, 5, 0), stat(10, 1, 7, 0)]);
        let ended =
            AllProcesses::of([stat(2, 0, 1, 0), stat(3, 2, 9, 0), stat(4, 2, 1, 0), stat(10, 1, 8, 0)]);
        let pids = |stats: Vec<&Stat>| stats.into_iter().map(|stat| stat.pid).collect::<Vec<_>>();
        let (kernel, programs) = apart(&ended, true);
        assert_eq!((pids(kernel), pids(programs)), (vec![2, 3, 4], vec![10]));
        let (kernel, programs) = apart(&ended, false);
        assert_eq!((pids(kernel), pids(programs)), (vec![], vec![2, 3, 4, 10]));
        let expected_ns = if is_kthreadd() { 5_000_000_000 } else { 0 };
        assert_eq!(used(&Ends::of(begun, ended), None).unwrap().kernel_threads_ns, expected_ns);
    }

    #[test]
    fn this_process_is_no_thread_of_the_kernel_and_the_thread_that_starts_them_is_one() {
        let all = read();
        let is_among = |pid: Pid| apart(&all, is_kthreadd()).0.iter().any(|stat| stat.pid == pid);
        assert!(!is_among(std::process::id() as Pid));
        assert_eq!(is_among(KTHREADD), is_kthreadd());
    }
}
