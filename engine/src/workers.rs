//! The threads that load: how they are started, begin each turn together, and say that it is over.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::board::Board;
use crate::collecting::Channels;
use crate::cores;
use crate::failure::Failure;
use crate::http::feed::Feed;
use crate::load::share;
use crate::phase::Course;
use crate::plan::Plan;
use crate::process_tree::Pid;
use crate::shape::timetable::Timetable;
use crate::tally::Tally;
use crate::worker::Place;
use crate::worker::for_plan::Worker;

pub struct Workers {
    /// Receives a message when a worker has ended the course, or its turn.
    pub ended: Receiver<()>,
    /// Receives one from each worker when it can begin the next turn.
    ready: Receiver<Result<Ready, Failure>>,
    /// A channel for each worker, which begins a turn with each message, and ends when this end is dropped.
    go: Vec<Sender<()>>,
}

impl Workers {
    /// Waits until all of them can begin.
    pub fn wait(&self) -> Result<Vec<Ready>, Failure> {
        self.go
            .iter()
            .map(|_| self.ready.recv().unwrap_or_else(|_| Err(Failure::new("a worker panicked"))))
            .collect()
    }

    pub fn begin(&self) {
        while self.ended.try_recv().is_ok() {} // Those are of the turn before.
        for worker in &self.go {
            let _ = worker.send(());
        }
    }
}

/// A worker that has its core and its memory, and waits for the beginning.
#[derive(Clone)]
pub struct Ready {
    pub thread: Pid,
    /// Its board, if the stages of requests in flight are to be read.
    pub board: Option<Arc<Board>>,
}

/// Starts the workers, which then wait to begin. Each lays out its users itself: memory is of the part of the machine
/// in which the core is that touches it first.
pub fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan,
    course: &'env Course,
    timetable: Option<&'env Timetable>,
    feeds: Vec<Feed>,
) -> Result<(Workers, Channels), Failure> {
    let (outbox, inbox) = mpsc::channel();
    let (ending, ended) = mpsc::channel();
    let (telling, ready) = mpsc::channel();
    let (mut returns, mut go) = (Vec::new(), Vec::new());
    for (index, feed) in feeds.into_iter().enumerate() {
        let (returned, spent) = mpsc::channel();
        let (begin, beginning) = mpsc::channel();
        returns.push(returned);
        go.push(begin);
        let post =
            Post { outbox: outbox.clone(), telling: telling.clone(), ending: ending.clone(), beginning };
        spawn(scope, &format!("worker-{index}"), move || {
            if let Err(why) = work(plan, course, timetable, index, (feed, spent), &post) {
                let _ = post.telling.send(Err(why));
            }
        })?;
    }
    Ok((Workers { ended, ready, go }, Channels { inbox, returns }))
}

/// A worker's ends of its channels.
struct Post {
    outbox: Sender<Box<Tally>>,
    telling: Sender<Result<Ready, Failure>>,
    ending: Sender<()>,
    beginning: Receiver<()>,
}

/// Does the work of a worker: in one go, or in turns.
fn work(
    plan: &Plan,
    course: &Course,
    timetable: Option<&Timetable>,
    index: usize,
    (mut feed, mut spent): (Feed, Receiver<Box<Tally>>),
    post: &Post,
) -> Result<(), Failure> {
    let settled = settle(plan, index)?;
    for turn in 0..plan.turns.len().max(1) {
        let ready = settled.clone();
        if let Some(board) = &ready.board {
            board.clear();
        }
        let warm_up = plan.turns.get(turn).map_or(plan.warm_up.as_ref(), |turn| Some(&turn.warm_up));
        let (outbox, board) = (post.outbox.clone(), ready.board.clone());
        let place = Place { course, thread: index, feed, outbox, spent, board };
        let worker = Worker::new(plan, place, timetable, warm_up)?;
        let _ = post.telling.send(Ok(ready));
        if post.beginning.recv().is_err() {
            return Ok(());
        }
        (feed, spent) = worker.run();
        let _ = post.ending.send(());
    }
    // The thread must still exist when it is sampled for the last time.
    while spent.recv().is_ok() {}
    Ok(())
}

/// Binds the calling thread, that of this worker, to its core.
fn settle(plan: &Plan, worker: usize) -> Result<Ready, Failure> {
    let core = plan.cores.get(worker % plan.cores.len().max(1)).copied();
    cores::pin_current_thread(core.as_slice()).map_err(|errno| {
        Failure::new(format!("a thread cannot run on core {}: {errno}", core.unwrap_or_default()))
    })?;
    let users = share(plan.shape.connections(), worker, plan.threads);
    let board = plan.stages.then(|| Arc::new(Board::new(users)));
    Ok(Ready { thread: rustix::thread::gettid().as_raw_nonzero().get(), board })
}

/// Starts a thread of the load.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, work).map_err(Failure::thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TrialSpec;

    #[test]
    fn a_thread_says_that_it_cannot_have_its_core() {
        let spec = include_str!("../../contract/golden/spec.json");
        let mut plan = serde_json::from_str::<TrialSpec>(spec).unwrap().plan().unwrap();
        plan.cores = vec![1_023];
        let failure = thread::scope(|scope| scope.spawn(|| settle(&plan, 0)).join().unwrap().err().unwrap());
        assert!(failure.error.contains("1023"), "{}", failure.error);
        plan.cores.clear();
        assert!(settle(&plan, 0).is_ok());
    }
}
