//! Which processes descend from a process, read from `/proc`. The probe uses it to count them, the guard to end them.
//! It measures nothing and ends nothing itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::str::SplitAsciiWhitespace;
use std::sync::OnceLock;

/// A process id, as the kernel prints it.
pub type Pid = i32;

/// Returns each of `roots` and all their live descendants, once each, parents before their children.
pub fn with_descendants_of(roots: &[Pid]) -> Vec<Pid> {
    if kernel_lists_children() {
        follow(roots, append_children)
    } else {
        let parents = parents();
        follow(roots, |pid, found| {
            found.extend(parents.iter().filter(|&&(_, parent)| parent == pid).map(|&(child, _)| child));
        })
    }
}

/// Returns the live descendants of `root`, without `root`.
pub fn descendants(root: Pid) -> Vec<Pid> {
    with_descendants_of(&[root]).split_off(1)
}

fn follow(roots: &[Pid], append_children: impl Fn(Pid, &mut Vec<Pid>)) -> Vec<Pid> {
    let mut seen: BTreeSet<Pid> = BTreeSet::new();
    let mut found: Vec<Pid> = roots.iter().copied().filter(|&root| seen.insert(root)).collect();
    let (mut next, mut children) = (0, Vec::new());
    while next < found.len() {
        append_children(found[next], &mut children);
        found.extend(children.drain(..).filter(|&child| seen.insert(child)));
        next += 1;
    }
    found
}

/// Returns whether `/proc/<pid>/task/<tid>/children` exists (the kernel option `PROC_CHILDREN`, on in every major
/// distribution). Then the cost grows with the tree and not with the machine.
pub fn kernel_lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

fn append_children(pid: Pid, found: &mut Vec<Pid>) {
    // A child belongs to the thread that forked it, so read the children of every thread.
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return; // The process has ended in the meantime.
    };
    for thread in threads.flatten() {
        append_listed(&thread.path().join("children"), found);
    }
}

/// Adds the live children that one thread of a process forked to `found`, if the kernel lists them.
pub fn append_children_of_thread(pid: Pid, tid: Pid, found: &mut Vec<Pid>) {
    append_listed(Path::new(&format!("/proc/{pid}/task/{tid}/children")), found);
}

fn append_listed(children: &Path, found: &mut Vec<Pid>) {
    let children = fs::read_to_string(children).unwrap_or_default(); // The thread may have ended in the meantime.
    found.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<Pid>().ok()));
}

/// Returns every process of the machine, and its parent.
fn parents() -> Vec<(Pid, Pid)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<Pid>().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

/// Returns the parent of a process; `None` if it has ended.
pub fn parent_of(pid: Pid) -> Option<Pid> {
    parent(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns field 4 of `stat` (proc(5)).
fn parent(stat: &[u8]) -> Option<Pid> {
    after_name(stat)?.nth(1)?.parse().ok()
}

/// Returns the fields of a `stat` (proc(5)) after the name, field 2, of which the first is field 3. The name may contain any
/// byte, and the last parenthesis ends it.
pub fn after_name(stat: &[u8]) -> Option<SplitAsciiWhitespace<'_>> {
    let ends = stat.iter().rposition(|&byte| byte == b')')?;
    Some(std::str::from_utf8(&stat[ends + 1..]).ok()?.split_ascii_whitespace())
}

/// Returns the name of a process or thread as text. The kernel cuts it to 15 bytes, so that a letter may be cut in two: its
/// first half is left out. Other bytes that are no UTF-8 are replaced.
pub fn text_of_name(name: &[u8]) -> String {
    let whole = match std::str::from_utf8(name) {
        Err(error) if error.error_len().is_none() => &name[..error.valid_up_to()],
        _ => name,
    };
    String::from_utf8_lossy(whole).into_owned()
}

/// Returns a command of the program that this process runs, also if its file has been replaced or removed meanwhile. It
/// is listed (ps) by the path by which this one was started.
pub fn this_program() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(std::env::args_os().next().unwrap_or_else(|| "crumple-engine".into()));
    command
}

/// Returns the name of a process, or `None` if it has ended.
pub fn name(pid: Pid) -> Option<String> {
    Some(text_of_name(fs::read(format!("/proc/{pid}/comm")).ok()?.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, kill_process};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    fn both_ways(root: Pid) -> [Vec<Pid>; 2] {
        let parents = parents();
        let by_parents = |pid: Pid, found: &mut Vec<Pid>| {
            found.extend(parents.iter().filter(|&&(_, parent)| parent == pid).map(|&(child, _)| child));
        };
        [follow(&[root], append_children), follow(&[root], by_parents)]
    }

    #[test]
    fn a_grandchild_is_found_and_then_gone_whatever_the_kernel_lists() {
        let mut child =
            Command::new("sh").args(["-c", "sleep 30 & wait"]).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id() as Pid;
        let deadline = Instant::now() + Duration::from_secs(5);
        while both_ways(pid).iter().any(|found| found.len() != 2) {
            assert!(Instant::now() < deadline, "the sleep never showed: {:?}", both_ways(pid));
            std::thread::yield_now();
        }
        let [listed, by_parents] = both_ways(pid);
        assert_eq!(listed, by_parents);
        assert_eq!(descendants(pid), listed[1..]);
        for pid in listed {
            kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
        child.wait().unwrap();
        assert_eq!(both_ways(pid), [vec![pid], vec![pid]]);
    }

    #[test]
    fn a_process_that_is_named_twice_is_found_once() {
        let children = |pid: Pid, found: &mut Vec<Pid>| {
            found.extend(match pid {
                1 => [2, 3].as_slice(),
                2 => &[4],
                _ => &[],
            });
        };
        assert_eq!(follow(&[1, 2, 1], children), [1, 2, 3, 4]);
    }

    #[test]
    fn a_name_with_parentheses_is_read_over() {
        assert_eq!(parent(b"7 (a) S 9 (b)) R 3 7 7 0"), Some(3));
        assert_eq!(parent(b"7 (a"), None);
    }

    #[test]
    fn a_name_that_is_cut_within_a_letter_is_read_over_and_loses_half_a_letter() {
        let cut = "приложение".as_bytes()[..15].to_vec();
        assert!(std::str::from_utf8(&cut).is_err());
        assert_eq!(parent(&[b"7 (", &cut[..], b") R 3 7 7 0"].concat()), Some(3));
        assert_eq!(text_of_name(&cut), "приложе");
        assert_eq!(text_of_name(b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
        assert_eq!(text_of_name("база".as_bytes()), "база");
    }
}
