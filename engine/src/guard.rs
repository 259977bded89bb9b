//! `crumple-engine guard`: starts a command, and ends it and everything it started when the caller ends. It puts no
//! load on anything and measures nothing.
//!
//! The caller holds the guard's standard input. When that closes, for whatever reason (done, ctrl-C, `kill -9`), the
//! guard ends the command and all its descendants. As a child subreaper it also inherits those that left their
//! session or whose parent ended.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, pidfd_send_signal, wait};

use crate::failure::Failure;
use crate::process_tree::Pid;
use crate::{cores, dismissed, ending};

/// A caller that fills a folder before the command starts puts this file into it, to say that it is to be removed.
const MADE_FOR_THIS: &str = ".crumple-scratch";
const LONGEST_GRACE_S: f64 = 3600.0;

#[derive(clap::Args)]
pub struct Guard {
    /// Folder to create for the command and to remove, with its contents, at the end; an existing folder has to
    /// be empty, or to hold a file .crumple-scratch
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Cores the command may use, for instance 0,1
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Working folder of the command
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// File that takes the command's standard output and error
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Seconds from SIGTERM, which asks to end, to SIGKILL
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = grace)]
    grace: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

enum Event {
    /// The caller closed the guard's standard input, or a signal asked the guard to end.
    Dismissed,
    /// The command itself ended. Its descendants may still run.
    CommandEnded(ExitStatus),
    /// No descendant is left.
    AllGone,
}

/// Runs the command until it or the caller ends. Prints `{"pid":N}`, then `{"exit":…,"signal":…}`.
pub fn run(guard: Guard) -> Result<(), Failure> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| Failure::new(format!("cannot become a subreaper: {error}")))?;
    cores::check(&guard.cores)?;
    guard.scratch.as_deref().map_or(Ok(()), take_scratch)?;
    let outcome = watch(&guard);
    if let Some(scratch) = &guard.scratch {
        let _ = fs::remove_dir_all(scratch);
    }
    outcome
}

fn grace(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.0..=LONGEST_GRACE_S).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("must be a number of seconds from 0 to {LONGEST_GRACE_S}"))
}

/// Creates `folder`, or takes an existing one that is empty or marked by `MADE_FOR_THIS`.
fn take_scratch(folder: &Path) -> Result<(), Failure> {
    let cannot = |what: &str, error| Failure::file(what, folder, &error);
    let is_empty = fs::read_dir(folder).map(|mut entries| entries.next().is_none());
    match is_empty {
        Ok(is_empty) if is_empty || folder.join(MADE_FOR_THIS).exists() => Ok(()),
        Ok(_) => Err(Failure::usage(format!(
            "the scratch folder {} holds files, and all in it would be removed",
            folder.display()
        ))
        .remedy("name a new or an empty folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(|error| cannot("cannot make the scratch folder", error))
        }
        Err(error) => Err(cannot("cannot look into the scratch folder", error)),
    }
}

fn watch(guard: &Guard) -> Result<(), Failure> {
    let (events, inbox) = mpsc::channel();
    // Listen for signals first: one that arrives while the command starts must not be lost.
    dismissed::on_signals(events.clone(), || Event::Dismissed)?;
    let pid = start(guard)?;
    // Hold the command before anything waits for it: until then no other process has its number.
    let command = ending::hold(pid).ok();
    say(&format!("{{\"pid\":{pid}}}"));
    dismissed::at_end_of_input(events.clone(), || Event::Dismissed);
    thread::spawn(move || reap(pid, &events));

    let mut ended = None;
    match inbox.recv() {
        Ok(Event::CommandEnded(status)) => ended = Some(status),
        Ok(Event::AllGone) => return Ok(()),
        Ok(Event::Dismissed) | Err(_) => {}
    }
    ended = end_descendants(&inbox, guard.grace, command.as_ref()).or(ended);
    let number = |code: Option<i32>| code.map_or("null".into(), |code| code.to_string());
    say(&format!(
        "{{\"exit\":{},\"signal\":{}}}",
        number(ended.and_then(|status| status.code())),
        number(ended.and_then(|status| status.signal())),
    ));
    Ok(())
}

fn start(guard: &Guard) -> Result<Pid, Failure> {
    let mut command = Command::new(&guard.command[0]);
    command.args(&guard.command[1..]).stdin(Stdio::null());
    if let Some(folder) = &guard.cwd {
        command.current_dir(folder);
    }
    if let Some(path) = &guard.log {
        let file = File::create(path)
            .map_err(|error| Failure::file("cannot write the server's output", path, &error))?;
        let twin = file.try_clone().map_err(|error| Failure::new(error.to_string()))?;
        command.stdout(file).stderr(twin);
    } else {
        command.stdout(io::stderr());
    }
    let cores = guard.cores.clone();
    // SAFETY: between fork and exec there are only async-signal-safe system calls; `cores` is only read.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            // If the guard itself is killed, the kernel kills at least the command.
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            cores::pin_current_thread(&cores)?;
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| {
        Failure::new(format!("cannot start {}: {error}", guard.command[0]))
            .remedy("check that the command exists and may be run")
    })?;
    Ok(child.id() as Pid)
}

