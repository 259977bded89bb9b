//! `crumple-engine run`: one trial from its spec to its record. This thread watches and collects;
//! the load is the workers'.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::clock::{now_ns, unix_ns};
use crate::collector::Collector;
use crate::failure::Failure;
use crate::phase::Course;
use crate::process_tree::Pid;
use crate::record::{Probes, TrialRecord};
use crate::spec::{CONTRACT_VERSION, Plan, TrialSpec};
use crate::tally::Tally;
use crate::watch::Watch;
use crate::worker::Worker;
use crate::{cores, limits};

#[derive(clap::Args)]
pub struct Run {
    /// File that holds the TrialSpec; - is standard input
    #[arg(default_value = "-")]
    spec: PathBuf,
}

const PROGRESS_EVERY_NS: u64 = 1_000_000_000;

/// Reads the spec, runs the trial, prints the record.
///
/// # Errors
/// A spec that makes no sense (exit code 2), too few descriptors, a core that does not exist.
pub fn run(run: &Run) -> Result<(), Failure> {
    // Whoever ordered the trial has to be there to read it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let spec = read(run)?;
    let plan = spec.plan()?;
    limits::raise_descriptors(plan.shape.connections)?;
    let record = measure(spec, &plan)?;
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

fn measure(spec: TrialSpec, plan: &Plan) -> Result<TrialRecord, Failure> {
    let began_unix_ns = unix_ns();
    let course = Course::new(now_ns(), plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    let mut collector = Collector::new(plan.threads);
    let mut engine = Watch::new(std::process::id() as Pid);
    let mut server = plan.server_pid.map(Watch::new);
    thread::scope(|scope| {
        let (outbox, inbox) = mpsc::channel();
        let mut returns = Vec::new();
        for index in 0..plan.threads {
            let (spent, refill) = mpsc::channel();
            let worker = Worker::new(plan, &course, index, outbox.clone(), refill)?;
            returns.push(spent);
            let core = plan.cores.get(index % plan.cores.len().max(1)).copied();
            let core: Vec<usize> = core.into_iter().collect();
            thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn_scoped(scope, move || {
                    if cores::pin_current_thread(&core).is_ok() {
                        worker.run();
                    }
                })
                .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        }
        drop(outbox);
        cores::pin_current_thread(&plan.cores).map_err(|errno| {
            Failure::usage(format!("cannot run on cores {:?}: {errno}", plan.cores))
                .remedy("name cores that this machine lets us use")
        })?;
        let mut watches: Vec<&mut Watch> = std::iter::once(&mut engine).chain(server.as_mut()).collect();
        collect(plan, &course, &inbox, &returns, &mut collector, &mut watches);
        Ok(())
    })?;
    collector.count_not_sent(&course);
    Ok(TrialRecord {
        version: CONTRACT_VERSION,
        engine_version: env!("CARGO_PKG_VERSION").into(),
        spec,
        began_unix_ns,
        warm_up_ns: course.measured_from_ns() - course.began_ns,
        measured_ns: course.ends_at_ns() - course.measured_from_ns(),
        scheduled: collector.scheduled,
        outcomes: collector.outcomes,
        bodies_hashed: collector.bodies_hashed,
        received_bytes: collector.received_bytes,
        sent_bytes: collector.sent_bytes,
        connections_opened: collector.connections_opened,
        histograms: collector.histograms(),
        series: collector.series(&course),
        warm_up: collector.warm_up,
        probes: Probes {
            engine: engine.record(&course),
            server: server.map(|server| server.record(&course)),
        },
    })
}

/// Until every worker has handed in its last tally: adds up, samples, tells how it goes.
fn collect(
    plan: &Plan,
    course: &Course,
    inbox: &Receiver<Box<Tally>>,
    returns: &[Sender<Box<Tally>>],
    collector: &mut Collector,
    watches: &mut [&mut Watch],
) {
    let mut next_sample_ns = course.began_ns;
    let mut next_progress_ns = course.began_ns + PROGRESS_EVERY_NS;
    let (mut is_open, mut is_closed) = (false, false);
    let mut working = plan.threads;
    let mut turn = 0;
    while working > 0 {
        let now_ns = now_ns();
        if !is_open && now_ns >= course.measured_from_ns() {
            is_open = true;
            watches.iter_mut().for_each(|watch| watch.open(course.measured_from_ns()));
        } else if !is_closed && now_ns >= course.ends_at_ns() {
            is_closed = true;
            watches.iter_mut().for_each(|watch| watch.close(course.ends_at_ns()));
        } else if now_ns >= next_sample_ns && !is_closed {
            watches.iter_mut().for_each(|watch| watch.sample(next_sample_ns));
            next_sample_ns +=
                plan.probe_interval_ns * (1 + (now_ns - next_sample_ns) / plan.probe_interval_ns);
        }
        if now_ns >= next_progress_ns {
            eprintln!("{}", collector.progress(course, now_ns));
            next_progress_ns += PROGRESS_EVERY_NS;
        }
        let mut wake_ns = next_sample_ns.min(next_progress_ns);
        for boundary_ns in [course.measured_from_ns(), course.ends_at_ns()] {
            if boundary_ns > now_ns {
                wake_ns = wake_ns.min(boundary_ns);
            }
        }
        match inbox.recv_timeout(Duration::from_nanos(wake_ns.saturating_sub(now_ns))) {
            Ok(tally) => {
                collector.add(&tally);
                working -= usize::from(tally.is_last);
                turn = (turn + 1) % returns.len();
                let _ = returns[turn].send(tally); // Its worker may have ended.
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if !is_closed {
        watches.iter_mut().for_each(|watch| watch.close(course.ends_at_ns()));
    }
}
