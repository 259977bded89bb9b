//! A trial that a load host runs: its engine, in a process of its own, and the thread that passes on what that writes.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::failure::Failure;
use crate::output;
use crate::process_tree;
use crate::silence::end_at_once;

/// For how long the lab, or a trial, may be silent. Both say each second at the latest that they are there, so two lines in
/// a row may be late; and a load that nobody watches must be over within 4 s.
pub const SILENCE: Duration = Duration::from_secs(3);
/// How often it is looked at whether an engine is silent.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
/// How an engine that says only that it is there begins its line.
const BEAT: &[u8] = b"{\"beat\":";
/// An engine that was killed after it had been silent for so long ended by its own silence: it writes each second.
const NEARLY_SILENT: Duration = Duration::from_secs(2);

/// The engine of a trial that is going on.
pub struct Trial {
    engine: Child,
    input: ChildStdin,
}

impl Trial {
    pub fn tell(&mut self, line: &str) {
        // One that has ended is no longer to be told anything.
        let _ = self.input.write_all(format!("{line}\n").as_bytes());
    }

    pub fn kill(&mut self) {
        let _ = self.engine.kill();
        let _ = self.engine.wait();
    }
}

/// Starts an engine for `spec`, which is `place` until its last line has been written.
///
/// # Errors
/// If there is no process or no thread for it.
pub fn begin(spec: &str, place: &Arc<Mutex<Option<Trial>>>) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::new(format!("cannot start an engine: {error}"));
    let mut engine = process_tree::this_program()
        .args(["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let streams = (engine.stdin.take(), engine.stderr.take(), engine.stdout.take());
    let (Some(input), Some(lines), Some(record)) = streams else { unreachable!("all are piped") };
    let mut trial = Trial { engine, input };
    // It reads all of the spec before it writes anything, so neither waits for the other.
    trial.tell(spec);
    *locked(place) = Some(trial);
    let place = Arc::clone(place);
    let pass = move || {
        // Without this thread a trial would never be over, so this process ends, and its engine with it.
        let how = pass_on(&place, lines, record).unwrap_or_else(|_| end_at_once());
        let trial = locked(&place).take();
        drop(trial);
        for line in how {
            let _ = output::print(&line);
        }
    };
    thread::Builder::new().name("trial".to_owned()).spawn(pass).map(drop).map_err(Failure::thread)
}

/// Passes on what the engine writes until it has ended, and kills it if it is silent. Returns the lines on how it ended.
fn pass_on(
    place: &Mutex<Option<Trial>>,
    mut lines: ChildStderr,
    mut record: ChildStdout,
) -> io::Result<Vec<String>> {
    let (mut line, mut written) = (Vec::new(), Vec::new());
    let (mut lines_end, mut record_ends) = (false, false);
    let mut heard = Instant::now();
    let mut buffer = vec![0; 1 << 16];
    while !(lines_end && record_ends) {
        if heard.elapsed() >= SILENCE {
            with(place, |trial| trial.engine.kill())?;
        }
        // A stream that has ended is no longer waited for.
        let wanted = |ends: bool| if ends { PollFlags::empty() } else { PollFlags::IN };
        let mut streams = [PollFd::new(&lines, wanted(lines_end)), PollFd::new(&record, wanted(record_ends))];
        match poll(&mut streams, Some(&LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [has_lines, has_record] = streams.map(|stream| !stream.revents().is_empty());
        if has_lines && !lines_end {
            let read = lines.read(&mut buffer)?;
            lines_end = read == 0;
            heard = if lines_end { heard } else { Instant::now() };
            line.extend_from_slice(&buffer[..read]);
            pass_lines(&mut line);
        }
        if has_record && !record_ends {
            let read = record.read(&mut buffer)?;
            record_ends = read == 0;
            written.extend_from_slice(&buffer[..read]);
        }
    }
    let status = with(place, |trial| trial.engine.wait())?;
    let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or_default());
    let was_silent = status.signal() == Some(libc::SIGKILL) && heard.elapsed() >= NEARLY_SILENT;
    let mut how = Vec::new();
    if status.success() {
        how.push(format!("{{\"record\":{}}}", String::from_utf8_lossy(&written).trim_end()));
    } else if was_silent {
        let silent_s = heard.elapsed().as_secs_f64();
        how.push(
            Failure::new(format!(
                "the engine of the trial wrote nothing for {silent_s:.1} s: it was stopped"
            ))
            .to_string(),
        );
    }
    how.push(ended(code));
    Ok(how)
}

/// Writes the whole lines, and takes them off. Those that only say that the engine is there are not passed on: this process
/// says so itself.
fn pass_lines(lines: &mut Vec<u8>) {
    let whole = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut output = io::stdout().lock();
    for line in lines[..whole].split_inclusive(|&byte| byte == b'\n') {
        if !line.starts_with(BEAT) {
            let _ = output.write_all(line);
        }
    }
    let _ = output.flush();
    drop(lines.drain(..whole));
}

/// The trial is there until the thread that calls has taken it.
fn with<T>(place: &Mutex<Option<Trial>>, what: impl FnOnce(&mut Trial) -> T) -> T {
    what(locked(place).as_mut().expect("it goes on"))
}

/// The last line of a trial. `code`: negative if a signal ended it.
pub fn ended(code: i32) -> String {
    json!({"ended": {"code": code}}).to_string()
}

pub fn locked(trial: &Mutex<Option<Trial>>) -> MutexGuard<'_, Option<Trial>> {
    trial.lock().unwrap_or_else(PoisonError::into_inner)
}
