//! The threads of a tree from one round of readings to the next, and what each of them used in the measured phase. Pure:
//! what was read is passed in.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::schedstat::Used;
use super::thread_names::ThreadNames;
use crate::process_tree::Pid;

/// How many threads are told apart in the record.
const TOLD_APART: usize = 64;

/// A thread as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub pid: Pid,
    pub tid: Pid,
    pub name: String,
    /// In ticks since the machine started.
    pub started: u64,
    pub used: Used,
}

/// What a thread used in the measured phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    pub pid: Pid,
    pub tid: Pid,
    pub name: String,
    pub used: Used,
    /// The number of the place where it was found asleep most often.
    pub place: Option<usize>,
    pub has_ended: bool,
}

/// All threads over the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Those that were there when the phase began.
    pub at_first: u64,
    /// Those that began within the phase and were seen.
    pub born: u64,
    /// Those that had begun before the phase and were seen only later.
    pub seen_late: u64,
    /// Those that ended within the phase, of all that were seen.
    pub ended: u64,
    /// What those used that are still there.
    pub used: Used,
    /// What the others used, up to their last reading.
    pub ended_used: Used,
}

#[derive(Default)]
pub struct TaskMembers {
    present: BTreeMap<Pid, Member>,
    round: u64,
    window: Option<Window>,
}

struct Member {
    last: Thread,
    /// What it had used when the measured phase began, without what it used in an earlier turn of it.
    before: Used,
    /// What it had used in the measured phase when that was paused.
    paused: Option<Used>,
    /// The round in which it was read last.
    seen: u64,
    /// How often it was found asleep, by the number of the place.
    places: Vec<(usize, u64)>,
}

/// The measured phase so far.
struct Window {
    opened_ticks: u64,
    is_paused: bool,
    sums: Sums,
    /// Of the threads that ended, those that used most.
    ended: Vec<Spent>,
    /// What these used, by name.
    ended_names: ThreadNames,
}

impl TaskMembers {
    pub fn begin_round(&mut self) {
        self.round += 1;
    }

    /// Takes a thread that was read in the present round.
    pub fn see(&mut self, thread: Thread) {
        if let Some(member) = self.present.get_mut(&thread.tid) {
            if member.is(&thread) {
                (member.last, member.seen) = (thread, self.round);
                return;
            }
            self.end(thread.tid); // The id is another thread's by now.
        }
        let before = self.window.as_mut().map_or_else(Used::default, |window| window.before(&thread));
        let paused = self.window.as_ref().is_some_and(|window| window.is_paused).then(Used::default);
        let member = Member { before, paused, seen: self.round, places: Vec::new(), last: thread };
        self.present.insert(member.last.tid, member);
    }

    /// Takes a thread that has ended and can still be read.
    pub fn see_end(&mut self, thread: Thread) {
        if let Some(member) = self.present.get_mut(&thread.tid) {
            if member.is(&thread) {
                member.last = thread.clone();
            }
            self.end(thread.tid);
        }
    }

    /// Keeps those threads of a process, or the one thread, that could not be read in the present round.
    pub fn keep(&mut self, which: impl Fn(&Thread) -> bool) {
        let kept = self.present.values_mut().filter(|member| which(&member.last));
        kept.for_each(|member| member.seen = self.round);
    }

    /// Ends the round: threads that were neither seen nor kept in it have ended.
    pub fn end_round(&mut self) {
        let gone = self.present.iter().filter(|(_, member)| member.seen != self.round);
        let gone: Vec<Pid> = gone.map(|(&tid, _)| tid).collect();
        gone.into_iter().for_each(|tid| self.end(tid));
    }

