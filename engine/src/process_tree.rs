//! Which processes descend from a process, read from `/proc`. Shared by the probe, which counts
//! them, and the guard, which ends them. It measures nothing and ends nothing itself.

use std::fs;

/// A process id as the kernel prints it.
pub type Pid = i32;

/// `root` and all its live descendants, parents before their children.
///
/// Uses `/proc/<pid>/task/<tid>/children` (kernel option `PROC_CHILDREN`, on in every major
/// distribution), so the cost grows with the tree and not with the machine.
pub fn with_descendants(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        append_children(found[next], &mut found);
        next += 1;
    }
    found
}

/// The live descendants of `root`, without `root`.
pub fn descendants(root: Pid) -> Vec<Pid> {
    with_descendants(root).split_off(1)
}

fn append_children(pid: Pid, found: &mut Vec<Pid>) {
    // Children belong to the thread that forked them, so every thread is asked.
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return; // It ended between two looks.
    };
    for thread in threads.flatten() {
        let Ok(children) = fs::read_to_string(thread.path().join("children")) else {
            continue;
        };
        found.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<Pid>().ok()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_grandchild_is_found_and_then_gone() {
        let mut child =
            Command::new("sh").args(["-c", "sleep 30 & wait"]).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id() as Pid;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while descendants(pid).len() != 1 {
            assert!(std::time::Instant::now() < deadline, "the sleep never showed");
            std::thread::yield_now();
        }
        for pid in with_descendants(pid) {
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        child.wait().unwrap();
        assert_eq!(with_descendants(pid), vec![pid]);
    }
}
