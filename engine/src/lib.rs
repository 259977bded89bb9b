//! The engine of crumple. It does everything that happens while the clock runs: it puts load on the server, reads
//! clocks and takes samples. It reads a `TrialSpec` and returns a `TrialRecord`. It does not depend on any server,
//! language or study.

mod beginning;
mod beside;
pub mod board;
mod bounds;
mod caller;
pub mod carried;
pub mod clock;
mod collecting;
mod collector;
mod connection;
mod cores;
pub mod costs;
mod dependency_watch;
mod dismissed;
mod ending;
pub mod failure;
pub mod faults;
pub mod foreign;
pub mod guard;
pub mod histogram;
pub mod hold;
pub mod http;
mod in_flight;
mod jobs;
mod ledger;
mod limits;
pub mod load;
mod memory;
pub mod net;
pub mod null_server;
pub mod outcome;
pub mod output;
mod pacer;
pub mod part;
pub mod phase;
pub mod plan;
mod preflight;
mod probe;
mod process_tree;
mod profile;
mod progress_line;
pub mod random;
mod readers;
mod record;
pub mod run;
mod sampling;
pub mod schema;
pub mod serve;
pub mod shape;
mod silence;
mod socket;
pub mod spec;
mod speed_watch;
mod spool;
mod stage_watch;
mod stream;
pub mod tally;
mod task_watch;
mod thinning;
mod timers;
pub mod tls;
#[cfg(test)]
#[allow(dead_code, reason = "tests/ uses all of it")]
mod tried;
pub mod tunnel;
mod user;
mod wakes;
pub mod watch;
mod watches;
pub mod weigh;
pub mod worker;
mod workers;
#[cfg(test)]
mod written;
