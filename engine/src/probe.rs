//! What the operating system reports while the load runs. Probes read, and change nothing.

mod all_processes;
mod answering;
mod arrived_text;
mod census;
mod continued;
mod counting;
mod cpu_clock;
pub mod dependencies;
pub mod diag;
mod disk_waits;
pub mod ends;
pub mod everybody;
mod exchange;
pub mod foreign;
pub mod gaps;
pub mod held_sockets;
mod interactive;
mod listening;
mod load_filter;
pub mod machine;
mod members;
mod missed;
pub mod namespace;
mod netlink;
mod opened_tcp;
mod opened_unix;
mod other_clients;
mod pace;
mod parts;
pub mod peers;
#[cfg(test)]
mod played;
pub mod processes;
mod pss;
pub mod reference;
mod reread;
pub mod rests;
pub mod sample;
pub mod schedstat;
mod server_end;
pub mod server_stages;
pub mod serving;
mod settling;
pub mod sockets;
pub mod stages;
mod stat;
mod task_files;
mod task_members;
pub mod tasks;
mod tcp_end;
mod tcp_table;
mod thread_counts;
mod thread_names;
pub mod threads;
pub mod tree_read;
mod tree_threads;
mod turned_away;
mod udp_table;
mod unix_table;

pub use cpu_clock::own_ns as own_cpu_ns;
pub use pace::Pace;

/// Returns the number that follows `name` at the beginning of a line.
fn field(text: &[u8], name: &str) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name.as_bytes()))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns how much a number that only rises rose from one reading to a later one, or `None` if one of the readings
/// lacks it.
fn rise(from: Option<u64>, to: Option<u64>) -> Option<u64> {
    Some(to?.saturating_sub(from?))
}

/// Returns the sum of what two turns came to, or `None` if one of them is not known.
pub fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

/// Returns whether a process or thread had ended when a file of it was read: before the file was opened, or after that.
fn has_ended(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}
