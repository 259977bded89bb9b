use super::*;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::super::rests::Rests;
use super::super::tree_read::Dear;
use crate::clock::now_ns;
use crate::process_tree;

/// Ends the process and everything that it started when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        for pid in process_tree::with_descendants_of(&[self.0.id() as Pid]) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "it never came about");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn row(probe: &mut Processes) -> Sample {
    let read = TreeRead::row(&probe.known());
    probe.row(read, now_ns())
}

/// Takes a row, and looks for processes that the next one is to read as well.
fn row_and_tree(probe: &mut Processes) -> Sample {
    let mut read = TreeRead::row(&probe.known());
    read.read(Dear::Tree, None);
    probe.row(read, now_ns())
}

fn boundary(probe: &mut Processes) -> Sample {
    let mut read = TreeRead::row(&probe.known());
    read.rest(&mut Rests::none(), true);
    probe.open(read, now_ns())
}

fn fields_of(probe: &Processes) -> Vec<&'static str> {
    probe.unread().iter().map(|(field, _)| *field).collect()
}

#[test]
fn a_boundary_reads_everything() {
    let idle = Running(Command::new("sleep").arg("60").spawn().unwrap());
    wait_until(|| fs::read_to_string(format!("/proc/{}/stat", idle.0.id())).unwrap().contains("(sleep) S "));
    let mut probe = Processes::new(idle.0.id() as Pid);
    let sample = boundary(&mut probe);
    assert!(sample.rss_bytes > 0 && sample.pss_bytes.unwrap() > 0);
    assert!(sample.voluntary_switches.unwrap() + sample.involuntary_switches.unwrap() > 0);
    assert_eq!((sample.processes, sample.threads), (1, 1));
    let alone = row(&mut probe);
    assert_eq!((alone.processes, alone.pss_bytes, alone.voluntary_switches), (1, None, None));
}

#[test]
fn what_the_threads_were_read_to_use_is_what_the_process_used_while_none_ends() {
    let busy = Running(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    let pid = busy.0.id() as Pid;
    let mut probe = Processes::new(pid);
    let first = boundary(&mut probe);
    let spent = |sample: &Sample| sample.cpu_user_ns + sample.cpu_kernel_ns;
    wait_until(|| spent(&row(&mut probe)) > spent(&first) + 300_000_000);
    let last = boundary(&mut probe);
    let window = crate::record::ProcessWindow::over(&[first, last]).unwrap();
    let cpu_ns = window.cpu_user_ns + window.cpu_kernel_ns;
    // Of a thread that runs, the kernel counts up to its last tick. The threads are read after the process.
    assert!(cpu_ns.abs_diff(window.run_queue_cpu_ns.unwrap()) < 50_000_000, "{window:?}");
    assert!(window.run_queue_ns.unwrap() <= window.threads_span_ns.unwrap(), "{window:?}");
    assert!(window.span_ns >= 300_000_000 && cpu_ns <= window.span_ns + 50_000_000, "{window:?}");
}

#[test]
fn a_process_whose_name_is_cut_within_a_letter_is_read_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("приложение"); // 20 bytes, of which the kernel keeps 15.
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let mut server = Command::new(program);
    let server = Running(server.args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap());
    let pid = server.0.id() as Pid;
    wait_until(|| fs::read(format!("/proc/{pid}/stat")).unwrap().windows(4).any(|part| part == b") S "));
    let mut probe = Processes::new(pid);
    let sample = boundary(&mut probe);
    assert_eq!((sample.processes, sample.threads), (1, 1));
    assert!(sample.voluntary_switches.is_some() && sample.rss_bytes > 0);
    assert_eq!(probe.unread(), []);
    assert_eq!(process_tree::name(pid).as_deref(), Some("приложе"));
}

