//! The threads that read at random times beside the load: at which stage requests in flight are, and what the server's
//! threads and its dependencies do. A reading must come at its instant, so each kind has a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::board::Board;
use crate::cores;
use crate::dependency_watch::DependencyWatch;
use crate::failure::Failure;
use crate::pacer::ask_for_exact_timers;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::ends::Ends;
use crate::record::{DependencyRecord, Probes, SpeedRecord, StageRecord, TaskRecord};
use crate::speed_watch::SpeedWatch;
use crate::stage_watch::StageWatch;
use crate::task_watch::TaskWatch;
use crate::watches::Watches;

/// What is to be read at random times, before there is load or between two of its turns.
pub struct Beside {
    stages: Option<Watched<StageWatch>>,
    tasks: Option<Watched<TaskWatch>>,
    dependencies: Option<Watched<DependencyWatch>>,
    speed: Option<Watched<SpeedWatch>>,
}

/// Or what the thread panicked with that read it.
type Watched<T> = thread::Result<T>;
/// The thread that reads it.
type Running<'scope, T> = thread::Result<ScopedJoinHandle<'scope, T>>;

/// What is being read. The threads end when `ended` is empty.
pub struct Reading<'scope> {
    stages: Option<Running<'scope, StageWatch>>,
    tasks: Option<Running<'scope, TaskWatch>>,
    dependencies: Option<Running<'scope, DependencyWatch>>,
    speed: Option<Running<'scope, SpeedWatch>>,
    ended: Vec<Sender<()>>,
}

impl Beside {
    /// `boards`: those of all workers, if stages are read.
    pub fn open(plan: &Plan, boards: &[Arc<Board>]) -> Self {
        Self {
            stages: plan.stages.then(|| Ok(StageWatch::open(plan, boards.to_vec()))),
            tasks: plan.tasks.map(|root| Ok(TaskWatch::open(plan, root))),
            dependencies: plan.dependencies.map(|root| Ok(DependencyWatch::open(plan, root))),
            speed: (!plan.speed_of_cores.is_empty())
                .then(|| Ok(SpeedWatch::open(plan, plan.speed_of_cores.clone()))),
        }
    }

    /// Starts the threads. `course` must have begun.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub fn begin<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        plan: &'env Plan,
        course: &Arc<Course>,
    ) -> Result<Reading<'scope>, Failure> {
        let mut starting = Starting { scope, plan, course, ended: Vec::new() };
        Ok(Reading {
            stages: starting.start("stages", self.stages, StageWatch::run)?,
            tasks: starting.start("tasks", self.tasks, TaskWatch::run)?,
            dependencies: starting.start("dependencies", self.dependencies, DependencyWatch::run)?,
            speed: starting.start("speed", self.speed, SpeedWatch::run)?,
            ended: starting.ended,
        })
    }

    /// Returns what was read, with what `watches` read beside it.
    pub fn record(self, watches: Watches) -> Probes {
        let ends = watches.ends();
        let dependencies = self.dependencies.map(|watched| dependency_record(watched, ends));
        Probes {
            stages: self.stages.map(stage_record),
            tasks: self.tasks.map(task_record),
            dependencies,
            speed: self.speed.map(speed_record),
            ..watches.record()
        }
    }
}

/// What the threads need that are being started.
struct Starting<'a, 'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan,
    course: &'a Arc<Course>,
    ended: Vec<Sender<()>>,
}

impl<'scope> Starting<'_, 'scope, '_> {
    fn start<T: Send + 'scope>(
        &mut self,
        name: &str,
        watched: Option<Watched<T>>,
        run: fn(T, &Course, &Receiver<()>) -> T,
    ) -> Result<Option<Running<'scope, T>>, Failure> {
        let watch = match watched {
            None => return Ok(None),
            Some(Err(panicked)) => return Ok(Some(Err(panicked))),
            Some(Ok(watch)) => watch,
        };
        let (ended, is_over) = mpsc::channel();
        self.ended.push(ended);
        let (plan, course) = (self.plan, Arc::clone(self.course));
        let begun = thread::Builder::new().name(name.into()).spawn_scoped(self.scope, move || {
            // Beside threads that sleep it keeps its priority: at a lower one readings would come when the load rests.
            // What is due waits for a reading for 0.1 ms (of stages) or 0.3 ms, fifteen times a second at most, or
            // about once a second for some milliseconds (a survey of dependencies), and the engine's lateness shows
            // that.
            cores::keep_clear(plan.pacing, &plan.cores);
            ask_for_exact_timers();
            run(watch, &course, &is_over)
        });
        begun.map(|thread| Some(Ok(thread))).map_err(Failure::thread)
    }
}

impl Reading<'_> {
    /// Tells the threads to end.
    pub fn end(&mut self) {
        self.ended.clear();
    }

    /// Waits until the threads have ended.
    pub fn wait(mut self) -> Beside {
        self.end();
        Beside {
            stages: self.stages.map(wait),
            tasks: self.tasks.map(wait),
            dependencies: self.dependencies.map(wait),
            speed: self.speed.map(wait),
        }
    }
}

fn wait<T>(running: Running<'_, T>) -> Watched<T> {
    running.and_then(ScopedJoinHandle::join)
}

const PANICKED: &str = "the thread that read them panicked";

/// `watched`: what the thread that read stages returned, or that it panicked.
fn stage_record(watched: thread::Result<StageWatch>) -> StageRecord {
    watched.map_or_else(|_| StageRecord::unread(PANICKED.into()), StageWatch::record)
}

/// `watched`: what the thread that read the server's threads returned, or that it panicked.
fn task_record(watched: thread::Result<TaskWatch>) -> TaskRecord {
    watched.map_or_else(|_| TaskRecord::unread(PANICKED.into()), TaskWatch::record)
}

/// `watched`: what the thread that read dependencies returned, or that it panicked.
fn dependency_record(watched: thread::Result<DependencyWatch>, ends: &Ends) -> DependencyRecord {
    watched.map_or_else(|_| DependencyRecord::unread(PANICKED.into()), |watch| watch.record(ends))
}

/// `watched`: what the thread that read the speed of cores returned, or that it panicked.
fn speed_record(watched: thread::Result<SpeedWatch>) -> SpeedRecord {
    watched.map_or_else(|_| SpeedRecord::unread(PANICKED.into()), SpeedWatch::record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_has_a_reason_where_its_thread_panicked() {
        let stages = stage_record(Err(Box::new("a panic")));
        assert_eq!(stages.why.as_deref(), Some("the thread that read them panicked"));
        assert!(stages.at_ns.is_empty());
        let tasks = task_record(Err(Box::new("a panic")));
        assert_eq!(tasks.why.as_deref(), Some("the thread that read them panicked"));
        assert!(tasks.at_ns.is_empty());
        let dependencies = dependency_record(Err(Box::new("a panic")), &Ends::default());
        assert_eq!(dependencies.why.as_deref(), Some("the thread that read them panicked"));
        assert!(dependencies.at_ns.is_empty());
        let speed = speed_record(Err(Box::new("a panic")));
        assert_eq!(speed.why.as_deref(), Some("the thread that read them panicked"));
        assert_eq!(speed.mean_per_s, None);
    }
}
