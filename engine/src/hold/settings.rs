//! What a hold changes and the kernel does not undo by itself: the cores of threads, and the limit of open files of
//! processes. How each was before is written down first, and whoever has that list can undo the change. A thread that
//! was born meanwhile has what its process was given, and gets what its process had before. What the server has changed
//! itself meanwhile stays.

use std::collections::HashMap;
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, prlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::process_tree::{Pid, after_name, parent_of, with_descendants_of};

/// Threads that are born while the others are changed are found in the next pass.
const PASSES: usize = 100;

/// What to change, and to what.
pub enum Kind {
    Cores(Vec<usize>),
    OpenFiles,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    Cores(Vec<usize>),
    /// The soft limit and the hard one; `None` is none.
    OpenFiles(Option<u64>, Option<u64>),
}

/// One thread, or one process: `started` tells it from another that gets its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pid: Pid,
    tid: Pid,
    started: u64,
    before: Setting,
    held: Setting,
}

/// All threads, or processes, of a tree.
pub struct Rows(Vec<Row>);

impl Setting {
    /// Reads the same setting of a thread.
    fn now(&self, tid: Pid) -> io::Result<Self> {
        match self {
            Self::Cores(_) => cores_of(tid),
            Self::OpenFiles(..) => limit_of(tid),
        }
    }

    fn set(&self, tid: Pid) -> io::Result<()> {
        let pid = rustix::process::Pid::from_raw(tid);
        match self {
            Self::Cores(cores) => sched_setaffinity(pid, &set_of(cores))?,
            &Self::OpenFiles(current, maximum) => {
                prlimit(pid, Resource::Nofile, Rlimit { current, maximum })?;
            }
        }
        Ok(())
    }
}

fn cores_of(tid: Pid) -> io::Result<Setting> {
    let set = sched_getaffinity(rustix::process::Pid::from_raw(tid))?;
    Ok(Setting::Cores((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()))
}

/// All cores of the machine are all that there will ever be, as for a thread that nobody has bound.
fn set_of(cores: &[usize]) -> CpuSet {
    let is_in = |core: &usize| cores.contains(core);
    let is_all = crate::cores::of_the_machine().iter().all(is_in);
    let mut set = CpuSet::new();
    (0..CpuSet::MAX_CPU).filter(|core| is_all || is_in(core)).for_each(|core| set.set(core));
    set
}

fn limit_of(pid: Pid) -> io::Result<Setting> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits"))?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut fields = line.unwrap_or_default().split_ascii_whitespace().map(|field| field.parse().ok());
    match (fields.next(), fields.next()) {
        (Some(soft), Some(hard)) => Ok(Setting::OpenFiles(soft, hard)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl Rows {
    pub fn new(rows: Vec<Row>) -> Self {
        Self(rows)
    }

    pub fn listed(&self) -> &[Row] {
        &self.0
    }

    /// Writes down how the tree of `root` is.
    ///
    /// # Errors
    /// If there is nothing to change.
    pub fn look(root: Pid, kind: &Kind) -> Result<Self, Failure> {
        let mut rows = Vec::new();
        for (pid, tid, started) in threads_of(&with_descendants_of(&[root])) {
            let (before, held) = match kind {
                Kind::Cores(cores) => (cores_of(tid), Setting::Cores(cores.clone())),
                Kind::OpenFiles if pid != tid => continue,
                Kind::OpenFiles => match limit_of(tid) {
                    Ok(Setting::OpenFiles(soft, hard)) => {
                        (Ok(Setting::OpenFiles(soft, hard)), Setting::OpenFiles(hard, hard))
                    }
                    _ => continue,
                },
            };
            if let Ok(before) = before {
                rows.push(Row { pid, tid, started, before, held });
            }
        }
        if rows.is_empty() {
            return Err(Failure::new(format!("process {root} is not there, or hidden from this user")));
        }
        if rows.iter().all(|row| row.before == row.held) {
            return Err(Failure::new(match kind {
                Kind::Cores(_) => "it is bound to these cores already",
                Kind::OpenFiles => "its limit of open files is as high as it may be",
            }));
        }
        Ok(Self(rows))
    }

    /// Changes all of them, also those that are born meanwhile. Returns how many.
    ///
    /// # Errors
    /// Why not.
    pub fn make(&self) -> Result<usize, Failure> {
        self.turn(|row| (&row.before, &row.held)).map_err(|error| {
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::PERM) => Failure::new("it belongs to another user: run as that user"),
                _ => Failure::new(format!("it cannot be changed: {error}")),
            }
        })
    }

    /// Changes back those that still are as `make` left them. Returns how many.
    pub fn undo(&self) -> usize {
        self.turn(|row| (&row.held, &row.before)).unwrap_or_default()
    }

    fn turn(&self, way: impl Fn(&Row) -> (&Setting, &Setting)) -> io::Result<usize> {
        let (mut turned, mut failed) = (0, None);
        for _ in 0..PASSES {
            let before_pass = turned;
            for (row, tid) in self.present() {
                let (from, to) = way(row);
                if from == to || from.now(tid).ok().as_ref() != Some(from) {
                    continue;
                }
                match to.set(tid) {
                    Ok(()) => turned += 1,
                    Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                    Err(error) => failed = Some(error),
                }
            }
            if turned == before_pass {
                break;
            }
        }
        failed.map_or(Ok(turned), Err)
    }

    /// Each thread that is there now, with its row, or with one of its process or of the process that this one comes from.
    fn present(&self) -> Vec<(&Row, Pid)> {
        let rows: HashMap<(Pid, Pid, u64), &Row> =
            self.0.iter().map(|row| ((row.pid, row.tid, row.started), row)).collect();
        let living: Vec<Pid> = self.0.iter().filter(|row| row.is_there()).map(|row| row.pid).collect();
        let is_of_processes = matches!(self.0.first(), Some(Row { held: Setting::OpenFiles(..), .. }));
        let threads = threads_of(&with_descendants_of(&living)).into_iter();
        let counted = threads.filter(|&(pid, tid, _)| !is_of_processes || pid == tid);
        counted
            .filter_map(|(pid, tid, started)| {
                let own = rows.get(&(pid, tid, started)).copied();
                Some((own.or_else(|| self.usual(pid, &living))?, tid))
            })
            .collect()
    }

    /// Returns a row as most of a process are, or else its nearest ancestor's.
    fn usual(&self, pid: Pid, living: &[Pid]) -> Option<&Row> {
        let mut next = Some(pid).filter(|&pid| pid > 1);
        while let Some(pid) = next {
            let rows = || self.0.iter().filter(|row| row.pid == pid && living.contains(&pid));
            if let Some(row) =
                rows().max_by_key(|row| rows().filter(|each| each.before == row.before).count())
            {
                return Some(row);
            }
            next = parent_of(pid).filter(|&parent| parent > 1);
        }
        None
    }
}

impl Row {
    fn is_there(&self) -> bool {
        started(self.pid, self.tid) == Some(self.started)
    }
}

/// Returns all threads of these processes: process, thread, and when it started.
fn threads_of(pids: &[Pid]) -> Vec<(Pid, Pid, u64)> {
    let of = |&pid: &Pid| {
        let listed = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let tids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
        tids.filter_map(move |tid| Some((pid, tid, started(pid, tid)?)))
    };
    pids.iter().flat_map(of).collect()
}

/// Returns field 22 of `stat` (proc(5)); `None` if there is no such thread.
fn started(pid: Pid, tid: Pid) -> Option<u64> {
    after_name(&fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?)?.nth(19)?.parse().ok()
}
