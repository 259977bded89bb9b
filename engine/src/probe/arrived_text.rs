//! What everybody may read of connections that have come to a port (`/proc/PID/net/tcp`), in whichever network namespace: whether a
//! program has accepted them, and whether what has come was read.

use std::{fs, io};

use super::namespace::Namespace;
use super::tcp_end::{ESTABLISHED, End};

const TABLES: [&str; 2] = ["tcp", "tcp6"];
// Which word of a line holds what, before and after the address of the peer.
const LOCAL: usize = 1;
const STATE: usize = 3;
const QUEUES: usize = 4;
const INODE: usize = 9;

/// Returns the server's end of each open connection with this port.
///
/// # Errors
/// If the table cannot be read.
pub fn read(namespace: Namespace, port: u16) -> io::Result<Vec<End>> {
    let mut found = Vec::new();
    for table in TABLES {
        match fs::read_to_string(namespace.table(table)) {
            Ok(text) => found.extend(text.lines().filter_map(|line| end(line, port))),
            // A kernel without IPv6 has no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table != TABLES[0] => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn end(line: &str, port: u16) -> Option<End> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, local_port) = words.get(LOCAL)?.rsplit_once(':')?;
    let (unacknowledged, unread) = words.get(QUEUES)?.split_once(':')?;
    let state = u8::from_str_radix(words.get(STATE)?, 16).ok()?;
    (u16::from_str_radix(local_port, 16).ok()? == port && state == ESTABLISHED).then_some(End {
        is_held: *words.get(INODE)? != "0",
        is_opening: false,
        may_send: true,
        may_hear: true,
        unread_bytes: u32::from_str_radix(unread, 16).ok()?,
        unacknowledged_bytes: u32::from_str_radix(unacknowledged, 16).ok()?,
        unsent_bytes: None,
        traffic: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_that_were_not_accepted_or_not_read_are_told_from_others() {
        for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "::1")] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut one = TcpStream::connect((client, port)).unwrap();
            let accepted = listener.accept().unwrap();
            let other = TcpStream::connect((client, port)).unwrap();
            one.write_all(b"question").unwrap();
            let mut found: Vec<_> = read(Namespace::OWN, port).unwrap();
            found.sort_by_key(|end| end.is_held);
            let told: Vec<_> = found.iter().map(|end| (end.is_held, end.unread_bytes)).collect();
            assert_eq!(told, [(false, 0), (true, 8)], "{address}");
            drop((accepted, other));
        }
    }

    #[test]
    fn what_is_no_open_connection_with_the_port_is_left_out() {
        let line = |local: &str, state: &str| {
            format!("   0: {local} 0100007F:C350 {state} 00000000:00000005 00:00000000 00000000 0 0 77 1")
        };
        let is_found = |local, state| end(&line(local, state), 0x1f90).is_some();
        assert!(is_found("0100007F:1F90", "01"));
        assert!(!is_found("0100007F:1F91", "01") && !is_found("0100007F:1F90", "0A"));
        assert!(end("  sl  local_address rem_address   st tx_queue rx_queue", 0x1f90).is_none());
    }
}
