//! `crumple-engine serve`: puts loads on from this machine for a lab on another one, which it hears through its standard
//! input alone: it listens on no port but the null server's, on loopback.
//!
//! A line of the lab is a TrialSpec, one of the words of a trial (`go`, `go INSTANT`, `end`, `beat`), `facts`, `clock`,
//! `resolve NAME`, `knock ADDRESS:PORT`, `null-server` with its arguments, or `null-server-end`. Each trial is one of
//! `crumple-engine run`, so that it measures as one that a lab starts beside itself. If the lab is silent this process
//! ends, and so does its trial, which has a timer of its own.

mod facts;
mod null;
mod trial;
mod way;

use std::sync::{Arc, Mutex};
use std::thread;

pub use facts::Facts;

use self::null::Null;
use self::trial::{SILENCE, Trial, ended, locked};
use crate::caller::{BEAT, BEATS_EVERY, END, GO, each_line};
use crate::failure::Failure;
use crate::output;
use crate::silence::Silence;
use crate::spec::TrialSpec;

/// Serves until standard input ends, or nothing comes there for too long.
///
/// # Errors
/// If a thread or a timer cannot be had, or the input cannot be read.
pub fn run() -> Result<(), Failure> {
    let silence = Silence::begin(SILENCE)?;
    thread::Builder::new().name("beat".to_owned()).spawn(beat).map_err(Failure::thread)?;
    let mut host = Host::default();
    let heard = each_line(Some(&silence), |line| host.hear(line));
    host.end();
    heard.map_err(|error| Failure::new(format!("cannot read standard input: {error}")))
}

fn beat() {
    for beat in 0_u64.. {
        if output::print(&format!("{{\"beat\":{beat}}}")).is_err() {
            return; // Who no longer reads is gone: silence ends this process.
        }
        thread::sleep(BEATS_EVERY);
    }
}

/// What runs here for the lab. Its processes are started by the thread that reads lines, which lasts as long as this
/// process: they are killed when the thread ends that started them.
#[derive(Default)]
struct Host {
    trial: Arc<Mutex<Option<Trial>>>,
    null: Option<Null>,
}

impl Host {
    fn hear(&mut self, line: &str) {
        let heard = match line.split_once(' ').unwrap_or((line, "")) {
            // Without a trial: it has just ended.
            (BEAT | END, "") | (GO, _) => {
                if let Some(trial) = locked(&self.trial).as_mut() {
                    trial.tell(line);
                }
                Ok(())
            }
            ("facts", "") => facts::print(),
            ("clock" | "resolve" | "knock", _) => way::answer(line),
            ("null-server", arguments) => Null::begin(arguments).map(|null| self.null = Some(null)),
            ("null-server-end", "") => {
                self.null = None;
                Ok(())
            }
            _ if line.starts_with('{') => {
                self.begin(line);
                Ok(())
            }
            _ => Err(Failure::usage(format!("this is no line for a load host: {line:.40?}"))),
        };
        if let Err(failure) = heard {
            let _ = output::print(&failure.to_string());
        }
    }

    /// Begins the trial of a spec. If it cannot, says so as of a trial that has ended.
    fn begin(&self, line: &str) {
        let begun = if locked(&self.trial).is_some() {
            Err(Failure::usage("another trial is going on"))
        } else {
            spec(line).and_then(|spec| trial::begin(&spec, &self.trial))
        };
        if let Err(failure) = begun {
            let _ = output::print(&failure.to_string());
            let _ = output::print(&ended(failure.exit_code.into()));
        }
    }

    fn end(&self) {
        if let Some(trial) = locked(&self.trial).as_mut() {
            trial.kill();
        }
    }
}

/// Reads a spec. Its trial must end in silence, whoever wrote the spec.
fn spec(line: &str) -> Result<String, Failure> {
    let mut spec: TrialSpec = serde_json::from_str(line)
        .map_err(|error| Failure::usage(format!("this is no TrialSpec: {error}")))?;
    spec.silence_s.get_or_insert(SILENCE.as_secs_f64());
    Ok(serde_json::to_string(&spec).expect("it was read from JSON"))
}
