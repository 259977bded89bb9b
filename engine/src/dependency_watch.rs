//! The server's dependencies on the trial's clock: when to read them. They have a thread of their own: a reading must come
//! at its instant, whatever the requests do. What the readings come to is in `rows.rs`.

mod rows;

use std::sync::mpsc::Receiver;

use rows::{PEERS_MOST, Row, counting, take_over};

use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::dependencies::Dependencies;
use crate::probe::ends::Ends;
use crate::probe::gaps::Gaps;
use crate::probe::own_cpu_ns;
use crate::process_tree::Pid;
use crate::random;
use crate::record::{DependencyRecord, Unread};
use crate::socket::Address;
use crate::spool::Spool;
use crate::wakes::{Wakes, Woken};

/// After a reading, at least this many times its cost goes by on average: they take 0.36 % of a core at most. What
/// close readings cost beyond that is not in it.
const REST: f64 = 280.0;
/// What close readings cost beyond other readings takes 0.1 % of a core at most.
const CLOSE_REST: u64 = 1_000;
/// As long as connections do not come and go, all of them are listed this often, or as often as takes a quarter of a
/// percent of a core.
const SURVEY_EVERY_NS: u64 = 1_000_000_000;
const SURVEY_REST: u64 = 400;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100e_0000;

/// The dependencies of one trial.
pub struct DependencyWatch {
    /// Or why there are none.
    dependencies: Result<Dependencies, String>,
    gaps: Gaps,
    rows: Spool<Row>,
    /// Whether the last survey found connections, and the same as the one before.
    is_stable: bool,
    survey_due_ns: u64,
    close_due_ns: u64,
    root: Pid,
    wakes: Wakes,
}

impl DependencyWatch {
    /// `root`: that of the server's process tree.
    pub fn open(plan: &Plan, root: Pid) -> Self {
        let server = plan.server_address.map_or_else(|| plan.address.clone(), Address::Tcp);
        Self {
            dependencies: Dependencies::open(root, &server),
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE), REST),
            rows: Spool::open(),
            is_stable: false,
            survey_due_ns: 0,
            close_due_ns: 0,
            root,
            wakes: Wakes::default(),
        }
    }

    /// Reads until the trial, or its present turn, is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        self.wakes = Wakes::default();
        let mut due_ns = course.began_ns();
        while self.dependencies.is_ok() {
            // Counted from when the last reading was due: its lateness depends on the load, and this must not.
            let since_ns = due_ns.saturating_sub(course.began_ns());
            due_ns = now_ns().max(due_ns + self.gaps.next_ns(since_ns));
            if !self.wait(due_ns, course, ended) {
                break;
            }
            self.take(due_ns, course, false);
        }
        // The reading at the end shows more of those before it, and which of their connections are still there.
        if let Ok(dependencies) = &mut self.dependencies
            && let Ok(reading) = dependencies.read(true, true)
        {
            let at_ns = course.at_ns(now_ns());
            self.rows.push(&Row { at_ns, late_ns: 0, cost_ns: 0, counts: false, reading });
        }
        self
    }

    /// Waits until `due_ns`. When the measured phase begins, it reads whom the server is connected with: a short phase may
    /// end before another reading. Returns false when the trial is over.
    fn wait(&mut self, due_ns: u64, course: &Course, ended: &Receiver<()>) -> bool {
        loop {
            match self.wakes.wait(due_ns, course, ended) {
                Woken::Measuring => self.take(now_ns(), course, true),
                Woken::Due => return true,
                Woken::Over => return false,
            }
        }
    }

    /// `is_at_edge`: the reading is taken as the measured phase begins, not at a random time, and lists all connections.
    fn take(&mut self, due_ns: u64, course: &Course, is_at_edge: bool) {
        let Ok(dependencies) = &mut self.dependencies else {
            return;
        };
        let at_ns = now_ns();
        let is_due = !self.is_stable || at_ns >= self.survey_due_ns || dependencies.must_survey();
        let is_survey = is_at_edge || is_due;
        let began_cpu_ns = own_cpu_ns();
        match dependencies.read(is_survey, at_ns >= self.close_due_ns && !is_at_edge) {
            Ok(reading) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                if let Some(close_ns) = reading.close_ns {
                    self.close_due_ns = at_ns + CLOSE_REST * close_ns;
                }
                self.gaps.spent(cost_ns.saturating_sub(reading.close_ns.unwrap_or_default()), 0);
                if is_survey {
                    // If none was found, there is nothing to look up, and those that come may be brief.
                    self.is_stable = !reading.has_changed && reading.has_connections();
                    self.survey_due_ns = at_ns + SURVEY_EVERY_NS.max(SURVEY_REST * cost_ns);
                }
                let (counts, late_ns) = (!is_at_edge && course.counts(at_ns), at_ns.saturating_sub(due_ns));
                self.rows.push(&Row { at_ns: course.at_ns(at_ns), late_ns, cost_ns, counts, reading });
            }
            Err(error) => self.dependencies = Err(format!("sock_diag failed during the trial: {error}")),
        }
    }

    /// `ends`: all processes of the machine at both ends of the measured phase.
    pub fn record(self, ends: &Ends) -> DependencyRecord {
        let mut dependencies = match self.dependencies {
            Ok(dependencies) => dependencies,
            Err(why) => return DependencyRecord::unread(why),
        };
        let mut rows = self.rows.rows();
        take_over(&mut rows);
        let rows = Gaps::evenly(counting(rows), |row| row.at_ns);
        let unread = dependencies.unread().into_iter();
        let mut record = DependencyRecord {
            at_ns: rows.iter().map(|row| row.at_ns).collect(),
            late_ns: rows.iter().map(|row| row.late_ns).collect(),
            cost_ns: rows.iter().map(|row| row.cost_ns).collect(),
            unread: unread.map(|(field, why)| Unread { field: field.into(), why }).collect(),
            ..DependencyRecord::default()
        };
        let missed = dependencies.missed();
        let all = dependencies.all(&missed);
        record.add_peers(&all, &rows);
        record.add_serving(ends, &all, self.root);
        record.unread.extend(missed.into_iter().take(PEERS_MOST).map(|(address, number)| {
            let why = "with it were closed, and few or none were found open: it is not known how many wait";
            Unread { field: "peers".into(), why: format!("{address}: {number} connections {why}") }
        }));
        record
    }
}