/// Waits for every child, started or inherited, until there is none.
fn reap(command: Pid, events: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == command => {
                let _ = events.send(Event::CommandEnded(ExitStatus::from_raw(status.as_raw())));
            }
            Err(Errno::CHILD) => {
                let _ = events.send(Event::AllGone);
                return;
            }
            _ => {}
        }
    }
}

fn end_descendants(
    inbox: &Receiver<Event>,
    grace: Duration,
    command: Option<&OwnedFd>,
) -> Option<ExitStatus> {
    let kill_from = Instant::now() + grace;
    let mut ended = None;
    ask_to_end(command);
    loop {
        match inbox.recv_timeout(Duration::from_millis(20)) {
            Ok(Event::CommandEnded(status)) => {
                ended = Some(status);
                // Children that the command leaves behind have not been asked to end yet.
                ask_to_end(None);
            }
            Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return ended,
            Ok(Event::Dismissed) | Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= kill_from {
            signal_all(command, Signal::KILL);
        }
    }
}

/// Asks to end with SIGTERM. A stopped process handles it only when SIGCONT lets it continue.
fn ask_to_end(command: Option<&OwnedFd>) {
    signal_all(command, Signal::TERM);
    signal_all(command, Signal::CONT);
}

/// Signals every descendant. If `/proc` shows none, signals the command by its pidfd; otherwise the guard would wait
/// for ever.
fn signal_all(command: Option<&OwnedFd>, signal: Signal) {
    if ending::signal_descendants_of(std::process::id() as Pid, signal) == 0 {
        let _ = command.map(|command| pidfd_send_signal(command, signal));
    }
}

fn say(line: &str) {
    // The caller may have ended. The guard ends the command all the same.
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_that_is_no_time_is_refused() {
        assert_eq!(grace("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(grace("0"), Ok(Duration::ZERO));
        for text in ["-1", "NaN", "inf", "1e300", "3601", "", "3s"] {
            assert!(grace(text).unwrap_err().contains("from 0 to 3600"), "{text}");
        }
    }

    #[test]
    fn only_a_folder_that_nobody_could_miss_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let new = place.path().join("a").join("new");
        take_scratch(&new).unwrap();
        take_scratch(&new).unwrap();
        fs::write(new.join("thesis"), "ten years").unwrap();
        let failure = take_scratch(&new).unwrap_err();
        assert!(failure.error.contains("holds files") && failure.remedy.contains("empty"), "{failure}");
        assert_eq!(failure.exit_code, 2);
        fs::write(new.join(MADE_FOR_THIS), "").unwrap();
        take_scratch(&new).unwrap();
        assert!(take_scratch(&new.join("thesis")).unwrap_err().error.contains("cannot look into"));
    }
}
