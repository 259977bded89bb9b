//! What the operating system reports while the load runs. Probes read, and change nothing.

mod cpu_clock;
pub mod dependencies;
pub mod diag;
mod exchange;
pub mod gaps;
mod held_sockets;
mod load_filter;
pub mod machine;
mod members;
mod netlink;
mod opened_tcp;
mod opened_unix;
mod pace;
pub mod peers;
pub mod processes;
mod reread;
pub mod sample;
mod settling;
pub mod sockets;
pub mod stages;
mod stat;
mod switches;
mod tcp_end;
mod tcp_table;
pub mod threads;
mod unix_table;

pub use cpu_clock::own_ns as own_cpu_ns;
pub use pace::Pace;

/// Returns the number that follows `name` at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_ascii_whitespace().next()?.parse().ok()
}

/// Returns how much a number that only rises rose from one reading to a later one, or `None` if one of the readings
/// lacks it.
fn rise(from: Option<u64>, to: Option<u64>) -> Option<u64> {
    Some(to?.saturating_sub(from?))
}
