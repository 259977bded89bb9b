//! `crumple-engine run`: one trial, from its spec to its record. This thread starts the others, collects while they load,
//! and finishes the trial. It keeps its priority, so that other work on this machine does not delay the record.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use serde::Deserialize;

use crate::beside::{Beside, Readings};
use crate::board::Board;
use crate::clock::{now_ns, unix_ahead_ns};
use crate::collecting::{Channels, Collecting, Ending};
use crate::collector::Collector;
use crate::failure::Failure;
use crate::http::feed::{self, Feed};
use crate::jobs::Jobs;
use crate::load::share;
use crate::output::Progress;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::ends::End;
use crate::probe::rests::Rests;
use crate::process_tree::Pid;
use crate::record::{Probes, TrialRecord};
use crate::shape::Shape;
use crate::shape::timetable::{Filler, Timetable};
use crate::socket::Stamping;
use crate::spec::{Pacing, TrialSpec};
use crate::tally::Tally;
use crate::watch::{Readers, Watches};
use crate::worker::Place;
use crate::worker::for_plan::Worker;
use crate::{cores, preflight};

#[derive(clap::Args)]
pub struct Run {
    /// File that holds the TrialSpec; - is standard input
    #[arg(default_value = "-")]
    spec: PathBuf,
}

/// The line on which a load that is held goes on.
const GO: &str = "go";
/// How often a load that is held looks whether SIGINT has come: often enough that nobody sees it wait.
const HELD_LOOK: Duration = Duration::from_millis(50);

const OPEN_LEAD_NS: u64 = 20_000_000;

/// Reads the spec, runs the trial and prints the record. SIGINT ends the trial early; the record is printed then,
/// too.
///
/// # Errors
/// If the spec makes no sense or names something that does not exist (exit code 2), or if there are too few
/// descriptors.
pub fn run(run: &Run) -> Result<(), Failure> {
    // A trial ends with the process that started it: otherwise no process would read the record.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let enough = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&enough))
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    let spec = read(run)?;
    let mut plan = spec.plan()?;
    preflight::check(&plan)?;
    let stamping = plan.stamped.then(Stamping::begin).flatten();
    plan.stamped = stamping.is_some();
    let record = measure(spec, &plan, &enough)?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut output, &record)
        .map_err(io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(format!("cannot write the record: {error}")))
}

fn read(run: &Run) -> Result<TrialSpec, Failure> {
    let unread = |error| Failure::file("cannot read the TrialSpec", &run.spec, &error);
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("this is no TrialSpec: {error}"))
            .remedy("crumple-engine schema prints what one looks like")
    };
    if run.spec.as_os_str() != "-" {
        let text = std::fs::read_to_string(&run.spec).map_err(unread)?;
        return serde_json::from_str(&text).map_err(|error| wrong(&error));
    }
    let mut input = io::stdin().lock();
    let spec = TrialSpec::deserialize(&mut serde_json::Deserializer::from_reader(&mut input))
        .map_err(|error| wrong(&error))?;
    // What follows a load in turns says when the next one begins.
    let mut rest = String::new();
    if spec.turns.is_empty()
        && input.read_to_string(&mut rest).map_err(unread)? > 0
        && !rest.trim().is_empty()
    {
        return Err(wrong(&"more text follows it"));
    }
    Ok(spec)
}

/// Says that the load is held after this number of turns, and waits until the next is to begin; false: SIGINT came.
fn hold(turns: usize, enough: &AtomicBool) -> Result<bool, Failure> {
    let unasked = |error: io::Error| Failure::new(format!("cannot ask for the next turn: {error}"));
    io::stderr().write_all(format!("{{\"held\":{turns}}}\n").as_bytes()).map_err(unasked)?;
    // Reading cannot be broken off, so a thread of its own does. After SIGINT it ends with the process.
    let (sender, lines) = mpsc::channel();
    thread::Builder::new()
        .name("next turn".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            let _ = sender.send(read.map(|_| line));
        })
        .map_err(unasked)?;
    let line = loop {
        match lines.recv_timeout(HELD_LOOK) {
            Ok(line) => break line.map_err(unasked)?,
            Err(RecvTimeoutError::Timeout) if enough.load(Relaxed) => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("the reader of standard input panicked"));
            }
        }
    };
    // Who interrupts may close the input at the same time.
    if enough.load(Relaxed) {
        return Ok(false);
    }
    if line.trim_end() == GO {
        Ok(true)
    } else {
        Err(Failure::usage(format!(
            "after turn {turns} standard input has {:?}, not `{GO}`",
            line.trim_end()
        )))
    }
}

