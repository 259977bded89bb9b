//! Threads that are stopped by ptrace. The kernel lets them go on when this process ends, however it ends. To the program it
//! is as if a debugger had been attached: a call that waits may return early (EINTR, signal(7)).

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::failure::Failure;
use crate::process_tree::{Pid, with_descendants_of};

/// A thread that waits for a disk stops when it no longer does.
const WITHIN: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_micros(500);

/// Each with the signal that it was about to take, or 0.
pub struct Stopped(Vec<(Pid, libc::c_int)>);

impl Stopped {
    /// # Errors
    /// Why it cannot be stopped. What was stopped goes on when this process ends.
    pub fn thread(pid: Pid, tid: Pid) -> Result<Self, Failure> {
        Self::stop(|| threads(pid).into_iter().filter(|&(_, each)| each == tid).collect())
    }

    /// # Errors
    /// As `thread`.
    pub fn process(pid: Pid) -> Result<Self, Failure> {
        Self::stop(|| threads(pid))
    }

    /// # Errors
    /// As `thread`.
    pub fn tree(root: Pid) -> Result<Self, Failure> {
        Self::stop(|| with_descendants_of(&[root]).into_iter().flat_map(threads).collect())
    }

    pub fn number(&self) -> usize {
        self.0.len()
    }

    pub fn release(self) -> usize {
        self.0.iter().filter(|&&(tid, signal)| ptrace(libc::PTRACE_DETACH, tid, signal).is_ok()).count()
    }

    /// Stops what `list` lists until it lists nothing more: threads are born until all that bear them are stopped.
    fn stop(list: impl Fn() -> Vec<(Pid, Pid)>) -> Result<Self, Failure> {
        let mut stopped = Self(Vec::new());
        let by = Instant::now() + WITHIN;
        loop {
            let is_new = |&(_, tid): &(Pid, Pid)| !stopped.0.iter().any(|&(each, _)| each == tid);
            let new: Vec<(Pid, Pid)> = list().into_iter().filter(is_new).collect();
            let mut seized = Vec::new();
            for (pid, tid) in new {
                let began =
                    ptrace(libc::PTRACE_SEIZE, tid, 0).and_then(|()| ptrace(libc::PTRACE_INTERRUPT, tid, 0));
                match began {
                    Ok(()) => seized.push(tid),
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) || has_ended(pid, tid) => {}
                    Err(error) => return Err(why_not(pid, tid, &error)),
                }
            }
            if seized.is_empty() {
                break;
            }
            for tid in seized {
                stopped.0.extend(await_stop(tid, by)?.map(|signal| (tid, signal)));
            }
        }
        if stopped.0.is_empty() { Err(Failure::new("it has ended")) } else { Ok(stopped) }
    }
}

/// Waits until it has stopped. Returns the signal that it was about to take, or 0; `None` if it has ended.
fn await_stop(tid: Pid, by: Instant) -> Result<Option<libc::c_int>, Failure> {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
        if waited < 0 || waited > 0 && !libc::WIFSTOPPED(status) {
            return Ok(None);
        }
        if waited > 0 {
            let is_stop = status >> 16 == libc::PTRACE_EVENT_STOP;
            return Ok(Some(if is_stop { 0 } else { libc::WSTOPSIG(status) }));
        }
        if Instant::now() >= by {
            return Err(Failure::new(format!(
                "thread {tid} does not stop: it waits for a disk, or in the kernel"
            )));
        }
        thread::sleep(LOOK);
    }
}

fn threads(pid: Pid) -> Vec<(Pid, Pid)> {
    let listed = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    listed.filter_map(|entry| Some((pid, entry.file_name().to_str()?.parse().ok()?))).collect()
}

/// The calling thread is the tracer.
fn ptrace(request: libc::c_uint, tid: Pid, data: libc::c_int) -> io::Result<()> {
    // SAFETY: none of the requests here reads or writes memory; the address is not used.
    let done = unsafe { libc::ptrace(request, tid, 0_usize, data as usize) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A thread that has ended may be listed until its process has.
fn has_ended(pid: Pid, tid: Pid) -> bool {
    field(pid, tid, "State:").is_none_or(|state| state.starts_with(['Z', 'X']))
}

fn why_not(pid: Pid, tid: Pid, error: &io::Error) -> Failure {
    if error.raw_os_error() != Some(Errno::PERM.raw_os_error()) {
        return Failure::new(format!("it cannot be stopped: {error}"));
    }
    let tracer = field(pid, tid, "TracerPid:").unwrap_or_default();
    if !matches!(tracer.as_str(), "" | "0") {
        return Failure::new(format!("process {tracer}, a debugger, traces it already"));
    }
    let own = rustix::process::geteuid().as_raw().to_string();
    if field(pid, tid, "Uid:").and_then(|uids| uids.split('\t').next().map(|uid| uid != own)) == Some(true) {
        return Failure::new("it belongs to another user: run as that user");
    }
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match yama.trim() {
        "" | "0" => Failure::new("a sandbox forbids it, or the program does not let itself be traced"),
        scope => Failure::new(format!(
            "this machine lets only root stop threads (kernel.yama.ptrace_scope is {scope}): run as root"
        )),
    }
}

/// Returns a line of the thread's `status` (proc(5)).
fn field(pid: Pid, tid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
