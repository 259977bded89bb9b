//! The processes of a tree from one reading to the next, and the CPU time that the tree has used, including that of
//! processes that ended. Pure: what was read is passed in.
//!
//! A parent that waits for a child takes over its CPU time. A parent that ignores SIGCHLD, or that ended before the
//! child, does not. Then the CPU time of the child at its last reading is kept here, and what it used after that is
//! not known.

use std::collections::BTreeMap;

use super::stat::{Cpu, Stat, ns_per_tick};
use crate::process_tree::Pid;

#[derive(Default)]
pub struct Members {
    present: BTreeMap<Pid, Member>,
    /// Processes that ended and for which no present process can have waited.
    orphans: Account,
}

struct Member {
    last: Stat,
    /// The CPU time that it had from its children when it was first read.
    children_before: Cpu,
    /// Descendants that have ended since, and whose CPU time it is to take over.
    ended: Account,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    cpu: Cpu,
    processes: u64,
}

impl Account {
    fn add(&mut self, cpu: Cpu, processes: u64) {
        self.cpu += cpu;
        self.processes += processes;
    }
}

/// Processes that ended and whose CPU time no process took over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unaccounted {
    pub processes: u64,
    pub cpu_ns: u64,
}

impl Members {
    /// Replaces the tree by `read`. A process that is not in it has ended.
    pub fn update(&mut self, read: &[Stat]) {
        let mut before = std::mem::take(&mut self.present);
        for &stat in read {
            // Another process may have its id.
            let is_known = before.get(&stat.pid).is_some_and(|member| member.last.started == stat.started);
            let known = if is_known { before.remove(&stat.pid) } else { None };
            let member = known.map_or_else(
                || Member { last: stat, children_before: stat.children, ended: Account::default() },
                |member| Member { last: stat, ..member },
            );
            self.present.insert(stat.pid, member);
        }
        let parents: BTreeMap<Pid, Pid> =
            before.values().map(|gone| (gone.last.pid, gone.last.parent)).collect();
        for gone in before.into_values() {
            let heir = self.heir(gone.last.parent, &parents).and_then(|heir| self.present.get_mut(&heir));
            // A process that waits for it also takes over what it had taken over itself.
            heir.map_or(&mut self.orphans, |heir| &mut heir.ended).add(gone.last.own + gone.last.children, 1);
            let missing = gone.missing();
            self.orphans.add(missing.cpu, missing.processes);
        }
    }

    /// Returns the nearest ancestor that is still there, from `parent` on.
    fn heir(&self, mut parent: Pid, gone: &BTreeMap<Pid, Pid>) -> Option<Pid> {
        for _ in 0..=gone.len() {
            if self.present.contains_key(&parent) {
                return Some(parent);
            }
            parent = *gone.get(&parent)?;
        }
        None
    }

    /// Returns the CPU time of all processes, since each began.
    pub fn cpu(&self) -> Cpu {
        let (mut split, mut unsplit_ns) = (self.orphans.cpu, 0);
        for member in self.present.values() {
            split += member.last.children + member.missing().cpu;
            if member.last.is_split {
                split += member.last.own;
            } else {
                unsplit_ns += member.last.own.total_ns();
            }
        }
        split + Cpu::like(split, unsplit_ns)
    }

    pub fn present(&self) -> impl Iterator<Item = &Stat> {
        self.present.values().map(|member| &member.last)
    }

    /// Returns when the process with this id began, if it is in the tree.
    pub fn started(&self, pid: Pid) -> Option<u64> {
        self.present.get(&pid).map(|member| member.last.started)
    }

    pub fn unaccounted(&self) -> Unaccounted {
        let missing = self.present.values().map(Member::missing);
        missing.chain([self.orphans]).fold(Unaccounted::default(), |sum, account| Unaccounted {
            processes: sum.processes + account.processes,
            cpu_ns: sum.cpu_ns + account.cpu.total_ns(),
        })
    }
}

