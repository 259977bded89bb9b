//! What the engine says to whoever called it. A stream that nobody reads holds nobody up, and one that is
//! closed ends nobody.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use crate::failure::Failure;

/// One line on standard output.
///
/// # Errors
/// Where it cannot be written.
pub fn print(line: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(format!("cannot write to standard output: {error}")))
}

/// One line on standard error, where there is somebody to read it.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes lines on standard error, on a thread of its own. While one waits to be read, the next ones are left
/// out.
pub struct Progress(SyncSender<String>);

impl Progress {
    /// The thread runs where the calling one does, and ends with the process: it may wait for a reader for
    /// ever. Where no thread is to be had, there are no lines.
    pub fn begin() -> Self {
        let (outbox, lines) = sync_channel(1);
        let _ = thread::Builder::new().name("progress".into()).spawn(move || write_all(&lines));
        Self(outbox)
    }

    pub fn say(&self, line: String) {
        let _ = self.0.try_send(line);
    }
}

fn write_all(lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            // Not by way of `io::stderr`, whose lock others would then wait for.
            match rustix::io::write(rustix::stdio::stderr(), rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => thread::sleep(Duration::from_millis(10)),
                Err(_) => return, // Nobody is there to read it, or ever will be.
            }
        }
    }
}
