//! `crumple-engine run`: one trial, from its spec to its record. This thread starts the others, collects while they load,
//! and finishes the trial. It keeps its priority, so that other work on this machine does not delay the record.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, Scope, ScopedJoinHandle};

use serde::Deserialize;

use crate::beginning::{Beginning, begin};
use crate::beside::Beside;
use crate::caller::Caller;
use crate::clock::now_ns;
use crate::collecting::{Collecting, Ending};
use crate::collector::Collector;
use crate::failure::Failure;
use crate::http::feed;
use crate::phase::Course;
use crate::plan::Plan;
use crate::process_tree::Pid;
use crate::readers::Readers;
use crate::record::TrialRecord;
use crate::shape::Shape;
use crate::shape::timetable::{Filler, Timetable};
use crate::socket::Stamping;
use crate::spec::{Pacing, TrialSpec};
use crate::watches::Watches;
use crate::workers::spawn;
use crate::{cores, preflight, workers};

#[derive(clap::Args)]
pub struct Run {
    /// File that holds the TrialSpec; - is standard input
    #[arg(default_value = "-")]
    spec: PathBuf,
}

/// Says that the load is over, or its turn.
const OVER: &str = "{\"over\":1}";

/// Reads the spec, runs the trial and prints the record. SIGINT ends the trial early; the record is printed then,
/// too.
///
/// # Errors
/// If the spec makes no sense or names something that does not exist (exit code 2), or if there are too few
/// descriptors.
pub fn run(run: &Run) -> Result<(), Failure> {
    // A trial ends with the process that started it: otherwise no process would read the record.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let mut caller = Caller::new()?;
    let spec = read(run)?;
    let mut plan = spec.plan()?;
    if spec.takes_lines() {
        caller.listen(plan.silence)?;
    }
    preflight::check(&plan)?;
    let stamping = plan.stamped.then(Stamping::begin).flatten();
    plan.stamped = stamping.is_some();
    let record = measure(TrialSpec { files: Vec::new(), ..spec }, &plan, &caller)?;
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
    let mut rest = String::new();
    if !spec.takes_lines() && input.read_to_string(&mut rest).map_err(unread)? > 0 && !rest.trim().is_empty()
    {
        return Err(wrong(&"more text follows it"));
    }
    Ok(spec)
}

fn measure(spec: TrialSpec, plan: &Plan, caller: &Caller) -> Result<TrialRecord, Failure> {
    let (feeds, renderer) = feed::feeds(&plan.requests, plan.threads, plan.part, plan.seed);
    let course = Arc::new(Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop));
    let timetable = match &plan.shape {
        Shape::Open(shape) => Some(Timetable::new(shape)),
        Shape::Closed(_) => None,
    };
    let before = Watches::before(plan);
    // Threads that are started from here on run on these cores, too.
    cores::pin_current_thread(&plan.cores)
        .map_err(|errno| Failure::new(format!("cannot run on cores {:?}: {errno}", plan.cores)))?;
    let (beginning, mut collector, probes, filler) = thread::scope(|scope| {
        if let Some(renderer) = renderer {
            spawn(scope, "renderer", || {
                stand_back(plan);
                renderer.run();
            })?;
        }
        let (over, is_over) = mpsc::channel();
        let (workers, channels) = workers::start(scope, plan, &course, timetable.as_ref(), feeds)?;
        let ready = workers.wait()?;
        let boards: Vec<_> = ready.iter().filter_map(|worker| worker.board.clone()).collect();
        let mut beside = Beside::open(plan, &boards);
        let threads: Vec<Pid> = ready.iter().map(|worker| worker.thread).collect();
        let watches = Watches::new(&threads, plan.server_pid, before, Readers::beside(plan)?, plan);
        let mut collecting =
            Collecting::new(plan, Arc::clone(&course), channels, Collector::new(plan), watches);
        let told_ns = if plan.is_told { caller.hold(0)? } else { None };
        // At the first instant all threads are ready.
        let beginning = Beginning::of(plan, told_ns.unwrap_or_default());
        begin(plan, 0, &course, beginning.at_ns);
        let filling = fill(scope, plan, timetable.as_ref(), beginning.at_ns, is_over)?;
        for turn in 0..plan.turns.len().max(1) {
            if turn > 0 {
                let Some(told_ns) = caller.hold(turn)? else { break };
                workers.wait()?;
                begin(plan, turn, &course, told_ns.max(now_ns()));
            }
            collecting.begin();
            let mut reading = beside.begin(scope, plan, &course)?;
            // No thread begins before the others: it would take their requests.
            workers.begin();
            if turn == 0 {
                cores::keep_clear(plan.pacing, &plan.cores);
            }
            collecting.run(&caller.progress, &Ending { worker: &workers.ended, enough: &caller.enough });
            if plan.is_told {
                // Whoever reads the server's processes elsewhere does not know of an end before its time.
                caller.progress.tell(OVER);
            }
            reading.end();
            collecting.end();
            beside = reading.wait();
            if caller.enough.load(Relaxed) {
                break;
            }
        }
        let (collector, watches) = collecting.finish();
        drop((over, workers));
        let filler = filling.and_then(|filling| filling.join().ok());
        let probes = beside.record(watches);
        Ok((beginning, collector, probes, filler))
    })?;
    match (timetable, filler) {
        (Some(table), Some(filler)) => {
            let scheduled = collector.scheduled();
            let (measured_from_ns, ends_at_ns) = (course.measured_from_ns(), course.ends_at_ns());
            collector.count_left(filler.count_left(&table, measured_from_ns, ends_at_ns, scheduled));
        }
        _ => collector.count_never_issued(&course),
    }
    Ok(collector.record(spec, &course, &beginning, probes))
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
