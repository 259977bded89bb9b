//! The engine of crumple: all that runs while the clock runs. It knows no server, no language and
//! no study; a `TrialSpec` goes in, a `TrialRecord` comes out.

pub mod clock;
pub mod collector;
pub mod connection;
pub mod cores;
pub mod costs;
pub mod failure;
pub mod faults;
pub mod guard;
pub mod histogram;
pub mod http;
pub mod ledger;
pub mod limits;
pub mod null_server;
pub mod outcome;
pub mod pacer;
pub mod phase;
pub mod plan;
pub mod probe;
pub mod process_tree;
pub mod queue;
pub mod record;
pub mod run;
pub mod schema;
pub mod shape;
pub mod socket;
pub mod spec;
pub mod spool;
pub mod stream;
pub mod tally;
pub mod timetable;
pub mod tls;
pub mod user;
pub mod watch;
pub mod worker;
