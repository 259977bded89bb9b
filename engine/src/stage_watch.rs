//! The stages of requests in flight on the trial's clock: when to read them, and what the readings come to. They have a
//! thread of their own: a reading must come at its instant, whatever else is being read or added up, and whatever the
//! requests do.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::board::Board;
use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::gaps::Gaps;
use crate::probe::own_cpu_ns;
use crate::probe::stages::{Reading, Stages};
use crate::random;
use crate::record::StageRecord;
use crate::spool::Spool;

/// After a reading, at least this many times its cost goes by on average: they take half a percent of a core at most.
const REST: f64 = 200.0;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0000;
const WHOM_PURPOSE: u64 = 0x100c_0001;

/// The stages of one trial.
pub struct StageWatch {
    /// Or why there is none.
    stages: Result<Stages, String>,
    /// As another program than the one that is watched listens there.
    in_front: bool,
    gaps: Gaps,
    rows: Spool<Row>,
}

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
type Row = (u64, u64, u64, Reading);

impl StageWatch {
    /// `boards`: those of all workers.
    pub fn open(plan: &Plan, boards: Vec<Arc<Board>>) -> Self {
        let random = random::seeded(plan.seed, WHOM_PURPOSE);
        let stages = Stages::open(&plan.address, &plan.sources, boards, random);
        let mut in_front = false;
        Self {
            stages: match plan.server_pid {
                Some(root) => stages.and_then(|stages| stages.of_tree(root).inspect_err(|_| in_front = true)),
                None => stages,
            },
            in_front,
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE), REST),
            rows: Spool::open(),
        }
    }

    /// Reads until the trial, or its present turn, is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        let mut due_ns = course.began_ns();
        while self.stages.is_ok() {
            // Counted from when the last reading was due: its lateness depends on the load, and this must not.
            let since_ns = due_ns.saturating_sub(course.began_ns());
            due_ns = now_ns().max(due_ns + self.gaps.next_ns(since_ns));
            let wait = Duration::from_nanos(due_ns.saturating_sub(now_ns()));
            let at_ns = match ended.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => now_ns(),
                _ => break,
            };
            if at_ns >= course.ends_at_ns() {
                break;
            }
            self.take(due_ns, at_ns, course);
        }
        self
    }

    fn take(&mut self, due_ns: u64, at_ns: u64, course: &Course) {
        let Ok(stages) = &mut self.stages else {
            return;
        };
        let began_cpu_ns = own_cpu_ns();
        match stages.read(self.gaps.draws()) {
            Ok(reading) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                self.gaps.spent(cost_ns, reading.drawn);
                if course.counts(at_ns) {
                    self.rows.push(&(course.at_ns(at_ns), at_ns.saturating_sub(due_ns), cost_ns, reading));
                }
            }
            Err(error) => self.stages = Err(format!("sock_diag failed during the trial: {error}")),
        }
    }

    pub fn record(self) -> StageRecord {
        let why = match &self.stages {
            Ok(stages) => stages.doubt().filter(|_| self.gaps.have_drawn()),
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = why {
            return StageRecord { in_front: self.in_front, ..StageRecord::unread(why) };
        }
        let mut record = StageRecord::default();
        Gaps::evenly(self.rows.rows(), |row| row.0).iter().for_each(|row| record.push(row));
        record
    }
}

impl StageRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    fn push(&mut self, (at_ns, late_ns, cost_ns, reading): &Row) {
        self.at_ns.push(*at_ns);
        self.late_ns.push(*late_ns);
        self.cost_ns.push(*cost_ns);
        self.in_flight.push(reading.in_flight);
        self.drawn.push(reading.drawn);
        self.not_accepted.push(reading.not_accepted);
        self.unsent.push(reading.unsent);
        self.unread.push(reading.unread);
        self.inside.push(reading.inside);
        self.returning.push(reading.returning);
        self.thrown_away.push(reading.thrown_away);
    }
}
