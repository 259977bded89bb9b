//! `crumple-engine watch`: the probes of a trial on the server's host, without its load, which an engine on another host
//! puts on. It follows the same course: it begins with a line `go`, as the load does, and is told what only the load
//! knows: when a warm-up by number is over (`measure`), and when the load is (`end`).

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::beginning::{Beginning, begin};
use crate::beside::Beside;
use crate::caller::{self, END, told_ns};
use crate::clock::now_ns;
use crate::failure::Failure;
use crate::output;
use crate::phase::{Course, Stop};
use crate::plan::Plan;
use crate::readers::Readers;
use crate::record::Probes;
use crate::sampling::Sampling;
use crate::spec::TrialSpec;
use crate::watches::Watches;

/// What is to be done now: a line on standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The next turn begins: at this instant, or at once if it has passed.
    Go(u64),
    /// The warm-up is over.
    Measure,
    /// The load is over.
    End,
}

/// The line on which the measured phase begins.
const MEASURE: &str = "measure";
/// How long what other threads have read may wait to be taken.
const LOOK: Duration = Duration::from_millis(50);

/// Reads the spec, follows the course of its load, and prints the probes.
///
/// # Errors
/// If the spec makes no sense, or a thread cannot be started.
pub fn run() -> Result<(), Failure> {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::new(format!("cannot read the TrialSpec: {error}")))?;
    let spec: TrialSpec = serde_json::from_str(&line)
        .map_err(|error| Failure::usage(format!("this is no TrialSpec: {error}")))?;
    let plan = spec.plan()?;
    let orders = follow()?;
    let probes = watch(&plan, &orders)?;
    let probes =
        serde_json::to_string(&probes).map_err(|error| Failure::new(format!("the probes: {error}")))?;
    output::print(&probes)
}

/// Starts the thread that reads orders. It ends the process when standard input is at its end: whoever began the trial is
/// gone.
fn follow() -> Result<Receiver<Order>, Failure> {
    let (orders, given) = mpsc::channel();
    let reading = thread::Builder::new().name("orders".to_owned()).spawn(move || read_orders(&orders));
    reading.map_err(Failure::thread)?;
    Ok(given)
}

fn read_orders(orders: &Sender<Order>) {
    let _ = caller::each_line(None, |line| {
        let order = match line {
            MEASURE => Some(Order::Measure),
            END => Some(Order::End),
            line => told_ns(line, now_ns()).map(Order::Go),
        };
        if let Some(order) = order {
            let _ = orders.send(order);
        }
    });
    std::process::exit(1);
}

fn watch(plan: &Plan, orders: &Receiver<Order>) -> Result<Probes, Failure> {
    // How many requests have ended is not known here.
    let by_time = |stop: Stop| Stop { requests: None, ..stop };
    let course = Course::new(plan.warm_up.map(|warm_up| by_time(warm_up.stop)), by_time(plan.stop));
    let course = Arc::new(course);
    let mut beside = Beside::open(plan, &[]);
    let watches = Watches::new(&[], plan.server_pid, Watches::before(plan), Readers::without_load()?, plan);
    let mut sampling = Sampling::new(Arc::clone(&course), watches);
    thread::scope(|scope| {
        for turn in 0..plan.turns.len().max(1) {
            output::complain(&format!("{{\"held\":{turn}}}"));
            let Some(told_ns) = begun(orders) else { break };
            let at_ns = if turn == 0 { Beginning::of(plan, told_ns).at_ns } else { told_ns.max(now_ns()) };
            begin(plan, turn, &course, at_ns);
            sampling.begin();
            let mut reading = beside.begin(scope, plan, &course)?;
            let is_over = sample(&mut sampling, &course, orders);
            reading.end();
            sampling.end();
            beside = reading.wait();
            if is_over {
                break;
            }
        }
        Ok(beside.record(sampling.watches))
    })
}

/// Waits until it is told when the next turn begins; `None`: the load is over.
fn begun(orders: &Receiver<Order>) -> Option<u64> {
    loop {
        match orders.recv() {
            Ok(Order::Go(told_ns)) => return Some(told_ns),
            Ok(Order::Measure) => {} // It was late.
            Ok(Order::End) | Err(_) => return None,
        }
    }
}

/// Samples until the time of the course, or of its turn, is over; true: the load is over before that.
fn sample(sampling: &mut Sampling, course: &Course, orders: &Receiver<Order>) -> bool {
    loop {
        let now = now_ns();
        if now >= course.ends_at_ns() {
            return false;
        }
        let look_ns = if sampling.sample(now) { now } else { sampling.gather(now) };
        let wait_ns = look_ns.min(course.ends_at_ns()).saturating_sub(now_ns());
        match orders.recv_timeout(LOOK.min(Duration::from_nanos(wait_ns))) {
            Ok(Order::Measure) => course.measure(now_ns()),
            Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => {
                course.stop(now_ns());
                return true;
            }
            Ok(Order::Go(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
