//! Whoever started a trial: what they say on standard input after its spec, line by line, and what they are told meanwhile on
//! standard error.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::beginning::LEAD_NS;
use crate::clock::now_ns;
use crate::failure::Failure;
use crate::output::Progress;
use crate::silence::{self, Silence};

/// The line on which a load that is held goes on: at once, or at the instant of the monotonic clock that follows it.
pub const GO: &str = "go";
/// The line that ends a load early, as SIGINT does.
pub const END: &str = "end";
/// The line that says that somebody is there.
pub const BEAT: &str = "beat";
/// How often a load that is held looks whether it is to end: often enough that nobody sees it wait.
const HELD_LOOK: Duration = Duration::from_millis(50);
/// An instant further ahead than this is of another machine's clock. Nobody who begins several loads at one instant lets
/// them wait for as long.
const FURTHEST: Duration = Duration::from_secs(60);
/// How often an engine says that it is there.
pub const BEATS_EVERY: Duration = Duration::from_secs(1);

pub struct Caller {
    /// Set when the load is to end early.
    pub enough: Arc<AtomicBool>,
    pub progress: Progress,
    /// The lines that are neither `END` nor `BEAT`, until the input ends; `None`: none is read.
    lines: Option<Receiver<String>>,
}

impl Caller {
    /// Listens for SIGINT from here on.
    ///
    /// # Errors
    /// If it cannot.
    pub fn new() -> Result<Self, Failure> {
        let enough = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&enough))
            .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
        Ok(Self { enough, progress: Progress::begin(), lines: None })
    }

    /// Reads lines from here on, in a thread of its own. `at_most`: this process ends at once if no line comes for so
    /// long, or if none can come any more, and tells each second that it is there.
    ///
    /// # Errors
    /// If there is no thread or no timer for that.
    pub fn listen(&mut self, at_most: Option<Duration>) -> Result<(), Failure> {
        let silence = at_most.map(Silence::begin).transpose()?;
        if silence.is_some() {
            self.beat()?;
        }
        let (sender, lines) = mpsc::channel();
        let enough = Arc::clone(&self.enough);
        let listen = move || {
            let _ = each_line(silence.as_ref(), |line| match line {
                BEAT => {}
                END => enough.store(true, Relaxed),
                line => drop(sender.send(line.to_owned())),
            });
            if silence.is_some() {
                silence::end_at_once();
            }
        };
        thread::Builder::new().name("lines".to_owned()).spawn(listen).map_err(Failure::thread)?;
        self.lines = Some(lines);
        Ok(())
    }

    fn beat(&self) -> Result<(), Failure> {
        let progress = self.progress.clone();
        let beat = move || {
            for beat in 1_u64.. {
                thread::sleep(BEATS_EVERY);
                progress.say(format!("{{\"beat\":{beat}}}"));
            }
        };
        thread::Builder::new().name("beat".to_owned()).spawn(beat).map(drop).map_err(Failure::thread)
    }

    /// Says that the load is held after this number of turns, and waits until the next is to begin. Returns the instant at
    /// which it does, which is at most `LEAD_NS` ahead, and 0 if none was told; `None`: the load is to end. `listen` was
    /// called before.
    ///
    /// # Errors
    /// If another line comes than the one that lets it go on, or none can come any more.
    pub fn hold(&self, turns: usize) -> Result<Option<u64>, Failure> {
        let lines = self.lines.as_ref().expect("it listens");
        io::stderr()
            .write_all(format!("{{\"held\":{turns}}}\n").as_bytes())
            .map_err(|error| Failure::new(format!("cannot ask for the next turn: {error}")))?;
        let line = loop {
            match lines.recv_timeout(HELD_LOOK) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Timeout) if self.enough.load(Relaxed) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break String::new(),
            }
        };
        // Who interrupts may close the input at the same time.
        if self.enough.load(Relaxed) {
            return Ok(None);
        }
        let told_ns = told_ns(&line, now_ns()).ok_or_else(|| {
            let expected =
                format!("`{GO}`, or `{GO} INSTANT` within {FURTHEST:?} by the clock of this machine");
            Failure::usage(format!("after turn {turns} standard input has {line:?}, not {expected}"))
        })?;
        Ok(self.waits_until(told_ns.saturating_sub(LEAD_NS)).then_some(told_ns))
    }

    /// Waits until this instant; false: the load is to end.
    fn waits_until(&self, at_ns: u64) -> bool {
        while !self.enough.load(Relaxed) {
            let left = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(HELD_LOOK));
        }
        false
    }
}

/// Returns the instant at which a load that is held goes on by this line, and 0 if it names none; `None`: it is no such
/// line, or the instant is too far ahead.
pub fn told_ns(line: &str, now_ns: u64) -> Option<u64> {
    let told = line.strip_prefix(GO)?;
    if told.is_empty() {
        return Some(0);
    }
    let at_ns = told.strip_prefix(' ')?.parse().ok()?;
    (at_ns <= now_ns.saturating_add(FURTHEST.as_nanos() as u64)).then_some(at_ns)
}

/// Passes on each line of standard input that is not empty, without its end, until there are no more. Any part of a line puts
/// `silence` off: a long one may take a while to come.
///
/// # Errors
/// If the input cannot be read.
pub fn each_line(silence: Option<&Silence>, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        let part = match input.fill_buf() {
            Ok(part) => part,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let Some(silence) = silence.filter(|_| !part.is_empty()) {
            silence.put_off();
        }
        let end = part.iter().position(|&byte| byte == b'\n');
        let (taken, is_last) = (end.map_or(part.len(), |at| at + 1), part.is_empty());
        line.extend_from_slice(&part[..taken]);
        input.consume(taken);
        if end.is_some() || is_last {
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                take(text.trim());
            }
            line.clear();
        }
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_goes_on_at_the_instant_that_is_told() {
        const S: u64 = 1_000_000_000;
        let now_ns = 1_000 * S;
        assert_eq!(told_ns("go", now_ns), Some(0));
        for at_ns in [1, now_ns, now_ns + S, now_ns + 60 * S] {
            assert_eq!(told_ns(&format!("go {at_ns}"), now_ns), Some(at_ns));
        }
        let too_far = format!("go {}", now_ns + 61 * S);
        for other in [&too_far, "gone", "go ", "go soon", "go -1", "go 1.5", "go 1 2", "going 1", ""] {
            assert_eq!(told_ns(other, now_ns), None, "{other:?}");
        }
    }
}
