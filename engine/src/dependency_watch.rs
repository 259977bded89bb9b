//! The server's dependencies on the trial's clock: when to read them, which readings count, and what they come to. They
//! have a thread of their own: a reading must come at its instant, whatever the requests do.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::close_pace::ClosePace;
use crate::probe::dependencies::{Dependencies, Dependency, Reading};
use crate::probe::gaps::Gaps;
use crate::probe::interactive::estimated_ns;
use crate::probe::missed::Missed;
use crate::probe::own_cpu_ns;
use crate::probe::peers::{Found, Settled};
use crate::probe::waits::{Doubt, doubt};
use crate::process_tree::Pid;
use crate::random;
use crate::record::{DependencyRecord, ListenerRecord, PeerRecord, Unread};
use crate::spool::Spool;

/// After a reading, at least this many times its cost goes by on average: they take 0.36 % of a core at most, without
/// what makes some of them close ones.
const REST: f64 = 280.0;
/// As long as connections do not come and go, all of them are listed this often, or as often as takes a quarter of a
/// percent of a core.
const SURVEY_EVERY_NS: u64 = 1_000_000_000;
const SURVEY_REST: u64 = 400;
const PEERS_MOST: usize = 16;
const OF_UNIX: &str = "of a Unix-domain socket the kernel says what lies in it, not when something was sent";

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100e_0000;

/// The dependencies of one trial.
pub struct DependencyWatch {
    /// Or why there are none.
    dependencies: Result<Dependencies, String>,
    gaps: Gaps,
    rows: Spool<Row>,
    /// Whether the last survey found the same connections as the one before.
    is_stable: bool,
    survey_due_ns: u64,
    close: ClosePace,
    /// What the reading after the last one has told of earlier ones.
    settled_at_end: Vec<Settled>,
    /// Whether there are the same connections after the last reading.
    ends_stable: bool,
}

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
#[derive(Serialize, Deserialize)]
struct Row {
    at_ns: u64,
    late_ns: u64,
    cost_ns: u64,
    reading: Reading,
}

impl DependencyWatch {
    /// `root`: that of the server's process tree.
    pub fn open(plan: &Plan, root: Pid) -> Self {
        Self {
            dependencies: Dependencies::open(root, &plan.address),
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE), REST),
            rows: Spool::open(),
            is_stable: false,
            survey_due_ns: 0,
            close: ClosePace::default(),
            settled_at_end: Vec::new(),
            ends_stable: false,
        }
    }

    /// Reads until the trial is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        let mut due_ns = course.began_ns();
        while self.dependencies.is_ok() {
            // Counted from when the last reading was due: its lateness depends on the load, and this must not.
            due_ns = now_ns().max(due_ns + self.gaps.next_ns());
            let wait = Duration::from_nanos(due_ns.saturating_sub(now_ns()));
            let at_ns = match ended.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => now_ns(),
                _ => break,
            };
            if at_ns >= course.ends_at_ns() {
                break;
            }
            self.take(due_ns, at_ns, course.began_ns());
        }
        if let Ok(dependencies) = &mut self.dependencies
            && let Ok(reading) =
                dependencies.read(true, self.close.allows(now_ns() - course.began_ns(), estimated_ns))
        {
            self.ends_stable = !reading.has_changed;
            self.settled_at_end = reading.settled;
        }
        self
    }

    fn take(&mut self, due_ns: u64, at_ns: u64, began_ns: u64) {
        let Ok(dependencies) = &mut self.dependencies else {
            return;
        };
        let is_survey = !self.is_stable || at_ns >= self.survey_due_ns || dependencies.must_survey();
        let began_cpu_ns = own_cpu_ns();
        let is_close = self.close.allows(at_ns - began_ns, estimated_ns);
        match dependencies.read(is_survey, is_close) {
            Ok(reading) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                if let Some(close_ns) = reading.close_ns {
                    self.close.spent(at_ns - began_ns, close_ns);
                }
                self.gaps.spent(cost_ns.saturating_sub(reading.close_ns.unwrap_or_default()), 0);
                if is_survey {
                    self.is_stable = !reading.has_changed;
                    self.survey_due_ns = at_ns + SURVEY_EVERY_NS.max(SURVEY_REST * cost_ns);
                }
                let (at_ns, late_ns) = (at_ns.saturating_sub(began_ns), at_ns.saturating_sub(due_ns));
                self.rows.push(&Row { at_ns, late_ns, cost_ns, reading });
            }
            Err(error) => self.dependencies = Err(format!("sock_diag failed during the trial: {error}")),
        }
    }

    pub fn record(self) -> DependencyRecord {
        let mut dependencies = match self.dependencies {
            Ok(dependencies) => dependencies,
            Err(why) => return DependencyRecord::unread(why),
        };
        let mut rows = self.rows.rows();
        take_over(&mut rows, self.settled_at_end);
        let rows = counting(rows, self.ends_stable);
        let unread = dependencies.unread().into_iter();
        let mut record = DependencyRecord {
            at_ns: rows.iter().map(|row| row.at_ns).collect(),
            late_ns: rows.iter().map(|row| row.late_ns).collect(),
            cost_ns: rows.iter().map(|row| row.cost_ns).collect(),
            unread: unread.map(|(field, why)| Unread { field: field.into(), why }).collect(),
            ..DependencyRecord::default()
        };
        let missed = dependencies.missed();
        record.add_peers(&dependencies.all(), &rows, &missed);
        record.unread.extend(missed.iter().take(PEERS_MOST).map(said_of_missed));
        record
    }
}