impl Member {
    /// Returns what its descendants that ended had used and it has not taken over. As ticks are coarse, a difference
    /// of one tick in either part counts as none.
    fn missing(&self) -> Account {
        let ended_ns = self.ended.cpu.total_ns();
        let taken_over_ns = (self.last.children - self.children_before).total_ns();
        let missing_ns = ended_ns.saturating_sub(taken_over_ns);
        if missing_ns <= 2 * ns_per_tick() {
            return Account::default();
        }
        let share = missing_ns as f64 / ended_ns as f64;
        let cpu = Cpu::like(self.ended.cpu, missing_ns);
        // How many processes this is, is not known. Take their share of the number, and one at least.
        Account { cpu, processes: ((self.ended.processes as f64 * share) as u64).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stat(pid: Pid, parent: Pid, own_ms: u64, children_ms: u64) -> Stat {
        let cpu = |ms: u64| Cpu { user_ns: ms * MS / 4 * 3, kernel_ns: ms * MS - ms * MS / 4 * 3 };
        let (own, children) = (cpu(own_ms), cpu(children_ms));
        Stat { pid, parent, started: 1, own, is_split: true, children, threads: 1, rss_bytes: 1 }
    }

    fn total_ms(members: &Members) -> u64 {
        members.cpu().total_ns() / MS
    }

    #[test]
    fn time_that_no_tick_has_split_is_split_as_that_of_the_others() {
        let mut members = Members::default();
        let many = (10..110).map(|pid| Stat { is_split: false, ..stat(pid, 1, 7, 0) });
        members.update(&[stat(1, 0, 40, 0)].into_iter().chain(many).collect::<Vec<_>>());
        // Three quarters of the known CPU time are user time.
        let all_ns = (40 + 100 * 7) * MS;
        assert_eq!(members.cpu(), Cpu { user_ns: all_ns / 4 * 3, kernel_ns: all_ns - all_ns / 4 * 3 });
    }

    #[test]
    fn a_child_that_is_waited_for_is_counted_once() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 100, 40), stat(2, 1, 300, 0)]);
        assert_eq!(total_ms(&members), 440);
        // The child used 50 ms more before it ended.
        members.update(&[stat(1, 0, 110, 40 + 350)]);
        assert_eq!((total_ms(&members), members.unaccounted()), (500, Unaccounted::default()));
    }

    #[test]
    fn a_child_whose_parent_ignores_its_end_stays_counted_and_is_told_of() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 100, 0), stat(2, 1, 300, 0), stat(3, 1, 50, 0)]);
        members.update(&[stat(1, 0, 100, 0)]);
        assert_eq!(total_ms(&members), 450);
        assert_eq!(members.unaccounted(), Unaccounted { processes: 2, cpu_ns: 350 * MS });
    }

    #[test]
    fn of_two_children_the_one_that_was_waited_for_is_not_missed() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 100, 0), stat(2, 1, 300, 0), stat(3, 1, 100, 0)]);
        members.update(&[stat(1, 0, 100, 300)]);
        assert_eq!(total_ms(&members), 500);
        assert_eq!(members.unaccounted(), Unaccounted { processes: 1, cpu_ns: 100 * MS });
    }

    #[test]
    fn a_parent_that_waits_late_takes_over_late() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 100, 0), stat(2, 1, 300, 0)]);
        // The parent was read. Then the child ended and was waited for, before it could be read.
        members.update(&[stat(1, 0, 100, 0)]);
        assert_eq!(total_ms(&members), 400);
        members.update(&[stat(1, 0, 100, 310)]);
        assert_eq!((total_ms(&members), members.unaccounted()), (410, Unaccounted::default()));
    }

    #[test]
    fn generations_that_end_between_two_readings_are_taken_over_by_whoever_is_left() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 10, 0), stat(2, 1, 200, 0), stat(3, 2, 400, 0)]);
        members.update(&[stat(1, 0, 10, 600)]);
        assert_eq!((total_ms(&members), members.unaccounted()), (610, Unaccounted::default()));
    }

    #[test]
    fn a_process_that_lost_its_parent_stays_counted_when_it_ends() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 10, 0), stat(2, 1, 200, 0), stat(3, 2, 400, 0)]);
        // The parent ended and was waited for. A process outside the tree inherits the child.
        members.update(&[stat(1, 0, 10, 200), stat(3, 77, 450, 0)]);
        assert_eq!((total_ms(&members), members.unaccounted()), (660, Unaccounted::default()));
        members.update(&[stat(1, 0, 10, 200)]);
        assert_eq!(total_ms(&members), 660);
        assert_eq!(members.unaccounted(), Unaccounted { processes: 1, cpu_ns: 450 * MS });
    }

    #[test]
    fn a_number_that_another_process_has_is_another_process() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 10, 0), stat(2, 1, 300, 0)]);
        let other = Stat { started: 9, ..stat(2, 1, 5, 0) };
        members.update(&[stat(1, 0, 10, 300), other]);
        assert_eq!((total_ms(&members), members.started(2)), (315, Some(9)));
    }

    #[test]
    fn hundreds_of_short_children_add_up() {
        let mut members = Members::default();
        members.update(&[stat(1, 0, 100, 0)]);
        for pid in 2..502 {
            members.update(&[stat(1, 0, 100, 0), stat(pid, 1, 2, 0)]);
        }
        members.update(&[stat(1, 0, 100, 0)]);
        assert_eq!(total_ms(&members), 1_100);
        assert_eq!(members.unaccounted(), Unaccounted { processes: 500, cpu_ns: 1_000 * MS });
    }
}
