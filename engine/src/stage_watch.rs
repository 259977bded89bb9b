//! The stages of requests in flight on the trial's clock: when to read them, and what the readings come to. They have a
//! thread of their own: a reading must come at its instant, whatever else is being read or added up, and whatever the
//! requests do.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::board::Board;
use crate::clock::now_ns;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::gaps::Gaps;
use crate::probe::namespace::Namespace;
use crate::probe::own_cpu_ns;
use crate::probe::server_stages::ServerStages;
use crate::probe::stages::{Reading, Stages};
use crate::process_tree::Pid;
use crate::random;
use crate::record::{ReadBy, StageRecord};
use crate::socket::Address;
use crate::spool::Spool;

/// After a reading, at least this many times its cost goes by on average: they take half a percent of a core at most.
const REST: f64 = 200.0;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0000;
const WHOM_PURPOSE: u64 = 0x100c_0001;

/// The stages of one trial.
pub struct StageWatch {
    /// Or why there is none.
    looked_up: Result<LookedUp, String>,
    /// As another program than the one that is watched listens there.
    in_front: bool,
    gaps: Gaps,
    rows: Spool<Row>,
}

/// What is looked up.
enum LookedUp {
    /// Requests that the engine knows to be in flight.
    Board(Stages),
    /// The server's ends of all its connections.
    ServerEnds(Box<ServerStages>),
}

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
type Row = (u64, u64, u64, Reading);

impl StageWatch {
    /// `boards`: those of all workers; none where the load comes from elsewhere.
    pub fn open(plan: &Plan, boards: Vec<Arc<Board>>) -> Self {
        let random = random::seeded(plan.seed, WHOM_PURPOSE);
        let namespace = Namespace::of(plan.server_pid);
        // Another end than the server's is in no other namespace, nor behind what translates addresses.
        let has_both_ends = !boards.is_empty() && plan.server_address.is_none() && namespace.is_own();
        let looked_up = match (&plan.address, has_both_ends) {
            (Address::Tcp(address), false) => {
                let server = plan.server_address.unwrap_or(*address);
                let most = plan.shape.connections();
                ServerStages::open(server, namespace, request_bytes(plan), most, random)
                    .map(|stages| LookedUp::ServerEnds(Box::new(stages)))
            }
            _ => Stages::open(&plan.address, &plan.sources, boards, random).map(LookedUp::Board),
        };
        let mut in_front = false;
        Self {
            looked_up: match plan.server_pid {
                Some(root) => looked_up.and_then(|all| all.of_tree(root).inspect_err(|_| in_front = true)),
                None => looked_up,
            },
            in_front,
            gaps: Gaps::new(random::seeded(plan.seed, WHEN_PURPOSE), REST),
            rows: Spool::open(),
        }
    }

    /// Reads until the trial, or its present turn, is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        let mut due_ns = course.began_ns();
        while self.looked_up.is_ok() {
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
        let Ok(looked_up) = &mut self.looked_up else {
            return;
        };
        if let (LookedUp::ServerEnds(stages), true) = (&mut *looked_up, course.counts(at_ns)) {
            stages.count();
        }
        let began_cpu_ns = own_cpu_ns();
        match looked_up.read(self.gaps.draws()) {
            Ok((reading, drawn)) => {
                let cost_ns = own_cpu_ns() - began_cpu_ns;
                self.gaps.spent(cost_ns, drawn);
                if course.counts(at_ns) {
                    self.rows.push(&(course.at_ns(at_ns), at_ns.saturating_sub(due_ns), cost_ns, reading));
                }
            }
            Err(error) => self.looked_up = Err(format!("sock_diag failed during the trial: {error}")),
        }
    }

    pub fn record(mut self) -> StageRecord {
        let rows = Gaps::evenly(self.rows.rows(), |row| row.0);
        let why = match &mut self.looked_up {
            Ok(LookedUp::Board(stages)) => stages.doubt().filter(|_| self.gaps.have_drawn()),
            Ok(LookedUp::ServerEnds(stages)) => stages.doubt(seen(&rows), lasted_s(&rows)),
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = why {
            return StageRecord { in_front: self.in_front, ..StageRecord::unread(why) };
        }
        let (read_by, in_parts) = match &self.looked_up {
            Ok(LookedUp::ServerEnds(stages)) => (ReadBy::ServerEnd, stages.writes_in_parts()),
            _ => (ReadBy::Board, false),
        };
        let mut record = StageRecord { read_by, ..StageRecord::default() };
        for mut row in rows {
            // Also those that were read before that was seen.
            row.3 = if in_parts { row.3.in_parts() } else { row.3 };
            record.push(&row);
        }
        record
    }
}

impl LookedUp {
    fn of_tree(self, root: Pid) -> Result<Self, String> {
        Ok(match self {
            Self::Board(stages) => Self::Board(stages.of_tree(root)?),
            Self::ServerEnds(stages) => Self::ServerEnds(Box::new(stages.of_tree(root)?)),
        })
    }

    /// Returns what up to `most` looks found, and how many there were.
    fn read(&mut self, most: usize) -> io::Result<(Reading, u64)> {
        Ok(match self {
            Self::Board(stages) => {
                let reading = stages.read(most)?;
                (reading, reading.drawn)
            }
            Self::ServerEnds(stages) => {
                let found = stages.read(most)?;
                (Reading::at_server(&found), found.looked_at)
            }
        })
    }
}

/// Returns how many requests the readings have seen on average.
fn seen(rows: &[Row]) -> f64 {
    let all: u64 = rows.iter().map(|row| row.3.in_flight).sum();
    all as f64 / rows.len().max(1) as f64
}

/// Returns how long it was from the first reading to the last.
fn lasted_s(rows: &[Row]) -> f64 {
    let (first_ns, last_ns) = rows.first().zip(rows.last()).map_or((0, 0), |(first, last)| (first.0, last.0));
    (last_ns - first_ns) as f64 / 1e9
}

/// Returns how long each request is, if all are equally long and the kernel counts their bytes as they are.
fn request_bytes(plan: &Plan) -> Option<u64> {
    match plan.requests.as_slice() {
        [only] if plan.tls.is_none() => only.message.fixed().map(|bytes| bytes.len() as u64),
        _ => None,
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
        if self.read_by == ReadBy::ServerEnd {
            self.not_told_apart.push(reading.not_told_apart);
        }
    }
}
