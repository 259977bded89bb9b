//! Which threads a process tree has, and what each has used, read in rounds. A round takes small steps, so that no
//! thread of the load waits for long; at both ends of the measured phase it is read at once.
//!
//! Between two steps of a round processes and threads may end, and others may get their numbers. So each is known by its
//! number and when it began, and what was listed is looked at once more before it is taken.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use super::schedstat;
use super::task_files::{self, State, ThreadStat};
use super::task_members::{TaskMembers, Thread};
use super::{has_ended, own_cpu_ns};
use crate::process_tree::{self, Pid};

/// What is to be read next in a round.
enum Unit {
    /// Which threads this process has.
    Process(Pid),
    /// A thread of a process: process and thread.
    Thread(Pid, Pid),
}

pub struct Census {
    /// When each known process began.
    processes: BTreeMap<Pid, u64>,
    members: TaskMembers,
    /// Whether this kernel counts what threads use.
    counts: bool,
    units: VecDeque<Unit>,
    is_in_round: bool,
    /// What could not be read in the present round, or in the last one: the first of it.
    fault: Option<String>,
}

impl Census {
    /// Begins with the tree of `root`, and reads all of it once.
    ///
    /// # Errors
    /// Why nothing of it can be read.
    pub fn open(root: Pid) -> Result<Self, String> {
        let stat = ThreadStat::read(root, root).map_err(|error| absent(root, &error))?;
        let mut census = Self {
            processes: BTreeMap::from([(root, stat.started)]),
            members: TaskMembers::default(),
            counts: schedstat::is_counted(),
            units: VecDeque::new(),
            is_in_round: false,
            fault: None,
        };
        let whole = census.read_all();
        if census.members.tids().len() == 0 {
            return Err(whole.err().unwrap_or_else(|| format!("process {root} is gone")));
        }
        Ok(census)
    }

    /// Goes on with the present round, or begins one, for about this much CPU time.
    pub fn go_on(&mut self, for_ns: u64) {
        let until_ns = own_cpu_ns() + for_ns;
        if !self.is_in_round {
            self.begin_round();
        }
        loop {
            self.step();
            if !self.is_in_round || own_cpu_ns() >= until_ns {
                return;
            }
        }
    }

    /// Reads all threads in a round of its own.
    ///
    /// # Errors
    /// The first of what could not be read.
    pub fn read_all(&mut self) -> Result<(), String> {
        self.begin_round();
        while self.is_in_round {
            self.step();
        }
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Returns what could not be read in the present round so far, or in the last one.
    pub fn fault(&self) -> Option<&String> {
        self.fault.as_ref()
    }

    pub fn members(&self) -> &TaskMembers {
        &self.members
    }

    pub fn members_mut(&mut self) -> &mut TaskMembers {
        &mut self.members
    }

    /// Returns whether this kernel counts what threads use.
    pub fn counts(&self) -> bool {
        self.counts
    }

    fn begin_round(&mut self) {
        self.members.begin_round();
        (self.is_in_round, self.fault) = (true, None);
        self.units = self.processes.keys().map(|&pid| Unit::Process(pid)).collect();
        if !process_tree::kernel_lists_children() {
            let known: Vec<Pid> = self.processes.keys().copied().collect();
            process_tree::with_descendants_of(&known).into_iter().for_each(|pid| self.adopt(pid));
        }
    }

    fn step(&mut self) {
        match self.units.pop_front() {
            Some(Unit::Process(pid)) => self.list(pid),
            Some(Unit::Thread(pid, tid)) => self.read(pid, tid),
            None => {
                self.members.end_round();
                self.is_in_round = false;
            }
        }
    }

    fn list(&mut self, pid: Pid) {
        let listed = self
            .is_there(pid)
            .and_then(|is_there| if is_there { task_files::threads(pid).map(Some) } else { Ok(None) });
        match listed {
            Ok(Some(tids)) => self.units.extend(tids.into_iter().map(|tid| Unit::Thread(pid, tid))),
            Ok(None) => self.forget(pid),
            Err(error) if has_ended(&error) => self.forget(pid),
            Err(error) => {
                self.members.keep(|thread| thread.pid == pid);
                self.fail(pid, &error);
            }
        }
    }

    fn read(&mut self, pid: Pid, tid: Pid) {
        match self.thread(pid, tid) {
            Ok((State::Ended, thread)) => self.members.see_end(thread),
            Ok((_, thread)) => {
                self.members.see(thread);
                self.adopt_children(pid, tid);
            }
            Err(error) if has_ended(&error) => {}
            Err(error) => {
                self.members.keep(|thread| thread.tid == tid);
                self.fail(pid, &error);
            }
        }
    }

    /// # Errors
    /// If there is no such thread any more, or if it cannot be read.
    fn thread(&self, pid: Pid, tid: Pid) -> io::Result<(State, Thread)> {
        let ThreadStat { name, state, started, .. } = ThreadStat::read(pid, tid)?;
        // A thread that has not run yet has used nothing.
        let used = if self.counts { task_files::used(pid, tid)? } else { None };
        let thread = Thread { pid, tid, name, started, used: used.unwrap_or_default() };
        // What is known is recognised. What is new may have got its number after it was listed.
        if self.members.knows(&thread) || self.is_there(pid)? {
            Ok((state, thread))
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Returns whether a process is still the one that is known.
    fn is_there(&self, pid: Pid) -> io::Result<bool> {
        let started = ThreadStat::read(pid, pid)?.started;
        Ok(self.processes.get(&pid) == Some(&started))
    }

    fn adopt_children(&mut self, pid: Pid, tid: Pid) {
        let mut children = Vec::new();
        process_tree::append_children_of_thread(pid, tid, &mut children);
        children.into_iter().for_each(|child| self.adopt(child));
    }

    /// Takes a process into the tree if its parent is in it.
    fn adopt(&mut self, pid: Pid) {
        if self.processes.contains_key(&pid) {
            return;
        }
        match ThreadStat::read(pid, pid) {
            Ok(stat) if self.processes.contains_key(&stat.parent) => {
                self.processes.insert(pid, stat.started);
                self.units.push_back(Unit::Process(pid));
            }
            Ok(_) => {}
            Err(error) if has_ended(&error) && !is_hidden(pid) => {}
            Err(error) => {
                self.fault.get_or_insert_with(|| absent(pid, &error));
            }
        }
    }

    /// A process has ended. Its threads are found to have ended with the round.
    fn forget(&mut self, pid: Pid) {
        self.processes.remove(&pid);
    }

    fn fail(&mut self, pid: Pid, error: &io::Error) {
        self.fault.get_or_insert_with(|| format!("process {pid}: {error}"));
    }
}

fn absent(pid: Pid, error: &io::Error) -> String {
    if !has_ended(error) {
        format!("process {pid}: {error}")
    } else if is_hidden(pid) {
        format!("process {pid} is not to be seen: /proc hides other users' processes (hidepid)")
    } else {
        format!("process {pid} is gone")
    }
}

/// Returns whether there is a process that `/proc` does not show.
fn is_hidden(pid: Pid) -> bool {
    let exists = rustix::process::Pid::from_raw(pid)
        .is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)));
    exists && ThreadStat::read(pid, pid).is_err_and(|error| has_ended(&error))
}

