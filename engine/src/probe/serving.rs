//! The CPU time that the processes which serve the server's dependencies used in the measured phase. Who these are is known
//! only afterwards, so all processes of the machine are read at both ends of the phase.
//!
//! A process serves a dependency if it holds the socket that listens there, or descends from one that does. Processes of
//! the server or of the engine do not count. If a process that listens has started the server or the engine, as the manager
//! of a session that opens sockets for others has, then its other descendants have nothing to do with the dependency: only
//! its own CPU time counts.

use std::collections::BTreeSet;

use super::all_processes::{AllProcesses, are_all_shown};
use super::ends::{Both, Ends};
use super::members::Members;
use super::schedstat::Used;
use super::stat::{Cpu, Stat, ns_per_tick};
use crate::process_tree::Pid;

/// Whose CPU time is asked for.
#[derive(Debug, Default)]
pub struct Asked {
    /// The processes that listen where the server's dependencies are.
    pub holders: BTreeSet<Pid>,
    /// The roots of the trees of server and engine.
    pub apart: BTreeSet<Pid>,
    /// Processes whose sockets could not be read.
    pub refused: BTreeSet<Pid>,
}

/// What some processes used in the measured phase.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub cpu_ns: u64,
    /// Those of them that used a tick or more, and are there at its end.
    pub pids: BTreeSet<Pid>,
    /// What those of their threads used that are there at its end; `None`: it is not known of one of them.
    pub by_threads: Option<Used>,
}

impl Ends {
    /// Returns what those used that serve, or `None` if it was not read at both ends.
    pub fn serving(&self, asked: &Asked) -> Option<Spent> {
        self.turns().iter().map(|both| both.serving(asked)).reduce(Spent::and)
    }

    /// Returns what those used, at most, whose sockets could not be read, or `None` if that is not known.
    pub fn refused(&self, asked: &Asked) -> Option<Spent> {
        let of = |both: &Both| {
            both.spent(&both.begun.all.some(&asked.refused), &both.ended.all.some(&asked.refused))
        };
        are_all_shown().then(|| self.turns().iter().map(of).reduce(Spent::and))?
    }
}

impl Spent {
    fn and(mut self, other: Self) -> Self {
        self.cpu_ns += other.cpu_ns;
        self.pids.extend(other.pids);
        self.by_threads = self.by_threads.zip(other.by_threads).map(|(mut one, other)| {
            one += other;
            one
        });
        self
    }
}

impl Both {
    fn serving(&self, asked: &Asked) -> Spent {
        let (begun, ended) = (&self.begun.all, &self.ended.all);
        let apart = ended.with_descendants(&asked.apart);
        let above: BTreeSet<Pid> = asked.apart.iter().flat_map(|&root| ended.ancestors(root)).collect();
        let holders: BTreeSet<Pid> = asked.holders.difference(&apart).copied().collect();
        let (alone, roots): (BTreeSet<Pid>, BTreeSet<Pid>) =
            holders.into_iter().partition(|pid| above.contains(pid));
        let mut tree = begun.with_descendants(&roots);
        tree.extend(ended.with_descendants(&roots));
        let tree = tree.difference(&apart).copied().collect();
        let of = |all: &AllProcesses| {
            let own = all.some(&alone).into_iter().map(|stat| Stat { children: Cpu::default(), ..stat });
            [all.some(&tree), own.collect()].concat()
        };
        self.spent(&of(begun), &of(ended))
    }

