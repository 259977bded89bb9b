//! The engine's command line.

use clap::{Parser, Subcommand};
use crumple_engine::{costs, guard, hold, null_server, output, run, schema, serve, watch, weigh};
use std::ffi::CStr;
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about = "The engine of crumple: load, clocks and probes")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one trial: read a TrialSpec, report progress on standard error, print a TrialRecord
    Run(run::Run),
    /// Put loads on for a lab on another machine: read specs and commands line by line from standard input
    Serve,
    /// Read a server's processes beside a load from another host: take what `run` takes, print the probes of a TrialRecord
    Watch,
    /// Serve a fixed answer on loopback as fast as possible, for calibration
    NullServer(null_server::NullServer),
    /// Print the JSON schemas of the documents that lab and engine exchange
    Schema,
    /// Measure what system calls, context switches, threads and processes cost on this machine
    Costs(costs::Costs),
    /// Start a command, and end it and its descendants when this process's standard input closes
    Guard(guard::Guard),
    /// Stop threads, or change cores or limits of processes, until this process's standard input closes
    Hold,
    /// Compute where a server breaks: answer each line of standard input, a Weighing, with a Weighed
    Weigh,
}

/// How lists of processes name this one, whatever the name of its file is: that of a load host is its digest.
const NAME: &CStr = c"crumple-engine";

fn main() -> ExitCode {
    let _ = rustix::thread::set_name(NAME);
    let outcome = match Arguments::parse().command {
        Command::Run(run) => run::run(&run),
        Command::Serve => serve::run(),
        Command::Watch => watch::run(),
        Command::NullServer(server) => null_server::run(&server),
        Command::Schema => schema::print(),
        Command::Costs(costs) => costs::run(&costs),
        Command::Guard(guard) => guard::run(guard),
        Command::Hold => hold::run(),
        Command::Weigh => weigh::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::from(failure.exit_code)
        }
    }
}