#[cfg(test)]
mod tests {
    use super::super::played::Played;
    use super::*;

    fn count(census: &Census) -> usize {
        census.members.tids().len()
    }

    #[test]
    fn a_process_that_is_gone_is_said_to_be() {
        let mut process = std::process::Command::new("true").spawn().unwrap();
        process.wait().unwrap();
        let why = Census::open(process.id() as Pid).err().unwrap();
        assert!(why.contains("is gone"), "{why}");
    }

    #[test]
    fn a_number_that_another_process_has_by_now_is_not_taken_for_the_server() {
        let played = Played::begin();
        let mut census = Census::open(played.pid()).unwrap();
        assert!(count(&census) > 0);
        *census.processes.get_mut(&played.pid()).unwrap() -= 1;
        census.read_all().unwrap();
        assert_eq!(count(&census), 0);
    }

    #[test]
    fn threads_that_end_between_listing_and_reading_are_not_there() {
        let mut played = Played::begin();
        played.say("start futex 3");
        let mut census = Census::open(played.pid()).unwrap();
        let all = count(&census);
        played.say("start pipe 4");
        census.begin_round();
        census.step();
        assert_eq!(census.units.len(), all + 4, "the process was listed");
        played.say("stop futex");
        while census.is_in_round {
            census.step();
        }
        assert_eq!((count(&census), census.fault()), (all + 4 - 3, None));
    }

    #[test]
    fn a_process_whose_number_another_got_after_it_was_listed_adds_no_thread() {
        let mut played = Played::begin();
        let mut census = Census::open(played.pid()).unwrap();
        let all = count(&census);
        played.say("start futex 3");
        census.begin_round();
        census.step();
        *census.processes.get_mut(&played.pid()).unwrap() -= 1;
        while census.is_in_round {
            census.step();
        }
        assert_eq!(count(&census), all, "those that are known are recognised, and nothing else is taken");
    }

    #[test]
    fn processes_of_the_tree_come_and_go() {
        let mut played = Played::begin();
        let mut census = Census::open(played.pid()).unwrap();
        let all = count(&census);
        played.say("start process 2");
        census.read_all().unwrap();
        assert_eq!((count(&census), census.processes.len()), (all + 2, 3));
        played.say("stop process");
        census.read_all().unwrap();
        assert_eq!((count(&census), census.processes.len()), (all, 1));
    }

    #[test]
    fn a_round_goes_on_where_it_stopped() {
        let mut played = Played::begin();
        played.say("start futex 20");
        let mut census = Census::open(played.pid()).unwrap();
        let all = count(&census);
        played.say("start pipe 5");
        let mut steps = 0;
        census.begin_round();
        while census.is_in_round {
            census.go_on(1);
            steps += 1;
            assert!(steps < 1_000);
        }
        assert!(steps > 2, "{steps}");
        assert_eq!(count(&census), all + 5);
    }
}
