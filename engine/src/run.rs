//! `crumple-engine run`: one trial from its spec to its record. This thread watches and collects;
//! the load is the workers'.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::clock::{now_ns, unix_ahead_ns};
use crate::collector::Collector;
use crate::failure::Failure;
use crate::http::feed::{self, Feed};
use crate::phase::Course;
use crate::plan::Plan;
use crate::process_tree::Pid;
use crate::record::TrialRecord;
use crate::shape::Shape;
use crate::socket::Stamping;
use crate::spec::{Pacing, TrialSpec};
use crate::tally::Tally;
use crate::timetable::{Filler, Timetable};
use crate::watch::Watches;
use crate::worker::{Place, Worker};
use crate::{cores, limits};

#[derive(clap::Args)]
pub struct Run {
    /// File that holds the TrialSpec; - is standard input
    #[arg(default_value = "-")]
    spec: PathBuf,
}

const OPEN_LEAD_NS: u64 = 20_000_000;

/// Reads the spec, runs the trial, prints the record. SIGINT ends the trial early, with its record.
///
/// # Errors
/// A spec that makes no sense (exit code 2), too few descriptors, a core that does not exist.
pub fn run(run: &Run) -> Result<(), Failure> {
    // Whoever ordered the trial has to be there to read it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let enough = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&enough))
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    let spec = read(run)?;
    let mut plan = spec.plan()?;
    let stamping = plan.stamped.then(Stamping::begin).flatten();
    plan.stamped = stamping.is_some();
    limits::raise_descriptors(plan.shape.connections())?;
    let record = measure(spec, &plan, &enough)?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut output, &record)
        .map_err(io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(format!("cannot write the record: {error}")))
}

fn read(run: &Run) -> Result<TrialSpec, Failure> {
    let mut text = String::new();
    if run.spec.as_os_str() == "-" {
        io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(&run.spec).map(|read| text = read)
    }
    .map_err(|error| Failure::file("cannot read the TrialSpec", &run.spec, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("this is no TrialSpec: {error}"))
            .remedy("crumple-engine schema prints what one looks like")
    })
}

/// The ends of the channels that lead from the workers and to them, and their threads.
struct Workers {
    inbox: Receiver<Box<Tally>>,
    returns: Vec<Sender<Box<Tally>>>,
    threads: Vec<Pid>,
}

fn measure(spec: TrialSpec, plan: &Plan, enough: &AtomicBool) -> Result<TrialRecord, Failure> {
    let (feeds, renderer) = feed::feeds(&plan.requests, plan.threads, plan.seed);
    let course = Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    let timetable = match &plan.shape {
        Shape::Open(shape) => Some(Timetable::new(shape)),
        Shape::Closed(_) => None,
    };
    let mut began_unix_ns = 0;
    let mut filler = None;
    let mut collector = Collector::new(plan);
    let begin = OnceLock::new();
    // Threads that are started from here on run there, too.
    cores::pin_current_thread(&plan.cores).map_err(|errno| {
        Failure::usage(format!("cannot run on cores {:?}: {errno}", plan.cores))
            .remedy("name cores that this machine lets us use")
    })?;
    let watches = thread::scope(|scope| {
        if let Some(renderer) = renderer {
            scope.spawn(|| renderer.run());
        }
        let workers = start(scope, plan, &course, timetable.as_ref(), feeds, &begin);
        // The first instant is one at which all threads are ready; of an open shape somewhat later, since what is
        // due while they wake up would be late.
        let lead_ns = if plan.shape.is_open() { OPEN_LEAD_NS } else { 0 };
        course.begin(now_ns() + lead_ns);
        began_unix_ns = course.began_ns().wrapping_add(unix_ahead_ns());
        filler = timetable.as_ref().and_then(|table| schedule(plan, course.began_ns(), table));
        // None begins before the others: it would have their requests.
        let _ = begin.set(workers.is_ok());
        let workers = workers?;
        match plan.pacing {
            // A thread that never sleeps leaves us nothing of its core.
            Pacing::Spin => cores::keep_off(&plan.cores),
            // What is due must not wait for us. A closed load can, and may leave us nothing else.
            Pacing::Sleep if plan.shape.is_open() => cores::step_aside(),
            Pacing::Sleep => {}
        }
        let mut watches = Watches::new(&workers.threads, plan.server_pid);
        let mut fill = || {
            if let (Some(table), Some(filler)) = (&timetable, &mut filler) {
                filler.fill(table);
            }
        };
        collect(plan, &course, workers, enough, &mut fill, &mut collector, &mut watches);
        Ok(watches)
    })?;
    match (timetable, filler) {
        (Some(table), Some(filler)) => collector.count_left(filler.count_left(&table, course.ends_at_ns())),
        _ => collector.count_never_issued(&course),
    }
    Ok(collector.record(spec, &course, began_unix_ns, watches.record(&course)))
}