    /// Returns what processes used from one reading to the other.
    fn spent(&self, begun: &[Stat], ended: &[Stat]) -> Spent {
        let mut members = Members::default();
        members.update(begun);
        let before_ns = members.cpu().total_ns();
        members.update(ended);
        let cpu_ns = members.cpu().total_ns().saturating_sub(before_ns);
        let total_ns = |stat: &Stat| (stat.own + stat.children).total_ns();
        let used_ns = |stat: &Stat| {
            let before = begun.iter().find(|before| (before.pid, before.started) == (stat.pid, stat.started));
            total_ns(stat).saturating_sub(before.map_or(0, total_ns))
        };
        let pids = ended.iter().filter(|stat| used_ns(stat) >= ns_per_tick()).map(|stat| stat.pid).collect();
        let by_threads = ended.iter().try_fold(Used::default(), |mut sum, stat| {
            sum += self.used_by_threads(stat.pid)?;
            Some(sum)
        });
        Spent { cpu_ns, pids, by_threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A process: id, parent, CPU time in ms, and that of its children that have ended.
    type Row = (Pid, Pid, u64, u64);

    fn all(rows: &[Row]) -> AllProcesses {
        let cpu = |ms: u64| Cpu { user_ns: ms * MS, kernel_ns: 0 };
        AllProcesses::of(rows.iter().map(|&(pid, parent, own_ms, children_ms)| Stat {
            pid,
            parent,
            started: pid as u64,
            own: cpu(own_ms),
            is_split: true,
            children: cpu(children_ms),
            threads: 1,
            rss_bytes: 1,
        }))
    }

    /// The CPU time in ms of those that serve. The server is process 10, the engine 20.
    fn serving_ms(begun: &[Row], ended: &[Row], holders: &[Pid]) -> u64 {
        let ends = Ends::of(all(begun), all(ended));
        let asked =
            Asked { holders: holders.iter().copied().collect(), apart: [10, 20].into(), ..Asked::default() };
        ends.serving(&asked).unwrap().cpu_ns / MS
    }

    #[test]
    fn of_a_listener_and_its_descendants_all_is_counted_that_they_used_meanwhile() {
        let begun = [(1, 0, 5, 0), (10, 1, 0, 0), (20, 1, 0, 0), (30, 1, 100, 40), (31, 30, 50, 0)];
        // One has ended and was waited for, one began, and a burner is nobody's.
        let ended = [
            (1, 0, 9, 0),
            (10, 1, 70, 0),
            (20, 1, 70, 0),
            (30, 1, 130, 120),
            (32, 30, 7, 0),
            (40, 1, 900, 0),
        ];
        assert_eq!(serving_ms(&begun, &ended, &[30]), 30 + (120 - 40 - 50) + 7);
        assert_eq!(serving_ms(&begun, &ended, &[]), 0);
    }

    #[test]
    fn those_that_used_something_are_named() {
        let begun = [(10, 1, 0, 0), (20, 1, 0, 0), (30, 1, 100, 40), (31, 30, 50, 0), (32, 30, 7, 0)];
        let ended = [(10, 1, 70, 0), (20, 1, 70, 0), (30, 1, 100, 40), (31, 30, 90, 0), (32, 30, 7, 0)];
        let ends = Ends::of(all(&begun), all(&ended));
        let asked = Asked { holders: [30].into(), apart: [10, 20].into(), ..Asked::default() };
        assert_eq!(ends.serving(&asked).unwrap().pids, [31].into());
    }

    #[test]
    fn the_servers_and_the_engines_own_processes_do_not_serve() {
        let begun = [(1, 0, 0, 0), (10, 1, 0, 0), (11, 10, 0, 0), (20, 1, 0, 0)];
        let ended = [(1, 0, 0, 0), (10, 1, 50, 0), (11, 10, 60, 0), (20, 1, 70, 0)];
        assert_eq!(serving_ms(&begun, &ended, &[10, 11, 20]), 0);
    }

    #[test]
    fn of_a_listener_that_has_started_the_server_only_its_own_time_counts() {
        let begun = [(5, 1, 10, 100), (10, 5, 0, 0), (20, 1, 0, 0), (40, 5, 0, 0)];
        let ended = [(5, 1, 14, 400), (10, 5, 50, 0), (20, 1, 50, 0), (40, 5, 900, 0)];
        assert_eq!(serving_ms(&begun, &ended, &[5]), 4);
    }

    #[test]
    fn a_later_process_with_the_same_id_is_another() {
        let asked = Asked { holders: [30].into(), ..Asked::default() };
        assert_eq!(Ends::default().serving(&asked), None);
        let mut later = all(&[(30, 1, 20, 0)]).some(&[30].into());
        later[0].started += 1;
        let ends = Ends::of(all(&[(30, 1, 500, 0)]), AllProcesses::of(later));
        // That of the earlier one after its last reading is not known.
        assert_eq!(
            ends.serving(&asked),
            Some(Spent { cpu_ns: 20 * MS, pids: [30].into(), by_threads: None })
        );
    }

    #[test]
    fn those_that_cannot_be_read_used_so_much_at_most() {
        let begun = all(&[(1, 0, 10, 0), (50, 1, 20, 0)]);
        let ends = Ends::of(begun, all(&[(1, 0, 10, 0), (50, 1, 90, 0), (60, 1, 300, 0)]));
        let asked = Asked { refused: [1, 50].into(), ..Asked::default() };
        let expected =
            are_all_shown().then(|| Spent { cpu_ns: 70 * MS, pids: [50].into(), by_threads: None });
        assert_eq!(ends.refused(&asked), expected);
    }
}
