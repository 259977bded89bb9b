//! One thread at one instant, from its own files in `/proc` (proc(5)). Those of its process would make the kernel visit
//! all threads of it.

use std::fs::{self, File};
use std::io::{self, Read};

use super::schedstat::Used;
use crate::process_tree::{Pid, after_name, text_of_name};

/// 52 numbers of at most 20 digits each, and a name.
const STAT_BYTES: usize = 1280;
const SCHEDSTAT_BYTES: usize = 96;
/// The longest name of a place in the kernel (`KSYM_NAME_LEN`).
const PLACE_BYTES: usize = 512;
/// The kernel cuts names of threads to this length.
const NAME_CHARS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// On a core, or ready to run.
    Running,
    Sleeping,
    /// It sleeps and no signal wakes it: it waits for a disk, mostly.
    Disk,
    /// By a signal or a debugger.
    Stopped,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStat {
    /// As the thread chose it: it may hold any character.
    pub name: String,
    pub state: State,
    /// The process that forked its process, or that inherited it.
    pub parent: Pid,
    /// In ticks since the machine started. Together with the id it names one thread, and no later one with that id.
    pub started: u64,
}

impl ThreadStat {
    /// # Errors
    /// If there is no such thread, or if it cannot be read.
    pub fn read(pid: Pid, tid: Pid) -> io::Result<Self> {
        let mut buffer = [0; STAT_BYTES];
        let text = read(pid, tid, "stat", &mut buffer)?;
        Self::parse(text).ok_or_else(|| io::Error::other("its stat is not that of proc(5)"))
    }

    pub fn parse(text: &[u8]) -> Option<Self> {
        let begins = text.iter().position(|&byte| byte == b'(')? + 1;
        let ends = text.iter().rposition(|&byte| byte == b')')?;
        let name = text_of_name(text.get(begins..ends)?).chars().take(NAME_CHARS).collect();
        let mut fields = after_name(text)?;
        let state = State::of(fields.next()?);
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?; // Field 22; field 4 was the last.
        Some(Self { name, state, parent, started })
    }
}

impl State {
    fn of(letter: &str) -> Self {
        match letter {
            "R" => Self::Running,
            "D" => Self::Disk,
            "T" | "t" => Self::Stopped,
            "Z" | "X" | "x" => Self::Ended,
            _ => Self::Sleeping,
        }
    }
}

/// Returns what a thread has used, or `None` if it has not run yet or the kernel does not count.
///
/// # Errors
/// If there is no such thread, or if it cannot be read.
pub fn used(pid: Pid, tid: Pid) -> io::Result<Option<Used>> {
    let mut buffer = [0; SCHEDSTAT_BYTES];
    Ok(std::str::from_utf8(read(pid, tid, "schedstat", &mut buffer)?).ok().and_then(Used::parse))
}

/// Returns the kernel's name of where a thread sleeps, or `None` if the kernel does not say: the thread runs, or it is
/// not ours (`is_refused`), or the place has no name.
///
/// # Errors
/// If there is no such thread, or if it cannot be read.
pub fn place(pid: Pid, tid: Pid) -> io::Result<Option<String>> {
    let mut buffer = [0; PLACE_BYTES];
    let place = String::from_utf8_lossy(read(pid, tid, "wchan", &mut buffer)?).trim_end().to_owned();
    Ok(Some(place).filter(|place| !["", "0"].contains(&place.as_str())))
}

/// Returns whether the kernel refuses to say where this thread sleeps (ptrace(2), `PTRACE_MODE_READ_FSCREDS`). `wchan`
/// does not show that; another file that takes the same right does.
pub fn is_refused(pid: Pid, tid: Pid) -> bool {
    let link = fs::read_link(format!("/proc/{pid}/task/{tid}/cwd"));
    link.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns the threads of a process.
///
/// # Errors
/// If there is no such process, or if its threads are not listed.
pub fn threads(pid: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        found.extend(thread?.file_name().to_str().and_then(|tid| tid.parse::<Pid>().ok()));
    }
    Ok(found)
}

fn read<'a>(pid: Pid, tid: Pid, name: &str, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let bytes = File::open(format!("/proc/{pid}/task/{tid}/{name}"))?.read(buffer)?;
    Ok(&buffer[..bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &str = "3 7 7 0 -1 4194560 10 0 0 0 30 10 4 6 20 0 3 0 5123 1000 25 18446744";

    fn parsed(name: &[u8], state: &str) -> ThreadStat {
        let text = [b"7 (".as_slice(), name, b") ", state.as_bytes(), b" ", FIELDS.as_bytes()].concat();
        ThreadStat::parse(&text).unwrap()
    }

    #[test]
    fn a_name_may_hold_anything() {
        let cases: [(&[u8], &str); 5] = [
            (b"worker-1", "worker-1"),
            (b"a) R (b\n\"c", "a) R (b\n\"c"),
            (b"\xff\x1b[2J", "\u{fffd}\u{1b}[2J"),
            (b"", ""),
            (b"kworker/u4:longer than most", "kworker/u4:long"),
        ];
        for (name, read) in cases {
            let stat = parsed(name, "S");
            assert_eq!(
                stat,
                ThreadStat { name: read.into(), state: State::Sleeping, parent: 3, started: 5_123 }
            );
        }
    }

    #[test]
    fn the_letter_is_the_state() {
        let states = ["R", "S", "I", "D", "T", "t", "Z", "X"].map(|letter| parsed(b"x", letter).state);
        let (asleep, stopped, ended) = (State::Sleeping, State::Stopped, State::Ended);
        assert_eq!(states, [State::Running, asleep, asleep, State::Disk, stopped, stopped, ended, ended]);
    }

    #[test]
    fn what_is_cut_short_is_no_thread() {
        for text in ["", "7", "7 (x) S 3 7", "7 )x( S", "7 (x"] {
            assert_eq!(ThreadStat::parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_thread_sees_itself_run() {
        let (pid, tid) = (std::process::id() as Pid, rustix::thread::gettid().as_raw_nonzero().get());
        let stat = ThreadStat::read(pid, tid).unwrap();
        assert_eq!((stat.state, stat.parent), (State::Running, std::os::unix::process::parent_id() as Pid));
        assert!(used(pid, tid).unwrap().is_some());
        assert_eq!(place(pid, tid).unwrap(), None);
        assert!(!is_refused(pid, tid));
        assert!(threads(pid).unwrap().contains(&tid));
    }
}
