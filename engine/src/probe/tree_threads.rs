//! What a tree's threads have done, from one reading to the next: context switches, and time in run queues. Threads that
//! ended count up to their last reading; what they did after it is not known, and neither is a thread that began and
//! ended between two readings. The threads that were seen to begin or end are counted, to tell a few of them from most.

use std::collections::BTreeMap;
use std::fs;

use super::field;
use super::schedstat::{self, Used};
use super::thread_counts::ThreadCounts;
use crate::process_tree::Pid;

/// If more than one in this many of the seen threads ended, the switches are not known.
pub const ONE_IN: u64 = 10;

/// All threads at one time.
#[derive(Debug, Default)]
pub struct ThreadsRead {
    pub at_ns: u64,
    pub counts: BTreeMap<Pid, ThreadCounts>,
    /// Threads and processes that had begun on this machine, if the kernel counts them.
    pub begun: Option<u64>,
}

#[derive(Default)]
pub struct TreeThreads {
    present: BTreeMap<Pid, ThreadCounts>,
    /// What threads did that ended, up to their last reading.
    ended: ThreadCounts,
    window: Window,
}

/// The threads that began or ended since the measured phase began.
#[derive(Default)]
struct Window {
    seen: u64,
    ended: u64,
    began: u64,
    machine_before: Option<u64>,
    machine: Option<u64>,
}

impl TreeThreads {
    /// Begins the measured phase. Threads that ended before it do not count. `begun`: as of then.
    pub fn open(&mut self, begun: Option<u64>) {
        let seen = self.present.len() as u64;
        self.window = Window { seen, machine_before: begun, ..Window::default() };
    }

    /// Ends the measured phase.
    pub fn close(&mut self, begun: Option<u64>) {
        self.window.machine = begun;
    }

    /// Replaces what each thread has done by `read`.
    pub fn update(&mut self, read: BTreeMap<Pid, ThreadCounts>) {
        let before = std::mem::replace(&mut self.present, read);
        for (tid, counts) in &before {
            // If counts fell, they are those of another thread with the same id.
            if self.present.get(tid).is_none_or(|now| !now.may_follow(counts)) {
                self.ended += *counts;
                self.window.ended += 1;
            }
        }
        let began = self.present.keys().filter(|tid| !before.contains_key(tid)).count() as u64;
        self.window.began += began;
        self.window.seen += began;
    }

    /// Returns the voluntary and involuntary switches since each thread began, or `None` if none was read or too many of
    /// the threads ended.
    pub fn switches(&self) -> Option<(u64, u64)> {
        if self.present.is_empty() || self.window.ended * ONE_IN > self.window.seen {
            return None;
        }
        let counted = self.counted();
        Some((counted.voluntary, counted.involuntary))
    }

    /// Returns all switches that were counted, also if many of the threads ended; `None` if no thread was ever read.
    pub fn switches_at_least(&self) -> Option<u64> {
        let counted = self.counted();
        self.is_any_read().then_some(counted.voluntary + counted.involuntary)
    }

    /// Returns the CPU time and the time in run queues that were counted; `None` if no thread was ever read, or the
    /// kernel does not count them.
    pub fn used(&self) -> Option<Used> {
        (self.is_any_read() && schedstat::is_counted()).then(|| self.counted().used)
    }

    fn is_any_read(&self) -> bool {
        !self.present.is_empty() || self.window.seen > 0
    }

    fn counted(&self) -> ThreadCounts {
        let mut sum = self.ended;
        self.present.values().for_each(|one| sum += *one);
        sum
    }

    /// Returns what is not known of the measured phase.
    pub fn unread(&self) -> Option<String> {
        let Window { seen, ended, began, machine_before, machine } = self.window;
        if self.present.is_empty() && seen == 0 {
            return Some("no thread of the tree could be read".into());
        }
        if ended > 0 {
            return Some(format!(
                "{ended} of {seen} threads ended between two readings: what they did after the last one, and \
                 threads that nobody saw, are missing"
            ));
        }
        let unseen = machine?.saturating_sub(machine_before?).saturating_sub(began);
        (unseen * ONE_IN > seen).then(|| {
            format!(
                "{unseen} threads or processes began on this machine meanwhile that were not seen in the tree: \
                 those that were of it and ended between two readings are missing"
            )
        })
    }
}