struct Workers {
    /// Receives a message when a worker has ended the course, or its turn.
    ended: Receiver<()>,
    /// Receives one from each worker when it can begin the next turn.
    ready: Receiver<Result<Ready, Failure>>,
    /// A channel for each worker, which begins a turn with each message, and ends when this end is dropped.
    go: Vec<Sender<()>>,
}

impl Workers {
    /// Waits until all of them can begin.
    fn wait(&self) -> Result<Vec<Ready>, Failure> {
        self.go
            .iter()
            .map(|_| self.ready.recv().unwrap_or_else(|_| Err(Failure::new("a worker panicked"))))
            .collect()
    }

    fn begin(&self) {
        while self.ended.try_recv().is_ok() {} // Those are of the turn before.
        for worker in &self.go {
            let _ = worker.send(());
        }
    }
}

fn measure(spec: TrialSpec, plan: &Plan, enough: &AtomicBool) -> Result<TrialRecord, Failure> {
    let (feeds, renderer) = feed::feeds(&plan.requests, plan.threads, plan.seed);
    let course = Arc::new(Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop));
    let timetable = match &plan.shape {
        Shape::Open(shape) => Some(Timetable::new(shape)),
        Shape::Closed(_) => None,
    };
    let before = plan.dependencies.map(all_processes);
    // Threads that are started from here on run on these cores, too.
    cores::pin_current_thread(&plan.cores)
        .map_err(|errno| Failure::new(format!("cannot run on cores {:?}: {errno}", plan.cores)))?;
    let (began_unix_ns, mut collector, probes, filler) = thread::scope(|scope| {
        if let Some(renderer) = renderer {
            spawn(scope, "renderer", || {
                stand_back(plan);
                renderer.run();
            })?;
        }
        let (over, is_over) = mpsc::channel();
        let (workers, channels) = start(scope, plan, &course, timetable.as_ref(), feeds)?;
        let ready = workers.wait()?;
        let boards: Vec<_> = ready.iter().filter_map(|worker| worker.board.clone()).collect();
        let mut beside = Beside::open(plan, &boards);
        let threads: Vec<Pid> = ready.iter().map(|worker| worker.thread).collect();
        let watches = Watches::new(&threads, plan.server_pid, before, readers(plan)?, plan);
        let mut collecting =
            Collecting::new(plan, Arc::clone(&course), channels, Collector::new(plan), watches);
        let progress = Progress::begin();
        // At the first instant all threads are ready. In an open shape it is somewhat later, as requests that are due
        // while the threads wake up would be sent late.
        let beginning = Beginning::after(if plan.shape.is_open() { OPEN_LEAD_NS } else { 0 });
        begin(plan, 0, &course, beginning.at_ns);
        let filling = fill(scope, plan, timetable.as_ref(), beginning.at_ns, is_over)?;
        for turn in 0..plan.turns.len().max(1) {
            if turn > 0 {
                if !hold(turn, enough)? {
                    break;
                }
                workers.wait()?;
                begin(plan, turn, &course, now_ns());
            }
            collecting.begin();
            let mut reading = beside.begin(scope, plan, &course)?;
            // No thread begins before the others: it would take their requests.
            workers.begin();
            if turn == 0 {
                cores::keep_clear(plan.pacing, &plan.cores);
            }
            collecting.run(&progress, &Ending { worker: &workers.ended, enough });
            reading.end();
            collecting.end();
            beside = reading.wait();
            if enough.load(Relaxed) {
                break;
            }
        }
        let (collector, watches) = collecting.finish();
        drop((over, workers));
        let filler = filling.and_then(|filling| filling.join().ok());
        let Readings { stages, tasks, dependencies, speed } = beside.records(watches.ends());
        let probes = Probes { stages, tasks, dependencies, speed, ..watches.record() };
        Ok((beginning.unix_ns, collector, probes, filler))
    })?;
    match (timetable, filler) {
        (Some(table), Some(filler)) => {
            let scheduled = collector.scheduled();
            let (measured_from_ns, ends_at_ns) = (course.measured_from_ns(), course.ends_at_ns());
            collector.count_left(filler.count_left(&table, measured_from_ns, ends_at_ns, scheduled));
        }
        _ => collector.count_never_issued(&course),
    }
    Ok(collector.record(spec, &course, began_unix_ns, probes))
}

