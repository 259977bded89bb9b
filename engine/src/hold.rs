//! `crumple-engine hold`: changes something about processes of the user's and undoes it when the caller ends. It loads
//! and measures nothing.
//!
//! One line of JSON says what to change. The caller holds standard input; when that closes, for whatever reason, or
//! after the time that the line allows, the change is undone. The hold leaves the caller's session, so that no signal
//! to the caller's group reaches it. `kill -9` of the hold itself does no harm either: the kernel resumes threads that it
//! has stopped, and what the kernel does not undo is undone by a second process, which knows how it was before the hold
//! changes anything.

mod settings;
mod stopped;

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::failure::Failure;
use crate::process_tree::{self, Pid};
use crate::{dismissed, output};
use settings::{Kind, Row, Rows};
use stopped::Stopped;

/// The second process waits this much longer than the hold, which ends by itself.
const LATER: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// After so long it ends by itself: a caller that is stopped does not close its end.
    at_most_s: f64,
    what: What,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    /// Bind all threads of a process tree to these cores.
    Cores {
        root: Pid,
        cores: Vec<usize>,
    },
    /// Raise the limit of open files of each process of a tree as far as it may raise it itself.
    OpenFiles {
        root: Pid,
    },
    /// Stop one thread, all threads of a process, or of a tree.
    Thread {
        pid: Pid,
        tid: Pid,
    },
    Process {
        pid: Pid,
    },
    Tree {
        root: Pid,
    },
    /// Change nothing, and undo what another hold has changed.
    Restore {
        rows: Vec<Row>,
    },
}

#[derive(PartialEq, Eq)]
enum Event {
    /// The caller closed its end.
    Dismissed,
    /// A signal asked it to end.
    Asked,
    /// The second process has ended, though its input is open.
    SecondEnded,
}

/// Prints `{"before":…}` if there is something to restore, `{"held":N}`, and at the end `{"released":N}`, or `{"let_go":N}` if it
/// ended before the caller wanted it to: how many threads, or processes, were changed.
///
/// # Errors
/// Why it cannot be held, in words; then nothing is changed.
pub fn run() -> Result<(), Failure> {
    let _ = rustix::process::setsid(); // It fails only if the caller has done it.
    let (events, inbox) = mpsc::channel();
    dismissed::on_signals(events.clone(), || Event::Asked)?;
    let asked = read()?;
    dismissed::at_end_of_input(events.clone(), || Event::Dismissed);
    let at_most =
        Duration::try_from_secs_f64(asked.at_most_s).map_err(|error| Failure::usage(error.to_string()))?;
    let stopped = match asked.what {
        What::Cores { root, cores } => {
            return change(&Rows::look(root, &Kind::Cores(cores))?, at_most, events, &inbox);
        }
        What::OpenFiles { root } => {
            return change(&Rows::look(root, &Kind::OpenFiles)?, at_most, events, &inbox);
        }
        What::Restore { rows } => {
            let _ = inbox.recv_timeout(at_most + LATER);
            return said("restored", Rows::new(rows).undo());
        }
        What::Thread { pid, tid } => Stopped::thread(pid, tid)?,
        What::Process { pid } => Stopped::process(pid)?,
        What::Tree { root } => Stopped::tree(root)?,
    };
    said("held", stopped.number())?;
    let event = inbox.recv_timeout(at_most);
    said(how_it_ended(event.as_ref().ok()), stopped.release())
}

/// `event` `None`: its time was over.
fn how_it_ended(event: Option<&Event>) -> &'static str {
    if event == Some(&Event::Dismissed) { "released" } else { "let_go" }
}

fn read() -> Result<Asked, Failure> {
    let mut line = String::new();
    io::stdin()
        .read_line(&mut line)
        .map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
    serde_json::from_str(&line).map_err(|error| Failure::usage(format!("not what to hold: {error}")))
}

fn said(what: &str, number: usize) -> Result<(), Failure> {
    output::print(&format!("{{\"{what}\":{number}}}"))
}

fn change(
    rows: &Rows,
    at_most: Duration,
    events: Sender<Event>,
    inbox: &Receiver<Event>,
) -> Result<(), Failure> {
    let listed = serde_json::to_string(rows.listed()).expect("rows have numbers only");
    output::print(&format!("{{\"before\":{listed}}}"))?;
    let input = second(&listed, at_most, events)?;
    let changed = rows.make();
    let told = changed.as_ref().map_or(Ok(()), |&number| said("held", number));
    let event = if changed.is_ok() && told.is_ok() { inbox.recv_timeout(at_most).ok() } else { None };
    let released = rows.undo();
    drop(input);
    changed?;
    said(how_it_ended(event.as_ref()), released)
}

/// Starts the process that undoes the change if this one is killed: when its input, which only this one holds, closes. What
/// it needs to know is in that pipe before this returns. It writes where this one writes, so the caller reads to the end of
/// that until both have ended.
fn second(listed: &str, at_most: Duration, events: Sender<Event>) -> Result<ChildStdin, Failure> {
    let cannot =
        |error: io::Error| Failure::new(format!("cannot start the second process of the hold: {error}"));
    let mut second = process_tree::this_program()
        .arg("hold")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(cannot)?;
    let mut input = second.stdin.take().expect("it is piped");
    let asked = format!(
        "{{\"at_most_s\":{},\"what\":{{\"restore\":{{\"rows\":{listed}}}}}}}\n",
        at_most.as_secs_f64()
    );
    input.write_all(asked.as_bytes()).map_err(cannot)?;
    thread::spawn(move || tell_its_end(&mut second, &events));
    Ok(input)
}

fn tell_its_end(second: &mut Child, events: &Sender<Event>) {
    let _ = second.wait();
    let _ = events.send(Event::SecondEnded);
}
