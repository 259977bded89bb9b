//! The engine of crumple: all that runs while the clock runs. It knows no server, no language and
//! no study; a `TrialSpec` goes in, a `TrialRecord` comes out.

mod cores;
mod failure;
mod guard;
mod process_tree;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about = "The engine of crumple: load, clocks and probes")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a command that ends, with all it started, when this process's standard input closes
    Guard(guard::Guard),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Guard(guard) => guard::run(guard),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code)
        }
    }
}
