//! Context switches of a tree's threads from one reading to the next, including those of threads that ended. What a
//! thread did after its last reading is not known, and neither is a thread that began and ended between two readings.
//! The threads that were seen to begin or end are counted, to tell a few of them from most.

use std::collections::BTreeMap;
use std::fs;

use super::field;
use crate::process_tree::Pid;

/// If more than one in this many of the seen threads ended, the switches are not known.
pub const ONE_IN: u64 = 10;

/// Voluntary and involuntary switches.
pub type Counts = (u64, u64);

#[derive(Default)]
pub struct Switches {
    present: BTreeMap<Pid, Counts>,
    /// Switches of threads that ended, up to their last reading.
    ended: Counts,
    window: Window,
}

/// The threads that began or ended since the measured phase began.
#[derive(Default)]
struct Window {
    seen: u64,
    ended: u64,
    began: u64,
    /// Threads and processes that had begun on this machine, if the kernel counts them.
    machine_before: Option<u64>,
    machine: Option<u64>,
}

impl Switches {
    /// Begins the measured phase. Threads that ended before it do not count.
    pub fn open(&mut self) {
        let machine_before = begun_on_this_machine();
        self.window = Window { seen: self.present.len() as u64, machine_before, ..Window::default() };
    }

    /// Ends the measured phase.
    pub fn close(&mut self) {
        self.window.machine = begun_on_this_machine();
    }

    /// Replaces the switches of each thread by `read`.
    pub fn update(&mut self, read: BTreeMap<Pid, Counts>) {
        let before = std::mem::replace(&mut self.present, read);
        for (tid, counts) in &before {
            let now = self.present.get(tid);
            // If counts fell, they are those of another thread with the same id.
            if now.is_none_or(|now| now.0 < counts.0 || now.1 < counts.1) {
                self.ended = (self.ended.0 + counts.0, self.ended.1 + counts.1);
                self.window.ended += 1;
            }
        }
        let began = self.present.keys().filter(|tid| !before.contains_key(tid)).count() as u64;
        self.window.began += began;
        self.window.seen += began;
    }

    /// Returns the switches since each thread began, or `None` if none was read or too many of the threads ended.
    pub fn total(&self) -> Option<Counts> {
        if self.present.is_empty() || self.window.ended * ONE_IN > self.window.seen {
            return None;
        }
        Some(self.counted())
    }

    /// Returns all that were counted, also if many of the threads ended; `None` if no thread was ever read.
    pub fn at_least(&self) -> Option<u64> {
        let (voluntary, involuntary) = self.counted();
        (!self.present.is_empty() || self.window.seen > 0).then_some(voluntary + involuntary)
    }

    fn counted(&self) -> Counts {
        self.present.values().fold(self.ended, |sum, one| (sum.0 + one.0, sum.1 + one.1))
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

/// Adds the switches of each thread of `process` to `read`.
pub fn read(process: Pid, read: &mut BTreeMap<Pid, Counts>) {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return; // The process has ended in the meantime.
    };
    for thread in threads.flatten() {
        let tid = thread.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some(tid), Ok(text)) = (tid, fs::read(thread.path().join("status"))) {
            let voluntary = field(&text, "voluntary_ctxt_switches:");
            let involuntary = field(&text, "nonvoluntary_ctxt_switches:");
            read.extend(voluntary.zip(involuntary).map(|counts| (tid, counts)));
        }
    }
}

/// Returns how many processes and threads have begun on this machine (`processes` in proc_stat(5)).
pub fn begun_on_this_machine() -> Option<u64> {
    field(&fs::read("/proc/stat").ok()?, "processes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(counts: &[(Pid, u64, u64)]) -> BTreeMap<Pid, Counts> {
        counts.iter().map(|&(tid, voluntary, involuntary)| (tid, (voluntary, involuntary))).collect()
    }

    /// Returns twenty threads that stay, and `more`.
    fn stable(more: &[(Pid, u64, u64)]) -> BTreeMap<Pid, Counts> {
        let mut all = threads(&(100..120).map(|tid| (tid, 1, 1)).collect::<Vec<_>>());
        all.extend(threads(more));
        all
    }

    #[test]
    fn threads_that_ended_stay_counted_up_to_their_last_reading() {
        let mut switches = Switches::default();
        switches.update(stable(&[(1, 10, 2), (2, 30, 3)]));
        switches.update(stable(&[(1, 15, 2)]));
        assert_eq!(switches.total(), Some((65, 25)));
        assert!(switches.unread().unwrap().contains("1 of 22 threads"), "{:?}", switches.unread());
    }

    #[test]
    fn a_number_that_a_new_thread_has_replaces_no_count() {
        let mut switches = Switches::default();
        switches.update(stable(&[(1, 1_000, 20)]));
        switches.update(stable(&[(1, 3, 0)]));
        assert_eq!(switches.total(), Some((1_023, 40)));
    }

    #[test]
    fn nothing_is_kept_of_a_thread_but_what_it_added_up_to() {
        let mut switches = Switches::default();
        for tid in 1_000..2_000 {
            switches.update(stable(&[(tid, 1, 0)]));
        }
        assert_eq!(switches.present.len(), 21);
        assert_eq!(switches.ended, (999, 0));
    }

    #[test]
    fn where_threads_come_and_go_the_switches_are_not_known() {
        let mut switches = Switches::default();
        switches.update(stable(&[]));
        switches.open();
        for tid in 1..=50 {
            switches.update(stable(&[(tid, 1, 0)]));
        }
        assert_eq!(switches.total(), None);
        assert_eq!(switches.at_least(), Some(20 * 2 + 50), "what was counted is known all the same");
        assert!(switches.unread().unwrap().contains("49 of 70 threads"), "{:?}", switches.unread());
    }

    #[test]
    fn of_threads_that_end_with_the_load_what_they_did_before_is_known() {
        let of = |each: u64| threads(&(0..50).map(|tid| (tid, each, 0)).collect::<Vec<_>>());
        let mut switches = Switches::default();
        assert_eq!(switches.at_least(), None);
        switches.update(of(100));
        switches.open();
        let before = switches.at_least().unwrap();
        switches.update(of(900));
        switches.update(BTreeMap::new());
        assert_eq!((switches.total(), switches.at_least().unwrap() - before), (None, 50 * 800));
    }

    #[test]
    fn what_came_and_went_in_the_warm_up_does_not_matter() {
        let mut switches = Switches::default();
        for tid in 1..=50 {
            switches.update(stable(&[(tid, 1, 0)]));
        }
        switches.open();
        switches.update(stable(&[(50, 9, 0)]));
        assert_eq!(switches.total(), Some((20 + 49 + 9, 20)));
        assert_eq!(switches.unread(), None);
    }

    #[test]
    fn threads_that_nobody_saw_are_told_of_where_the_machine_counts_them() {
        let mut switches = Switches::default();
        switches.update(stable(&[]));
        switches.open();
        switches.close();
        let before = switches.window.machine_before.unwrap();
        switches.window.machine = Some(before + 2);
        assert_eq!(switches.unread(), None, "two of twenty are few");
        switches.window.machine = Some(before + 500);
        assert!(switches.unread().unwrap().contains("500 threads or processes"), "{:?}", switches.unread());
    }

    #[test]
    fn the_machine_counts_what_begins() {
        let before = begun_on_this_machine().unwrap();
        std::thread::spawn(|| ()).join().unwrap();
        assert!(begun_on_this_machine().unwrap() > before);
    }
}
