//! Sends signals to processes, and never to another process that has since got the same number.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::process_tree::{self, Pid};

/// The number of processes that are held at once, since descriptors may be few.
const AT_ONCE: usize = 128;

/// Sends `signal` to every live descendant of `root` and to no other process. Returns the number of descendants.
pub fn signal_descendants_of(root: Pid, signal: Signal) -> usize {
    let descendants = process_tree::descendants(root);
    signal_each(&descendants, || process_tree::descendants(root), signal);
    descendants.len()
}

/// Holds each of `pids` by a pidfd and sends `signal` to those that `look` finds meanwhile. If a process ended before
/// it was held, its number may belong to another process, which `look` does not find.
fn signal_each(pids: &[Pid], look: impl Fn() -> Vec<Pid>, signal: Signal) {
    for pids in pids.chunks(AT_ONCE) {
        let held: Vec<(Pid, Result<OwnedFd, Errno>)> = pids.iter().map(|&pid| (pid, hold(pid))).collect();
        let there = look();
        for (pid, held) in held.into_iter().filter(|(pid, _)| there.contains(pid)) {
            let _ = match held {
                Ok(held) => pidfd_send_signal(held, signal),
                Err(Errno::SRCH) => Ok(()),
                // A sandbox may forbid pidfds. Then the signal goes to the number.
                Err(_) => by_number(pid).and_then(|pid| kill_process(pid, signal)),
            };
        }
    }
}

/// Opens a pidfd. A signal that is sent through it reaches this process and no other.
pub fn hold(pid: Pid) -> Result<OwnedFd, Errno> {
    pidfd_open(by_number(pid)?, PidfdFlags::empty())
}

fn by_number(pid: Pid) -> Result<rustix::process::Pid, Errno> {
    rustix::process::Pid::from_raw(pid).ok_or(Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_process_that_has_a_descendants_number_by_now_is_left_alone() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = other.id() as Pid;
        signal_each(&[pid], Vec::new, Signal::KILL);
        assert_eq!(other.try_wait().unwrap(), None, "it lives");
        signal_each(&[pid], || vec![pid], Signal::KILL);
        assert_eq!(other.wait().unwrap().signal(), Some(9));
        signal_each(&[pid], || vec![pid], Signal::KILL);
    }

    #[test]
    fn more_processes_than_are_held_at_once_all_end() {
        let mut sleeping: Vec<_> =
            (0..AT_ONCE + 5).map(|_| Command::new("sleep").arg("60").spawn().unwrap()).collect();
        let pids: Vec<Pid> = sleeping.iter().map(|child| child.id() as Pid).collect();
        signal_each(&pids, || pids.clone(), Signal::TERM);
        for child in &mut sleeping {
            assert_eq!(child.wait().unwrap().signal(), Some(15));
        }
    }
}
