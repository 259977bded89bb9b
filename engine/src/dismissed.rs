//! When a command that waits for its caller is over: the caller closed its standard input, for whatever reason (done,
//! `kill -9`), or a signal asked it to end.

use std::io::{self, Read};
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Sends an event when standard input ends. What is read until then is thrown away.
pub fn at_end_of_input<Event: Send + 'static>(events: Sender<Event>, event: fn() -> Event) {
    thread::spawn(move || {
        let mut buffer = [0; 64];
        let mut input = io::stdin().lock();
        while matches!(input.read(&mut buffer), Ok(read) if read > 0) {}
        let _ = events.send(event());
    });
}

/// Sends an event at each signal that asks to end.
///
/// # Errors
/// If signals cannot be listened for.
pub fn on_signals<Event: Send + 'static>(events: Sender<Event>, event: fn() -> Event) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = events.send(event());
        }
    });
    Ok(())
}