/// The schedule of an open shape: laid out by this thread, taken up by the workers.
fn schedule(plan: &Plan, began_ns: u64, table: &Timetable) -> Option<Filler> {
    let Shape::Open(shape) = &plan.shape else {
        return None;
    };
    let warm_up_ns = plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns);
    let mut filler = Filler::new(shape, began_ns, warm_up_ns, plan.stop.requests, plan.seed);
    filler.fill(table);
    Some(filler)
}

/// Starts the threads, which wait for `begin`.
fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan,
    course: &'env Course,
    timetable: Option<&'env Timetable>,
    feeds: Vec<Feed>,
    begin: &'env OnceLock<bool>,
) -> Result<Workers, Failure> {
    let (outbox, inbox) = mpsc::channel();
    let (telling, told) = mpsc::channel();
    let mut returns = Vec::new();
    for (index, feed) in feeds.into_iter().enumerate() {
        let (returned, spent) = mpsc::channel();
        returns.push(returned);
        let place = Place { course, timetable, thread: index, feed, outbox: outbox.clone(), spent };
        let worker = Worker::new(plan, place)?;
        let core: Vec<usize> = plan.cores.get(index % plan.cores.len().max(1)).copied().into_iter().collect();
        let telling = telling.clone();
        thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn_scoped(scope, move || {
                let pinned = cores::pin_current_thread(&core).is_ok();
                if pinned {
                    let _ = telling.send(rustix::thread::gettid().as_raw_nonzero().get());
                }
                drop(telling);
                if *begin.wait() && pinned {
                    let spent = worker.run();
                    // The thread has to be there still when it is read for the last time.
                    while spent.recv().is_ok() {}
                }
            })
            .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
    }
    drop(telling);
    Ok(Workers { inbox, returns, threads: told.iter().collect() })
}

/// Until every worker has handed in its last tally: adds up, samples, lays out what is due, tells how it
/// goes.
fn collect(
    plan: &Plan,
    course: &Course,
    workers: Workers,
    enough: &AtomicBool,
    fill: &mut dyn FnMut(),
    collector: &mut Collector,
    watches: &mut Watches,
) {
    let mut next_sample_ns = course.began_ns();
    let mut next_progress_ns = course.began_ns() + plan.progress_every_ns;
    let mut working = plan.threads;
    let mut turn = 0;
    while working > 0 {
        let now_ns = now_ns();
        if enough.load(Relaxed) {
            course.stop(now_ns);
        }
        fill();
        if now_ns >= next_sample_ns || watches.at_a_boundary(course, now_ns) {
            watches.sample(course, next_sample_ns, now_ns);
            if now_ns >= next_sample_ns {
                next_sample_ns +=
                    plan.probe_interval_ns * (1 + (now_ns - next_sample_ns) / plan.probe_interval_ns);
            }
        }
        if now_ns >= next_progress_ns {
            eprintln!("{}", collector.progress(course, now_ns));
            next_progress_ns += plan.progress_every_ns;
        }
        let mut wake_ns = next_sample_ns.min(next_progress_ns);
        for boundary_ns in [course.measured_from_ns(), course.ends_at_ns()] {
            if boundary_ns > now_ns {
                wake_ns = wake_ns.min(boundary_ns);
            }
        }
        match workers.inbox.recv_timeout(Duration::from_nanos(wake_ns.saturating_sub(now_ns))) {
            Ok(tally) => {
                collector.add(&tally);
                working -= usize::from(tally.is_last);
                turn = (turn + 1) % workers.returns.len();
                let _ = workers.returns[turn].send(tally); // Its worker may have ended.
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    watches.close(course);
}
