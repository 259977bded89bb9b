//! `crumple-engine guard`: starts a command and sees to it that neither it nor anything it started
//! outlives whoever asked. It loads nothing and measures nothing.
//!
//! The asker holds the guard's standard input. When that closes, for whatever reason (done, ctrl-C,
//! `kill -9`), the guard ends the command and all its descendants. As a child subreaper it inherits
//! even those that left their session or their parent.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::process_tree::{self, Pid};
use crate::{cores, failure::Failure};

#[derive(clap::Args)]
pub struct Guard {
    /// Folder to make for the command and to remove, with all in it, at the end
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
    /// Seconds between asking to end (SIGTERM) and ending (SIGKILL)
    #[arg(long, default_value_t = 3.0)]
    grace: f64,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

enum Event {
    /// The asker closed our standard input, or a signal asked us to end.
    Dismissed,
    /// The command itself ended; its descendants may live on.
    CommandEnded(ExitStatus),
    /// No descendant is left.
    AllGone,
}

/// Runs the command until it or the asker ends. Prints `{"pid":N}`, then `{"exit":…,"signal":…}`.
pub fn run(guard: Guard) -> Result<(), Failure> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| Failure::new(format!("cannot become a subreaper: {error}")))?;
    if let Some(scratch) = &guard.scratch {
        fs::create_dir_all(scratch)
            .map_err(|error| Failure::file("cannot make the scratch folder", scratch, &error))?;
    }
    let outcome = watch(&guard);
    if let Some(scratch) = &guard.scratch {
        let _ = fs::remove_dir_all(scratch);
    }
    outcome
}

fn watch(guard: &Guard) -> Result<(), Failure> {
    let (events, inbox) = mpsc::channel();
    // Signals first: one that arrives while the command starts must not be lost.
    dismiss_on_signals(events.clone())?;
    let pid = start(guard)?;
    say(&format!("{{\"pid\":{pid}}}"));
    dismiss_at_end_of_input(events.clone());
    thread::spawn(move || reap(pid, &events));

    let mut ended = None;
    match inbox.recv() {
        Ok(Event::CommandEnded(status)) => ended = Some(status),
        Ok(Event::AllGone) => return Ok(()),
        Ok(Event::Dismissed) | Err(_) => {}
    }
    ended = end_descendants(&inbox, Duration::from_secs_f64(guard.grace)).or(ended);
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
    // SAFETY: only async-signal-safe system calls between fork and exec; `cores` is read, not grown.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            // Should the guard itself be killed, at least the command goes with it.
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

/// Waits for every child we have or inherit, until there is none.
fn reap(command: Pid, events: &Sender<Event>) {
    loop {
        let mut status = 0;
        let pid = unsafe { libc::waitpid(-1, &mut status, 0) };
        if pid == command {
            let _ = events.send(Event::CommandEnded(ExitStatus::from_raw(status)));
        } else if pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            let _ = events.send(Event::AllGone);
            return;
        }
    }
}

fn end_descendants(inbox: &Receiver<Event>, grace: Duration) -> Option<ExitStatus> {
    let kill_from = Instant::now() + grace;
    let mut ended = None;
    signal_descendants(libc::SIGTERM);
    loop {
        match inbox.recv_timeout(Duration::from_millis(20)) {
            Ok(Event::CommandEnded(status)) => {
                ended = Some(status);
                // Children that the command leaves behind have not been asked as yet.
                signal_descendants(libc::SIGTERM);
            }
            Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return ended,
            Ok(Event::Dismissed) | Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= kill_from {
            signal_descendants(libc::SIGKILL);
        }
    }
}

fn signal_descendants(signal: i32) {
    for pid in process_tree::descendants(std::process::id() as Pid) {
        unsafe { libc::kill(pid, signal) };
    }
}

fn dismiss_at_end_of_input(events: Sender<Event>) {
    thread::spawn(move || {
        let mut buffer = [0; 64];
        let mut input = io::stdin().lock();
        while matches!(input.read(&mut buffer), Ok(read) if read > 0) {}
        let _ = events.send(Event::Dismissed);
    });
}

fn dismiss_on_signals(events: Sender<Event>) -> Result<(), Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = events.send(Event::Dismissed);
        }
    });
    Ok(())
}

fn say(line: &str) {
    // The asker may be gone already; the ending goes on all the same.
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
