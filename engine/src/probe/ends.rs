//! All processes of the machine at both ends of the measured phase. They are read once for all that asks for them: which
//! of them serve the server's dependencies is known only afterwards, and so is who else used the machine.
//!
//! How long threads were ready to run and did not run is in a file of each thread. These files are read only of processes
//! that have run since the reading before: those of all others say what they said then.

use std::collections::{BTreeMap, BTreeSet};

use super::all_processes::AllProcesses;
use super::rests::Rests;
use super::schedstat::Used;
use super::stat::Stat;
use super::{own_cpu_ns, task_files};
use crate::process_tree::Pid;

/// A reading spends 0.1 s of CPU time on threads at most. What the threads of the remaining processes used is not known.
const THREADS_NS: u64 = 100_000_000;

/// Both readings of each turn that was measured.
#[derive(Default)]
pub struct Ends {
    begun: Option<End>,
    turns: Vec<Both>,
}

/// The readings at both ends of what was measured.
pub struct Both {
    pub begun: End,
    pub ended: End,
}

/// A reading.
#[derive(Default)]
pub struct End {
    pub all: AllProcesses,
    /// What each thread of a process has used, of those processes of which that was read.
    threads: BTreeMap<Pid, BTreeMap<Pid, Used>>,
    cost_ns: u64,
}

impl End {
    pub fn read(rests: &mut Rests) -> Self {
        let began_cpu_ns = own_cpu_ns();
        let all = AllProcesses::read(rests);
        Self { all, threads: BTreeMap::new(), cost_ns: own_cpu_ns() - began_cpu_ns }
    }

    /// Reads what threads have used as well, of all processes but those of the trees of `apart`. `before`: the reading
    /// before.
    pub fn with_threads(mut self, before: &Self, apart: &BTreeSet<Pid>, rests: &mut Rests) -> Self {
        let began_cpu_ns = own_cpu_ns();
        let apart = self.all.with_descendants(apart);
        for stat in self.all.each().filter(|stat| !apart.contains(&stat.pid)) {
            let known = before.threads.get(&stat.pid).filter(|_| before.has_not_run(stat)).cloned();
            let is_time = || own_cpu_ns() - began_cpu_ns < THREADS_NS;
            let used = known.or_else(|| is_time().then(|| threads_of(stat.pid, rests)));
            self.threads.extend(used.map(|used| (stat.pid, used)));
        }
        self.cost_ns += own_cpu_ns() - began_cpu_ns;
        self
    }

    /// Returns whether this process was there at this reading, and has not run since.
    fn has_not_run(&self, later: &Stat) -> bool {
        self.get(later).is_some_and(|stat| stat.own.total_ns() == later.own.total_ns())
    }

    /// Returns this process as it was at this reading, if it was there.
    fn get(&self, later: &Stat) -> Option<&Stat> {
        self.all.get(later.pid).filter(|stat| stat.started == later.started)
    }
}

fn threads_of(pid: Pid, rests: &mut Rests) -> BTreeMap<Pid, Used> {
    let tids = task_files::threads(pid).unwrap_or_default(); // It may have ended in the meantime.
    let used = tids.into_iter().filter_map(|tid| {
        rests.take();
        Some((tid, task_files::used(pid, tid).ok()?.unwrap_or_default()))
    });
    used.collect()
}

impl Ends {
    #[cfg(test)]
    pub fn of(begun: AllProcesses, ended: AllProcesses) -> Self {
        let end = |all| End { all, ..End::default() };
        Self { begun: None, turns: vec![Both { begun: end(begun), ended: end(ended) }] }
    }

    pub fn begin(&mut self, end: End) {
        self.begun = Some(end);
    }

    pub fn begun(&self) -> Option<&End> {
        self.begun.as_ref()
    }

    pub fn close(&mut self, ended: End) {
        self.turns.extend(self.begun.take().map(|begun| Both { begun, ended }));
    }

    pub fn turns(&self) -> &[Both] {
        &self.turns
    }

    /// Returns how long it is from one reading to the other, over all turns; `None`: nothing was read at both ends.
    pub fn span_ns(&self) -> Option<u64> {
        let span_ns = |both: &Both| both.ended.all.at_ns.saturating_sub(both.begun.all.at_ns);
        (!self.turns.is_empty()).then(|| self.turns.iter().map(span_ns).sum())
    }
}

impl Both {
    /// Returns the CPU time of both readings.
    pub fn cost_ns(&self) -> u64 {
        self.begun.cost_ns + self.ended.cost_ns
    }