/// Returns how many processes and threads have begun on this machine (`processes` in proc_stat(5)).
pub fn begun_on_this_machine() -> Option<u64> {
    field(&fs::read("/proc/stat").ok()?, "processes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread with its number and its switches. For each it was on a core for 1 µs, and in a run queue for 2 µs.
    fn threads(counts: &[(Pid, u64, u64)]) -> BTreeMap<Pid, ThreadCounts> {
        let used = |turns| Used { cpu_ns: 1_000 * turns, run_queue_ns: 2_000 * turns };
        counts
            .iter()
            .map(|&(tid, voluntary, involuntary)| {
                (tid, ThreadCounts { voluntary, involuntary, used: used(voluntary + involuntary) })
            })
            .collect()
    }

    /// Returns twenty threads that stay, and `more`.
    fn stable(more: &[(Pid, u64, u64)]) -> BTreeMap<Pid, ThreadCounts> {
        let mut all = threads(&(100..120).map(|tid| (tid, 1, 1)).collect::<Vec<_>>());
        all.extend(threads(more));
        all
    }

    #[test]
    fn threads_that_ended_stay_counted_up_to_their_last_reading() {
        let mut tree = TreeThreads::default();
        tree.update(stable(&[(1, 10, 2), (2, 30, 3)]));
        tree.update(stable(&[(1, 15, 2)]));
        assert_eq!(tree.switches(), Some((65, 25)));
        assert!(tree.unread().unwrap().contains("1 of 22 threads"), "{:?}", tree.unread());
    }

    #[test]
    fn a_number_that_a_new_thread_has_replaces_no_count() {
        let mut tree = TreeThreads::default();
        tree.update(stable(&[(1, 1_000, 20)]));
        tree.update(stable(&[(1, 3, 0)]));
        assert_eq!(tree.switches(), Some((1_023, 40)));
    }

    #[test]
    fn nothing_is_kept_of_a_thread_but_what_it_added_up_to() {
        let mut tree = TreeThreads::default();
        for tid in 1_000..2_000 {
            tree.update(stable(&[(tid, 1, 0)]));
        }
        assert_eq!(tree.present.len(), 21);
        let used = Used { cpu_ns: 999_000, run_queue_ns: 1_998_000 };
        assert_eq!(tree.ended, ThreadCounts { voluntary: 999, involuntary: 0, used });
    }

    #[test]
    fn where_threads_come_and_go_the_switches_are_not_known() {
        let mut tree = TreeThreads::default();
        tree.update(stable(&[]));
        tree.open(None);
        for tid in 1..=50 {
            tree.update(stable(&[(tid, 1, 0)]));
        }
        assert_eq!(tree.switches(), None);
        assert_eq!(tree.switches_at_least(), Some(20 * 2 + 50), "what was counted is known all the same");
        assert!(tree.unread().unwrap().contains("49 of 70 threads"), "{:?}", tree.unread());
    }

    #[test]
    fn of_threads_that_end_with_the_load_what_they_did_before_is_known() {
        let of = |each: u64| threads(&(0..50).map(|tid| (tid, each, 0)).collect::<Vec<_>>());
        let mut tree = TreeThreads::default();
        assert_eq!(tree.switches_at_least(), None);
        tree.update(of(100));
        tree.open(None);
        let before = tree.switches_at_least().unwrap();
        tree.update(of(900));
        tree.update(BTreeMap::new());
        assert_eq!((tree.switches(), tree.switches_at_least().unwrap() - before), (None, 50 * 800));
    }

    #[test]
    fn how_long_threads_waited_for_a_core_is_known_up_to_their_last_reading() {
        let mut tree = TreeThreads::default();
        assert_eq!(tree.used(), None, "nothing was read");
        tree.update(threads(&[(1, 10, 0), (2, 5, 0)]));
        tree.open(None);
        let before = tree.used().unwrap();
        tree.update(threads(&[(1, 11, 0), (2, 8, 0)]));
        tree.update(threads(&[(1, 12, 0), (3, 4, 0)]));
        assert_eq!(tree.used().unwrap() - before, Used { cpu_ns: 9_000, run_queue_ns: 18_000 });
    }

    #[test]
    fn what_came_and_went_in_the_warm_up_does_not_matter() {
        let mut tree = TreeThreads::default();
        for tid in 1..=50 {
            tree.update(stable(&[(tid, 1, 0)]));
        }
        tree.open(None);
        tree.update(stable(&[(50, 9, 0)]));
        assert_eq!(tree.switches(), Some((20 + 49 + 9, 20)));
        assert_eq!(tree.unread(), None);
    }

    #[test]
    fn threads_that_nobody_saw_are_told_of_where_the_machine_counts_them() {
        let mut tree = TreeThreads::default();
        tree.update(stable(&[]));
        tree.open(Some(7_000));
        assert_eq!(tree.unread(), None, "the phase goes on");
        tree.close(Some(7_002));
        assert_eq!(tree.unread(), None, "two of twenty are few");
        tree.close(Some(7_500));
        assert!(tree.unread().unwrap().contains("500 threads or processes"), "{:?}", tree.unread());
    }

    #[test]
    fn the_machine_counts_what_begins() {
        let before = begun_on_this_machine().unwrap();
        std::thread::spawn(|| ()).join().unwrap();
        assert!(begun_on_this_machine().unwrap() > before);
    }
}
