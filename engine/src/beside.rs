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
use crate::record::{DependencyRecord, SpeedRecord, StageRecord, TaskRecord};
use crate::speed_watch::SpeedWatch;
use crate::stage_watch::StageWatch;
use crate::task_watch::TaskWatch;

/// What is to be read at random times, before there is load.
pub struct Beside {
    stages: Option<StageWatch>,
    tasks: Option<TaskWatch>,
    dependencies: Option<DependencyWatch>,
    speed: Option<SpeedWatch>,
}

/// What was read; `None`: the spec did not ask for it.
pub struct Readings {
    pub stages: Option<StageRecord>,
    pub tasks: Option<TaskRecord>,
    pub dependencies: Option<DependencyRecord>,
    pub speed: Option<SpeedRecord>,
}

/// What is being read. The threads end when `ended` is empty.
pub struct Reading<'scope> {
    stages: Option<ScopedJoinHandle<'scope, StageWatch>>,
    tasks: Option<ScopedJoinHandle<'scope, TaskWatch>>,
    dependencies: Option<ScopedJoinHandle<'scope, DependencyWatch>>,
    speed: Option<ScopedJoinHandle<'scope, SpeedWatch>>,
    ended: Vec<Sender<()>>,
}

impl Beside {
    /// `boards`: those of all workers, if stages are read.
    pub fn open(plan: &Plan, boards: &[Arc<Board>]) -> Self {
        Self {
            stages: plan.stages.then(|| StageWatch::open(plan, boards.to_vec())),
            tasks: plan.tasks.map(|root| TaskWatch::open(plan, root)),
            dependencies: plan.dependencies.map(|root| DependencyWatch::open(plan, root)),
            speed: (!plan.speed_of_cores.is_empty())
                .then(|| SpeedWatch::open(plan, plan.speed_of_cores.clone())),
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
        let mut reading =
            Reading { stages: None, tasks: None, dependencies: None, speed: None, ended: Vec::new() };
        if let Some(stages) = self.stages {
            let course = Arc::clone(course);
            reading.stages =
                Some(reading.start(scope, "stages", plan, move |ended| stages.run(&course, ended))?);
        }
        if let Some(tasks) = self.tasks {
            let course = Arc::clone(course);
            reading.tasks =
                Some(reading.start(scope, "tasks", plan, move |ended| tasks.run(&course, ended))?);
        }
        if let Some(dependencies) = self.dependencies {
            let course = Arc::clone(course);
            let run = move |ended: &Receiver<()>| dependencies.run(&course, ended);
            reading.dependencies = Some(reading.start(scope, "dependencies", plan, run)?);
        }
        if let Some(speed) = self.speed {
            let course = Arc::clone(course);
            reading.speed =
                Some(reading.start(scope, "speed", plan, move |ended| speed.run(&course, ended))?);
        }
        Ok(reading)
    }
}

impl<'scope> Reading<'scope> {
    fn start<'env, T: Send + 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        name: &str,
        plan: &'env Plan,
        read: impl FnOnce(&Receiver<()>) -> T + Send + 'scope,
    ) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
        let (ended, is_over) = mpsc::channel();
        self.ended.push(ended);
        let begun = thread::Builder::new().name(name.into()).spawn_scoped(scope, move || {
            // Beside threads that sleep it keeps its priority: at a lower one readings would come when the load rests.
            // What is due waits for a reading for 0.1 ms (of stages) or 0.3 ms, fifteen times a second at most, or
            // about once a second for some milliseconds (a survey of dependencies), and the engine's lateness shows
            // that.
            cores::keep_clear(plan.pacing, &plan.cores);
            ask_for_exact_timers();
            read(&is_over)
        });
        begun.map_err(Failure::thread)
    }

    /// Tells the threads to end.
    pub fn end(&mut self) {
        self.ended.clear();
    }

    /// Waits until the threads have ended, and returns what they read. `ends`: all processes of the machine at both ends of
    /// the measured phase.
    pub fn records(mut self, ends: &Ends) -> Readings {
        self.end();
        Readings {
            stages: self.stages.map(|thread| stage_record(thread.join())),
            tasks: self.tasks.map(|thread| task_record(thread.join())),
            dependencies: self.dependencies.map(|thread| dependency_record(thread.join(), ends)),
            speed: self.speed.map(|thread| speed_record(thread.join())),
        }
    }
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