/// Reads all processes of the machine and their threads, before there is load. `server`: the root of its tree.
fn all_processes(server: Pid) -> End {
    let (apart, mut rests) = ([server, std::process::id() as Pid].into(), Rests::none());
    End::read(&mut rests).with_threads(&End::default(), &apart, &mut rests)
}

/// Begins the course at `at_ns`, or the turn of this number.
fn begin(plan: &Plan, turn: usize, course: &Course, at_ns: u64) {
    match plan.turns.get(turn) {
        Some(turn) => course.begin_turn(at_ns, turn),
        None => course.begin(at_ns),
    }
}

/// Starts the threads that read the processes.
fn readers(plan: &Plan) -> Result<Readers, Failure> {
    let (pacing, is_open) = (plan.pacing, plan.shape.is_open());
    let (cores, same_cores) = (plan.cores.clone(), plan.cores.clone());
    Ok(Readers {
        aside: Jobs::begin("aside", move || step_aside(pacing, is_open, &cores))?,
        reader: Jobs::begin("reader", move || cores::keep_clear(pacing, &same_cores))?,
        must_rest: is_open && pacing == Pacing::Sleep,
    })
}

/// The first instant of a trial, on both clocks.
struct Beginning {
    at_ns: u64,
    unix_ns: u64,
}

impl Beginning {
    /// Returns the instant `lead_ns` from now.
    fn after(lead_ns: u64) -> Self {
        let at_ns = now_ns() + lead_ns;
        Self { at_ns, unix_ns: at_ns.wrapping_add(unix_ahead_ns()) }
    }
}

/// Sets where the calling thread runs, which reads rows of samples: due requests must not wait for it.
fn step_aside(pacing: Pacing, is_open: bool, cores: &[usize]) {
    match pacing {
        // A thread that never sleeps leaves nothing of its core.
        Pacing::Spin => cores::keep_off(cores),
        Pacing::Sleep if is_open => cores::step_aside(),
        // Requests of a closed load can wait for this thread. At idle priority it might get no core at all.
        Pacing::Sleep => {}
    }
}

/// Sets where a thread runs that the workers wait for if it does not keep up. It runs after them, but always gets
/// some time: at idle priority a busy server on the same core would leave it none, and the workers would have to
/// wait.
fn stand_back(plan: &Plan) {
    match plan.pacing {
        Pacing::Spin => cores::keep_off(&plan.cores),
        Pacing::Sleep => cores::give_way(),
    }
}

/// Lays out the beginning of an open shape's schedule, and starts the thread that lays out the rest. This thread
/// works for a few microseconds at a time, and no other work beside the load may delay it.
fn fill<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan,
    table: Option<&'env Timetable>,
    began_ns: u64,
    is_over: Receiver<()>,
) -> Result<Option<ScopedJoinHandle<'scope, Filler>>, Failure> {
    let (Shape::Open(shape), Some(table)) = (&plan.shape, table) else {
        return Ok(None);
    };
    let warm_up_ns = plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns);
    let mut filler = Filler::new(shape, began_ns, warm_up_ns, plan.stop.requests, plan.seed);
    filler.fill(table);
    let filling = spawn(scope, "filler", move || {
        cores::keep_clear(plan.pacing, &plan.cores);
        filler.run(table, is_over)
    });
    filling.map(Some)
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, work).map_err(Failure::thread)
}

/// A worker that has its core and its memory, and waits for the beginning.
#[derive(Clone)]
struct Ready {
    thread: Pid,
    /// Its board, if the stages of requests in flight are to be read.
    board: Option<Arc<Board>>,
}

/// Starts the workers, which then wait to begin. Each lays out its users itself: memory is of the part of the machine
/// in which the core is that touches it first.
fn start<'scope, 'env>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::stamped_ns;

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

    #[test]
    fn both_clocks_name_the_same_first_instant() {
        for lead_ns in [0, OPEN_LEAD_NS] {
            let beginning = Beginning::after(lead_ns);
            // The distance between the clocks is read to the microsecond.
            let about = beginning.at_ns - 1_000_000..=beginning.at_ns + 1_000_000;
            assert!(stamped_ns(beginning.unix_ns, unix_ahead_ns(), about).is_some());
            assert!(beginning.at_ns - lead_ns <= now_ns());
        }
    }
}