fn said_of_missed(missed: &Missed) -> Unread {
    let Missed { address, number, is_ours } = missed;
    if *is_ours {
        let why = format!("{number} connections with it were closed, and few or none were found open");
        return Unread { field: missed.field(), why: format!("{why}: it is not known how many waited") };
    }
    let why = format!("{number} connections of somebody's with {address} were closed and never found open");
    Unread { field: "peers".into(), why: format!("{why}: perhaps they were the server's") }
}

impl Missed {
    fn field(&self) -> String {
        format!("{} connections", self.address)
    }
}

/// Takes over to earlier readings what later ones have told of them. `at_end`: what the reading after all of these has told.
fn take_over(rows: &mut [Row], at_end: Vec<Settled>) {
    let settled: Vec<_> =
        rows.iter_mut().flat_map(|row| std::mem::take(&mut row.reading.settled)).chain(at_end).collect();
    for settled in settled {
        // The reading that found the first connections has no row.
        let (from, until) = (settled.from.max(1) as usize - 1, settled.until.max(1) as usize - 1);
        for row in rows.iter_mut().take(until).skip(from) {
            settled.apply(&mut row.reading.found, &mut row.reading.ages);
        }
    }
}

/// Returns the readings that count: all surveys, and of the others those between two surveys that found the same
/// connections. Otherwise they may have missed some. `ends_stable`: whether a survey after the last of them did so.
fn counting(rows: Vec<Row>, ends_stable: bool) -> Vec<Row> {
    let (mut counted, mut waiting) = (Vec::new(), Vec::new());
    for row in rows {
        if !row.reading.is_survey {
            waiting.push(row);
            continue;
        }
        if !row.reading.has_changed {
            counted.append(&mut waiting);
        }
        waiting.clear();
        counted.push(row);
    }
    if ends_stable {
        counted.append(&mut waiting);
    }
    counted
}

