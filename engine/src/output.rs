//! What the engine writes for its caller. If the caller does not read progress, no other thread waits; if it closes a
//! stream, the engine goes on.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use crate::failure::Failure;

/// Writes one line on standard output.
///
/// # Errors
/// If the line cannot be written.
pub fn print(line: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(format!("cannot write to standard output: {error}")))
}

/// Writes one line on standard error. An error is ignored.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes lines on standard error, on a thread of its own. While one line waits to be read, further lines are dropped.
#[derive(Clone)]
pub struct Progress(SyncSender<String>);

impl Progress {
    /// Starts the thread, on the cores of the calling thread. It ends with the process, as it may wait for a reader for
    /// ever. If it cannot be started, no lines are written.
    pub fn begin() -> Self {
        let (outbox, lines) = sync_channel(1);
        let _ = thread::Builder::new().name("progress".into()).spawn(move || write_all(&lines));
        Self(outbox)
    }

    pub fn say(&self, line: String) {
        let _ = self.0.try_send(line);
    }

    /// Says a line that is never dropped: while another one waits to be read, this thread waits, too.
    pub fn tell(&self, line: &str) {
        let _ = self.0.send(line.to_owned());
    }
}

fn write_all(lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            // Not through `io::stderr`: other threads would wait for its lock.
            match rustix::io::write(rustix::stdio::stderr(), rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => thread::sleep(Duration::from_millis(10)),
                Err(_) => return, // The reader has closed its end.
            }
        }
    }
}