#[test]
fn a_child_that_ended_and_was_not_waited_for_holds_no_memory() {
    let mut child = Command::new("true").spawn().unwrap();
    let zombie = child.id() as Pid;
    wait_until(|| fs::read_to_string(format!("/proc/{zombie}/stat")).unwrap().contains(") Z "));
    let mut probe = Processes::new(std::process::id() as Pid);
    probe.tree.push(zombie);
    assert!(boundary(&mut probe).pss_bytes.unwrap() > 0);
    assert!(!fields_of(&probe).contains(&"pss_bytes"));
    child.wait().unwrap();
}

#[test]
fn a_process_that_is_gone_is_said_to_be() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let mut probe = Processes::new(child.id() as Pid);
    assert_eq!(boundary(&mut probe).processes, 0);
    assert!(fields_of(&probe).contains(&"cpu_user_ns"));
}

#[test]
fn a_number_that_another_process_has_by_now_is_not_taken_for_the_server() {
    let other = Running(Command::new("sleep").arg("60").spawn().unwrap());
    let mut probe = Processes::new(other.0.id() as Pid);
    probe.started = probe.started.map(|started| started - 1);
    assert_eq!(boundary(&mut probe).processes, 0);
    assert_eq!(row(&mut probe).processes, 0);
    let unread = probe.unread();
    assert!(unread.iter().any(|(_, why)| why.contains("its number is another's")), "{unread:?}");
}

/// Starts a process that ignores the end of its children, and has one. The child works for a tenth of a second, and
/// then waits until its input ends.
fn with_a_child_that_nobody_waits_for() -> Running {
    let mut parent = Command::new("sleep");
    parent.arg("60").stdin(Stdio::piped());
    // SAFETY: these calls may be made between fork and exec, and what is ignored stays ignored after exec. The child
    // makes no other calls, and closes the pipe that reports exec.
    unsafe {
        parent.pre_exec(|| {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            if libc::fork() == 0 {
                libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
                while super::super::own_cpu_ns() < 100_000_000 {}
                let mut byte = [0_u8];
                while libc::read(0, byte.as_mut_ptr().cast(), 1) > 0 {}
                libc::_exit(0);
            }
            Ok(())
        });
    }
    Running(parent.spawn().unwrap())
}

#[test]
fn what_a_child_used_does_not_drop_out_where_its_parent_ignores_its_end() {
    let mut server = with_a_child_that_nobody_waits_for();
    let mut probe = Processes::new(server.0.id() as Pid);
    let cpu_ns = |sample: Sample| sample.cpu_user_ns + sample.cpu_kernel_ns;
    let mut seen_ns = 0;
    wait_until(|| {
        let sample = row_and_tree(&mut probe);
        seen_ns = cpu_ns(sample);
        sample.processes == 2 && seen_ns > 100_000_000
    });
    drop(server.0.stdin.take());
    wait_until(|| row(&mut probe).processes == 1);
    assert!(cpu_ns(row(&mut probe)) >= seen_ns);
    let unread = probe.unread();
    assert!(unread.iter().any(|(_, why)| why.contains("for which no parent waited")), "{unread:?}");
}

#[test]
fn a_process_whose_parent_ended_is_watched_on() {
    // The process that the inner shell starts outlives that shell.
    let mut server = Command::new("sh");
    server.args(["-c", "sh -c 'sleep 60 & read line'; sleep 60"]).stdin(Stdio::piped());
    let mut server = Running(server.spawn().unwrap());
    let mut probe = Processes::new(server.0.id() as Pid);
    wait_until(|| row_and_tree(&mut probe).processes == 3);
    let mut orphan = probe.tree.clone();
    drop(server.0.stdin.take());
    // The inner shell has ended, and the outer shell's sleep has begun.
    wait_until(|| {
        row_and_tree(&mut probe).processes == 3 && probe.tree.iter().any(|pid| !orphan.contains(pid))
    });
    orphan.retain(|pid| probe.tree.contains(pid) && *pid != server.0.id() as Pid);
    assert_eq!(orphan.len(), 1, "the inner shell's sleep");
    let orphan = rustix::process::Pid::from_raw(orphan[0]).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
}
