//! The server's dependencies on the trial's clock: when to read them, which readings count, and what they come to. They
//! have a thread of their own: a reading must come at its instant, whatever the requests do.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::dependencies::{Dependencies, Dependency, Reading};
use crate::probe::gaps::Gaps;
use crate::probe::own_cpu_ns;
use crate::probe::peers::{Found, Settled};
use crate::process_tree::Pid;
use crate::random;
use crate::record::{DependencyRecord, ListenerRecord, PeerRecord, Unread};
use crate::spool::Spool;

/// After a reading, at least this many times its cost goes by on average: they take 0.36 % of a core at most, without
/// what makes some of them close ones.
const REST: f64 = 280.0;
/// What makes readings close ones takes 0.1 % of a core at most.
const CLOSE_REST: u64 = 1_000;
/// As long as connections do not come and go, all of them are listed this often, or as often as takes a quarter of a
/// percent of a core.
const SURVEY_EVERY_NS: u64 = 1_000_000_000;
const SURVEY_REST: u64 = 400;
const PEERS_MOST: usize = 16;

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
    close_due_ns: u64,
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
            close_due_ns: 0,
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
            && let Ok(reading) = dependencies.read(true, true)
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
        match dependencies.read(is_survey, at_ns >= self.close_due_ns) {
            Ok(reading) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                if let Some(close_ns) = reading.close_ns {
                    self.close_due_ns = at_ns + CLOSE_REST * close_ns;
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
        record.add_peers(&dependencies.all(), &rows);
        record.unread.extend(dependencies.missed().into_iter().take(PEERS_MOST).map(|(address, number)| {
            let why = "with it were closed, and few or none were found open: it is not known how many wait";
            Unread { field: "peers".into(), why: format!("{address}: {number} connections {why}") }
        }));
        record
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
            settled.apply(&mut row.reading.found);
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

    fn add_peers(&mut self, dependencies: &[Dependency], rows: &[Row]) {
        let mut peers: Vec<_> =
            dependencies.iter().map(|dependency| (PeerRecord::of(dependency, rows), dependency)).collect();
        peers.retain(|(peer, _)| peer.connections_max > 0);
        peers.sort_by_key(|(peer, _)| std::cmp::Reverse(peer.connections_max));
        if let Some((first, _)) = peers.get(PEERS_MOST) {
            let (more, most) = (peers.len() - PEERS_MOST, first.connections_max);
            let why = format!("{more} more had at most {most} connections each");
            self.unread.push(Unread { field: "peers".into(), why });
        }
        peers.truncate(PEERS_MOST);
        for (mut peer, dependency) in peers {
            self.unread.extend(peer.doubts(dependency));
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

    /// Returns what is not known of this peer, and why. What is not certain is made unknown.
    fn doubts(&mut self, dependency: &Dependency) -> Vec<Unread> {
        let mut doubts = Vec::new();
        let mut add = |column: &str, why: &str| {
            doubts.push(Unread { field: format!("{} {column}", dependency.address), why: why.into() });
        };
        let known = dependency.known;
        let is_here = known.is_here || dependency.is_unix;
        if is_here && dependency.listener.is_none() {
            add("listener", "no process of this user listens there");
        }
        if !known.answers() {
            add(
                "waiting",
                "the server sends more there before anything has come: nothing tells what it waits for",
            );
            for (waiting, unknown) in self.waiting.iter_mut().zip(&mut self.unknown) {
                *unknown += std::mem::take(waiting);
            }
        } else if dependency.is_unix && self.unknown.iter().any(|&unknown| unknown > 0) {
            add(
                "waiting",
                "of a Unix-domain socket the kernel says what lies in it, not when something was sent",
            );
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::peers::Known;

    /// A reading at this time with so many connections of the first peer waiting.
    fn row(at_ns: u64, is_survey: bool, has_changed: bool, waiting: u64) -> Row {
        let found = vec![Found { waiting, ..Found::default() }];
        Row {
            at_ns,
            late_ns: 0,
            cost_ns: 0,
            reading: Reading { is_survey, has_changed, found, ..Reading::default() },
        }
    }

    fn dependency(number: usize, known: Known) -> Dependency {
        Dependency { address: format!("10.0.0.1:{number}"), number, known, is_unix: false, listener: None }
    }

    #[test]
    fn looks_count_where_the_surveys_around_them_agree() {
        let rows = || {
            vec![
                row(1, true, true, 1),
                row(2, false, false, 1),
                row(3, true, false, 1),
                row(4, false, false, 1),
                row(5, false, false, 1),
                row(6, true, true, 1),
                row(7, false, false, 1),
            ]
        };
        let at =
            |ends_stable| -> Vec<u64> { counting(rows(), ends_stable).iter().map(|row| row.at_ns).collect() };
        assert_eq!(at(false), [1, 2, 3, 6]);
        assert_eq!(at(true), [1, 2, 3, 6, 7]);
    }

    #[test]
    fn what_later_readings_tell_is_taken_over_to_earlier_ones() {
        let unknown = |at_ns| {
            let mut row = row(at_ns, true, false, 0);
            row.reading.found = vec![Found { unknown: 2, ..Found::default() }];
            row
        };
        let mut rows: Vec<_> = (1..=4).map(unknown).collect();
        // The rows are those of the readings 1 to 4.
        let settled = |from, until, is_waiting| Settled { peer: 0, from, until, is_waiting };
        rows[2].reading.settled = vec![settled(0, 3, true)];
        take_over(&mut rows, vec![settled(2, 5, false)]);
        let found: Vec<_> = rows
            .iter()
            .map(|row| row.reading.found[0])
            .map(|each| (each.waiting, each.idle, each.unknown))
            .collect();
        assert_eq!(found, [(1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 1, 1)]);
    }

    #[test]
    fn the_sixteen_with_the_most_connections_are_recorded_and_the_others_named() {
        let mut rows = vec![row(1, true, true, 0)];
        rows[0].reading.found =
            (0..20).map(|number| Found { idle: 20 - number, ..Found::default() }).collect();
        rows.push(row(2, true, true, 5));
        let dependencies: Vec<_> = (0..21).map(|number| dependency(number, Known::default())).collect();
        let mut record = DependencyRecord::default();
        record.add_peers(&dependencies, &rows);
        assert_eq!(record.peers.len(), 16);
        let first = &record.peers[0];
        assert_eq!((first.address.as_str(), first.connections_max), ("10.0.0.1:0", 20));
        assert_eq!((&first.connections[..], &first.idle[..]), (&[20, 5][..], &[20, 0][..]));
        assert_eq!((&first.waiting[..], &first.unknown[..]), (&[0, 5][..], &[0, 0][..]));
        assert_eq!(record.peers[15].connections, [5, 0]);
        assert_eq!(record.unread[0].why, "4 more had at most 4 connections each");
    }

    #[test]
    fn what_is_sent_without_an_answer_is_not_taken_for_waiting() {
        let rows = [row(1, true, true, 3), row(2, true, false, 2)];
        let of = |not_answered, answered| {
            let dependency = dependency(0, Known { not_answered, answered, ..Known::default() });
            let mut peer = PeerRecord::of(&dependency, &rows);
            let doubts = peer.doubts(&dependency);
            (peer.waiting, peer.unknown, doubts.len())
        };
        assert_eq!(of(3, 2), (vec![0, 0], vec![3, 2], 1));
        // A question in parts is sent on before it is answered, now and then.
        assert_eq!(of(3, 3), (vec![3, 2], vec![0, 0], 0));
        assert_eq!(of(2, 1), (vec![3, 2], vec![0, 0], 0));
    }

    #[test]
    fn connections_closed_too_early_are_counted_as_inferred_or_as_unknown() {
        let mut rows = [row(1, true, true, 3)];
        rows[0].reading.found[0].waiting_of_somebody = 2;
        let of = |ours| {
            let peer = PeerRecord::of(&dependency(0, Known { ours, ..Known::default() }), &rows);
            (peer.connections[0], peer.waiting[0], peer.unknown[0], peer.inferred[0])
        };
        assert_eq!((of(30), of(29)), ((5, 5, 0, 2), (5, 3, 2, 0)));
    }

    #[test]
    fn who_listens_on_this_machine_and_is_not_found_is_named() {
        let mut here = dependency(0, Known { is_here: true, ..Known::default() });
        let doubts = PeerRecord::of(&here, &[]).doubts(&here);
        assert_eq!(doubts[0].field, "10.0.0.1:0 listener");
        here.known.is_here = false;
        assert!(PeerRecord::of(&here, &[]).doubts(&here).is_empty());
    }
}