impl DependencyRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    /// `missed`: with whom connections were closed that no reading has found.
    fn add_peers(&mut self, dependencies: &[Dependency], rows: &[Row], missed: &[Missed]) {
        let is_missed = |address: &str| missed.iter().any(|each| each.is_ours && each.address == address);
        let mut peers: Vec<_> =
            dependencies.iter().map(|dependency| (PeerRecord::of(dependency, rows), dependency)).collect();
        peers.retain(|(peer, _)| peer.connections_max > 0 || is_missed(&peer.address));
        peers.sort_by_key(|(peer, _)| std::cmp::Reverse(peer.connections_max));
        if let Some((first, _)) = peers.get(PEERS_MOST) {
            let (more, most) = (peers.len() - PEERS_MOST, first.connections_max);
            let why = format!("{more} more had at most {most} connections each");
            self.unread.push(Unread { field: "peers".into(), why });
        }
        peers.truncate(PEERS_MOST);
        for (mut peer, dependency) in peers {
            if is_missed(&peer.address) {
                peer.make_unknown();
            }
            self.unread.extend(peer.doubts(dependency, rows));
            self.peers.push(peer);
        }
    }
}

impl PeerRecord {
    fn of(dependency: &Dependency, rows: &[Row]) -> Self {
        let found = |row: &Row| row.reading.found.get(dependency.number).copied().unwrap_or_default();
        let mut found: Vec<Found> = rows.iter().map(found).collect();
        let are_the_servers = dependency.known.somebodys_are_ours();
        let inferred = found.iter_mut().map(|found| found.close_account(are_the_servers)).collect();
        let column = |count: fn(&Found) -> u64| -> Vec<u64> { found.iter().map(count).collect() };
        let connections = column(Found::connections);
        Self {
            address: dependency.address.clone(),
            listener: dependency
                .listener
                .as_ref()
                .map(|holder| ListenerRecord { pid: holder.pid, name: holder.name.clone() }),
            connections_max: connections.iter().copied().max().unwrap_or_default(),
            connections,
            waiting: column(|found| found.waiting),
            idle: column(|found| found.idle),
            unknown: column(|found| found.unknown),
            inferred,
        }
    }

    /// Makes unknown how many wait: too few were found.
    fn make_unknown(&mut self) {
        for (waiting, unknown) in self.waiting.iter_mut().zip(&mut self.unknown) {
            *unknown += std::mem::take(waiting);
        }
    }

    /// Returns what is not known of this peer, and why. What is not certain is made unknown.
    fn doubts(&mut self, dependency: &Dependency, rows: &[Row]) -> Vec<Unread> {
        let mut doubts = Vec::new();
        let mut add = |column: &str, why: &str| {
            doubts.push(Unread { field: format!("{} {column}", dependency.address), why: why.into() });
        };
        let is_here = dependency.known.is_here || dependency.is_unix;
        if is_here && dependency.listener.is_none() {
            add("listener", "no process of this user listens there");
        }
        if dependency.is_unix {
            if self.unknown.iter().any(|&unknown| unknown > 0) {
                add("waiting", OF_UNIX);
            }
        } else if let Some(why) = self.doubt(dependency, rows) {
            add("waiting", why);
        }
        doubts
    }

    /// Makes those unknown that only seem to wait. Returns why, if there are any.
    fn doubt(&mut self, dependency: &Dependency, rows: &[Row]) -> Option<&'static str> {
        let believed = dependency.known.waits.believed();
        let mut doubted = 0;
        for (row, (waiting, unknown)) in rows.iter().zip(self.waiting.iter_mut().zip(&mut self.unknown)) {
            let ages = row.reading.ages.get(dependency.number).copied().unwrap_or_default();
            doubted += doubt(waiting, unknown, &ages, believed);
        }
        let why = match believed {
            Err(Doubt::SendsOn) => {
                "the server sends more there before anything has come: nothing tells what it waits for"
            }
            Err(Doubt::TooFewAnswers) => {
                "too few answers were seen for the time that connections seem to wait: perhaps what is sent last is not answered"
            }
            Ok(_) => "some connections seem to wait for longer than any answer was seen to take",
        };
        (doubted > 0).then_some(why)
    }
}

#[cfg(test)]
#[path = "dependency_watch_tests.rs"]
mod tests;
