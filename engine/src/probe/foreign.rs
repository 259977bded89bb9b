//! What `crate::foreign` reads with the parsers of this room.

use super::{machine, netlink, schedstat, stat, task_files, tcp_end, udp_table, unix_table};

/// Reads messages of the kernel about sockets, one after another.
pub fn messages(mut bytes: &[u8]) {
    while let Some(message) = netlink::first(bytes) {
        assert!(message.bytes > 0 && message.bytes <= bytes.len());
        _ = netlink::error(message.body);
        sockets(message.body);
        bytes = &bytes[message.bytes..];
    }
}

/// Reads a row about a socket.
pub fn sockets(row: &[u8]) {
    if let Some(row) = tcp_end::Row::of(row) {
        _ = (row.local(), row.peer(), row.end());
    }
    _ = unix_table::UnixSocket::of(row);
}

/// Reads a file of `/proc` about a process, a thread, its sockets or the machine.
pub fn processes(bytes: &[u8]) {
    _ = stat::Stat::parse(1, bytes, None);
    _ = task_files::ThreadStat::parse(bytes);
    let text = String::from_utf8_lossy(bytes);
    _ = schedstat::Used::parse(&text);
    _ = machine::Reading::parse(&text);
    _ = text.lines().filter_map(udp_table::Datagram::of).count();
}