    /// Returns what the threads of this process used that are there at the end, or `None` if it is not known.
    pub fn used_by_threads(&self, pid: Pid) -> Option<Used> {
        let Self { begun, ended } = self;
        let stat = ended.all.get(pid)?;
        let none = BTreeMap::new();
        let before = begun.get(stat).map_or(Some(&none), |_| begun.threads.get(&pid))?;
        let mut sum = Used::default();
        for (tid, &after) in ended.threads.get(&pid)? {
            // If it has used less than the one before, it is another thread with the same id.
            let same = before.get(tid).filter(|before| before.cpu_ns <= after.cpu_ns);
            sum += after - same.copied().unwrap_or_default();
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).ok();
        }
    }

    fn busy_on(core: usize) -> Busy {
        let busy = Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(Some(rustix::process::Pid::from_child(&busy.0)), &set).unwrap();
        busy
    }

    fn read(before: &End) -> End {
        End::read(&mut Rests::none()).with_threads(before, &BTreeSet::new(), &mut Rests::none())
    }

    #[test]
    fn how_long_a_process_waited_for_its_core_is_known_if_others_have_it() {
        let core = (0..1_024).find(|&core| sched_getaffinity(None).unwrap().is_set(core)).unwrap();
        let three: Vec<Busy> = (0..3).map(|_| busy_on(core)).collect();
        let pid = three[0].0.id() as Pid;
        let cpu_ns = |end: &End| end.all.get(pid).unwrap().own.total_ns();
        let before = read(&End::default());
        let mut ends = Ends::default();
        ends.begin(read(&before));
        let from_ns = cpu_ns(ends.begun().unwrap());
        let ended = loop {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let end = read(ends.begun().unwrap());
            if cpu_ns(&end) > from_ns + 200_000_000 {
                break end;
            }
        };
        let spent_ns = cpu_ns(&ended) - from_ns;
        ends.close(ended);
        let used = ends.turns[0].used_by_threads(pid).unwrap();
        assert!(used.cpu_ns.abs_diff(spent_ns) < 50_000_000, "{used:?} of {spent_ns}");
        // Two others have the core twice as long, and the kernel counts a wait when it ends.
        assert!(used.run_queue_ns > spent_ns, "{used:?} of {spent_ns}");
        assert!(used.run_queue_ns <= ends.span_ns().unwrap(), "{used:?}");
    }

    fn end(processes: &[(Pid, u64)], threads: &[(Pid, &[(Pid, u64)])]) -> End {
        let cpu = |ns| super::super::stat::Cpu { user_ns: ns, kernel_ns: 0 };
        let stat =
            |&(pid, own_ns): &(Pid, u64)| Stat { pid, started: 1, own: cpu(own_ns), ..Stat::default() };
        let used = |&(tid, ns): &(Pid, u64)| (tid, Used { cpu_ns: ns, run_queue_ns: 2 * ns });
        End {
            all: AllProcesses::of(processes.iter().map(stat)),
            threads: threads.iter().map(|(pid, of)| (*pid, of.iter().map(used).collect())).collect(),
            cost_ns: 1,
        }
    }

    #[test]
    fn threads_count_from_the_first_reading_on_and_those_that_came_since_from_their_beginning() {
        let mut ends = Ends::default();
        ends.begin(end(&[(5, 100), (6, 1)], &[(5, &[(5, 60), (51, 40), (52, 9)]), (6, &[(6, 1)])]));
        // Thread 51 has ended, and another one has the number of 52.
        ends.close(end(&[(5, 180), (7, 30)], &[(5, &[(5, 90), (52, 3), (53, 20)]), (7, &[(7, 30)])]));
        let both = &ends.turns[0];
        let used = |cpu_ns| Some(Used { cpu_ns, run_queue_ns: 2 * cpu_ns });
        assert_eq!(both.used_by_threads(5), used(30 + 3 + 20));
        assert_eq!((both.used_by_threads(7), both.used_by_threads(6)), (used(30), None));
        assert_eq!(both.cost_ns(), 2);
    }

    #[test]
    fn of_a_process_whose_threads_were_not_read_it_is_not_known() {
        let mut ends = Ends::default();
        ends.begin(end(&[(5, 100)], &[]));
        ends.close(end(&[(5, 180)], &[(5, &[(5, 90)])]));
        assert_eq!(ends.turns[0].used_by_threads(5), None);
    }

    #[test]
    fn only_of_what_has_run_since_threads_are_read_again() {
        // There are no such processes: whatever is read of their threads is empty.
        let (asleep, runs) = (i32::MAX - 1, i32::MAX);
        let before = end(&[(asleep, 7), (runs, 7)], &[(asleep, &[(1, 7)]), (runs, &[(2, 7)])]);
        let apart = BTreeSet::new();
        let later = end(&[(asleep, 7), (runs, 8)], &[]).with_threads(&before, &apart, &mut Rests::none());
        assert_eq!(later.threads[&asleep], before.threads[&asleep]);
        assert_eq!(later.threads[&runs], BTreeMap::new());
        let apart = [asleep].into();
        let later = end(&[(asleep, 7), (runs, 8)], &[]).with_threads(&before, &apart, &mut Rests::none());
        assert_eq!(later.threads.keys().collect::<Vec<_>>(), [&runs]);
    }
}