    /// Begins the measured phase with the threads that are there, or goes on with it after a pause. `opened_ticks`: when
    /// that was, as `Thread::started` counts.
    pub fn open(&mut self, opened_ticks: u64) {
        let present = self.present.len() as u64;
        if let Some(window) = &mut self.window {
            for member in self.present.values_mut() {
                member.before = member.last.used - member.paused.take().unwrap_or_default();
            }
            (window.opened_ticks, window.is_paused) = (opened_ticks, false);
            window.sums.at_first = window.sums.at_first.max(present);
            return;
        }
        for member in self.present.values_mut() {
            member.before = member.last.used;
            member.places.clear();
        }
        let sums = Sums { at_first: present, ..Sums::default() };
        let (ended, ended_names) = (Vec::new(), ThreadNames::default());
        self.window = Some(Window { opened_ticks, is_paused: false, sums, ended, ended_names });
    }

    /// Ends a turn of the measured phase. What threads do until it goes on does not count.
    pub fn pause(&mut self) {
        let Some(window) = &mut self.window else {
            return;
        };
        window.is_paused = true;
        self.present.values_mut().for_each(|member| member.paused = Some(member.used()));
    }

    /// Takes note that a thread was found asleep at the place of this number.
    pub fn sleeps(&mut self, tid: Pid, place: usize) {
        let Some(member) = self.present.get_mut(&tid) else {
            return;
        };
        match member.places.iter_mut().find(|(other, _)| *other == place) {
            Some((_, looks)) => *looks += 1,
            None => member.places.push((place, 1)),
        }
    }

    /// Returns whether this thread was seen before.
    pub fn knows(&self, thread: &Thread) -> bool {
        self.present.get(&thread.tid).is_some_and(|member| member.is(thread))
    }

    pub fn get(&self, tid: Pid) -> Option<&Thread> {
        self.present.get(&tid).map(|member| &member.last)
    }

    pub fn tids(&self) -> impl ExactSizeIterator<Item = Pid> {
        self.present.keys().copied()
    }

    /// Returns what all threads came to in the measured phase, and those that used most, by what they used. The present
    /// round must have ended.
    pub fn close(&self) -> Option<(Sums, Vec<Spent>)> {
        let window = self.window.as_ref()?;
        let mut sums = window.sums;
        self.present.values().for_each(|member| sums.used += member.used());
        let there = self.present.values().map(|member| member.spent(false));
        Some((sums, dearest(there.chain(window.ended.iter().cloned()).collect())))
    }

    /// Returns what the threads used in the measured phase, by their names. The present round must have ended.
    pub fn by_name(&self) -> ThreadNames {
        let mut names =
            self.window.as_ref().map_or_else(ThreadNames::default, |each| each.ended_names.clone());
        self.present.values().for_each(|member| names.take(&member.last.name, member.used().cpu_ns));
        names
    }

    fn end(&mut self, tid: Pid) {
        if let Some(member) = self.present.remove(&tid)
            && let Some(window) = &mut self.window
        {
            window.end(&member);
        }
    }
}

impl Member {
    /// Returns whether `thread` is this one, later. If it had used less, it would be another.
    fn is(&self, thread: &Thread) -> bool {
        let Thread { pid, started, used, .. } = self.last;
        (pid, started) == (thread.pid, thread.started)
            && used.cpu_ns <= thread.used.cpu_ns
            && used.run_queue_ns <= thread.used.run_queue_ns
    }

    fn used(&self) -> Used {
        self.paused.unwrap_or_else(|| self.last.used - self.before)
    }

    fn spent(&self, has_ended: bool) -> Spent {
        let Thread { pid, tid, ref name, .. } = self.last;
        let most = self.places.iter().max_by_key(|&&(place, looks)| (looks, Reverse(place)));
        let place = most.map(|&(place, _)| place);
        Spent { pid, tid, name: name.clone(), used: self.used(), place, has_ended }
    }
}

impl Window {
    /// Returns what a thread that is seen for the first time had used when the phase began.
    fn before(&mut self, thread: &Thread) -> Used {
        if self.is_paused {
            thread.used
        } else if thread.started >= self.opened_ticks {
            self.sums.born += 1;
            Used::default()
        } else {
            self.sums.seen_late += 1;
            thread.used
        }
    }

    fn end(&mut self, member: &Member) {
        if self.is_paused {
            // It was there at the end of the last turn, unless it came after it.
            self.sums.used += member.paused.unwrap_or_default();
        } else {
            self.sums.ended += 1;
            self.sums.ended_used += member.used();
        }
        self.ended_names.take(&member.last.name, member.used().cpu_ns);
        self.ended.push(member.spent(true));
        if self.ended.len() >= 2 * TOLD_APART {
            self.ended = dearest(std::mem::take(&mut self.ended));
        }
    }
}

/// Returns those that used most.
fn dearest(mut all: Vec<Spent>) -> Vec<Spent> {
    all.sort_by_key(|spent| (Reverse(spent.used.cpu_ns), spent.tid));
    all.truncate(TOLD_APART);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: u64 = 1_000;

    fn used(ns: u64) -> Used {
        Used { cpu_ns: ns, run_queue_ns: 2 * ns }
    }

    /// A thread that began before the measured phase.
    fn thread(tid: Pid, ns: u64) -> Thread {
        Thread { pid: 1, tid, name: format!("t{tid}"), started: 7, used: used(ns) }
    }

    fn newborn(tid: Pid, ns: u64) -> Thread {
        Thread { started: OPENED, ..thread(tid, ns) }
    }

    fn round(members: &mut TaskMembers, threads: &[Thread]) {
        members.begin_round();
        threads.iter().cloned().for_each(|thread| members.see(thread));
        members.end_round();
    }

    fn opened(threads: &[Thread]) -> TaskMembers {
        let mut members = TaskMembers::default();
        round(&mut members, threads);
        members.open(OPENED);
        members
    }

    fn sums(members: &TaskMembers) -> Sums {
        members.close().unwrap().0
    }

    #[test]
    fn without_a_measured_phase_there_is_nothing_to_tell() {
        let mut members = TaskMembers::default();
        round(&mut members, &[thread(1, 5)]);
        assert_eq!(members.close(), None);
    }

    #[test]
    fn only_what_lies_in_the_measured_phase_counts() {
        let mut members = opened(&[thread(1, 100), thread(2, 50)]);
        round(&mut members, &[thread(1, 130), thread(2, 50)]);
        let (sums, spent) = members.close().unwrap();
        assert_eq!(sums, Sums { at_first: 2, used: used(30), ..Sums::default() });
        assert_eq!(
            spent.iter().map(|one| (one.tid, one.used)).collect::<Vec<_>>(),
            [(1, used(30)), (2, used(0))]
        );
    }

    #[test]
    fn a_thread_that_began_within_it_counts_with_all_that_it_used() {
        let mut members = opened(&[thread(1, 100)]);
        round(&mut members, &[thread(1, 100), newborn(2, 40)]);
        assert_eq!(sums(&members), Sums { at_first: 1, born: 1, used: used(40), ..Sums::default() });
    }

    #[test]
    fn a_thread_that_is_seen_late_counts_from_then_on() {
        let mut members = opened(&[thread(1, 100)]);
        round(&mut members, &[thread(1, 100), thread(2, 9_000)]);
        round(&mut members, &[thread(1, 100), thread(2, 9_007)]);
        assert_eq!(sums(&members), Sums { at_first: 1, seen_late: 1, used: used(7), ..Sums::default() });
    }

    #[test]
    fn a_thread_that_ended_counts_apart_up_to_its_last_reading() {
        let mut members = opened(&[thread(1, 100), thread(2, 100), thread(3, 100)]);
        round(&mut members, &[thread(1, 101), thread(2, 120)]);
        members.begin_round();
        members.see(thread(1, 102));
        members.see_end(thread(2, 150));
        members.end_round();
        let (sums, spent) = members.close().unwrap();
        assert_eq!((sums.ended, sums.ended_used, sums.used), (2, used(50), used(2)));
        assert_eq!(
            spent.iter().map(|one| (one.tid, one.has_ended)).collect::<Vec<_>>(),
            [(2, true), (1, false), (3, true)]
        );
    }

    #[test]
    fn what_ended_before_the_measured_phase_does_not_count() {
        let mut members = TaskMembers::default();
        round(&mut members, &[thread(1, 1), thread(2, 1)]);
        round(&mut members, &[thread(1, 1)]);
        members.open(OPENED);
        assert_eq!(sums(&members), Sums { at_first: 1, ..Sums::default() });
    }

    #[test]
    fn what_threads_do_between_two_turns_does_not_count() {
        let mut members = opened(&[thread(1, 100), thread(2, 100), thread(3, 100)]);
        round(&mut members, &[thread(1, 110), thread(2, 105), thread(3, 101)]);
        members.pause();
        // Thread 2 ends, 3 computes, and 4 comes.
        round(&mut members, &[thread(1, 150), thread(3, 900), newborn(4, 50)]);
        assert_eq!(sums(&members).used, used(16));
        members.open(2 * OPENED);
        let last = Thread { started: 2 * OPENED, ..thread(5, 7) };
        round(&mut members, &[thread(1, 151), newborn(4, 52), last]);
        let (sums, spent) = members.close().unwrap();
        assert_eq!((sums.at_first, sums.born, sums.seen_late, sums.ended), (3, 1, 0, 1));
        assert_eq!((sums.used, sums.ended_used), (used(10 + 5 + 1 + 2 + 7), used(1)));
        let told: Vec<_> = spent.iter().map(|one| (one.tid, one.used, one.has_ended)).collect();
        let [one, two, three, four, five] = [11, 5, 1, 2, 7].map(used);
        assert_eq!(
            told,
            [(1, one, false), (5, five, false), (2, two, true), (4, four, false), (3, three, true)]
        );
    }

    #[test]
    fn what_could_not_be_read_has_not_ended() {
        let mut members = opened(&[thread(1, 100), thread(2, 100)]);
        members.begin_round();
        members.keep(|thread| thread.tid == 2);
        members.see(thread(1, 105));
        members.end_round();
        assert_eq!(sums(&members), Sums { at_first: 2, used: used(5), ..Sums::default() });
    }

    #[test]
    fn a_number_that_another_thread_has_is_another_thread() {
        let mut members = opened(&[thread(1, 100), thread(2, 100)]);
        // A new thread with the number 2, and one with the number 1 of another process.
        round(&mut members, &[Thread { pid: 9, ..newborn(1, 500) }, newborn(2, 300)]);
        let all = sums(&members);
        assert_eq!((all.born, all.ended, all.used, all.ended_used), (2, 2, used(800), used(0)));
        assert!(!members.knows(&thread(2, 400)));
        // It began when the other did, and has used less.
        round(&mut members, &[newborn(2, 299)]);
        assert_eq!(sums(&members).ended, 4);
    }

    #[test]
    fn places_are_of_the_measured_phase_and_the_most_frequent_is_told() {
        let mut members = TaskMembers::default();
        round(&mut members, &[thread(1, 1), thread(2, 1)]);
        (0..5).for_each(|_| members.sleeps(1, 0));
        members.open(OPENED);
        for place in [3, 4, 4, 3, 4, 5] {
            members.sleeps(1, place);
        }
        members.sleeps(99, 3);
        let places: Vec<_> = members.close().unwrap().1.iter().map(|spent| spent.place).collect();
        assert_eq!(places, [Some(4), None]);
    }

    #[test]
    fn of_many_those_that_used_most_are_told_and_all_are_added_up() {
        let mut members = opened(&[]);
        for tid in 1..=1_000 {
            round(&mut members, &[newborn(tid, tid as u64)]);
        }
        let names: Vec<_> =
            members.by_name().rows().into_iter().map(|row| (row.threads, row.cpu_ns)).collect();
        assert_eq!(names, [(1_000, 500_500)]);
        let (sums, spent) = members.close().unwrap();
        assert_eq!((sums.born, sums.ended), (1_000, 999));
        assert_eq!((sums.used, sums.ended_used), (used(1_000), used(999 * 1_000 / 2)));
        let tids: Vec<Pid> = spent.iter().map(|one| one.tid).collect();
        assert_eq!(tids, (937..=1_000).rev().collect::<Vec<_>>());
        assert!(members.window.unwrap().ended.len() < 2 * TOLD_APART);
    }
}
