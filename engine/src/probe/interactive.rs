//! Which ends of TCP connections the kernel takes for interactive (`/proc/net/tcp`). An end becomes interactive when its program
//! sends within 40 ms after data have come, and stays it until an acknowledgement that waited for data to go with had to go
//! alone. sock_diag does not say it. It asks for nothing.
//!
//! The kernel writes out its whole table for this, whatever is wanted of it. So a reading takes a millisecond, or many where
//! there are many connections.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use super::namespace::Namespace;

/// An end by its own address and that of its peer.
pub type Place = (SocketAddr, SocketAddr);

const TABLES: [&str; 2] = ["tcp", "tcp6"];
/// After how many replies an end becomes interactive. The file is there from Linux 6.7 on.
const REPLIES: &str = "/proc/sys/net/ipv4/tcp_pingpong_thresh";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// From here until the next one it took three replies.
const THREE_FROM: (u32, u32) = (5, 1);
const THREE_UNTIL: (u32, u32) = (6, 0);
/// Which word of a line holds it, in its lowest bit.
const WORD: usize = 14;
const PIECE_BYTES: usize = 64 * 1024;

/// Returns whether the kernel takes an end for interactive from its first reply on. Otherwise it tells nothing.
pub fn is_told() -> bool {
    let read = |file| fs::read_to_string(file).ok();
    match read(REPLIES) {
        Some(replies) => replies.trim() == "1",
        None => read(RELEASE).is_some_and(|release| is_from_first_reply(&release)),
    }
}

fn is_from_first_reply(release: &str) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => !(THREE_FROM..THREE_UNTIL).contains(&(major, minor)),
        _ => false,
    }
}

/// Returns of each of these ends whether it is interactive. One that is not in the tables is left out.
///
/// # Errors
/// If the tables cannot be read.
pub fn interactive(namespace: Namespace, wanted: &[Place]) -> io::Result<HashMap<Place, bool>> {
    let mut found = HashMap::new();
    for (table, is_six) in TABLES.into_iter().zip([false, true]) {
        // A connection by IPv4 is in the second table if its socket is one of IPv6.
        let missing = wanted.iter().filter(|place| !found.contains_key(*place));
        let keys: HashMap<Vec<u8>, Place> =
            missing.filter_map(|&place| Some((key(place, is_six)?, place))).collect();
        if !keys.is_empty() {
            read_lines(File::open(namespace.table(table))?, |line| found.extend(told(line, &keys)))?;
        }
    }
    Ok(found)
}

/// Calls `take` with each line.
fn read_lines(mut table: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut buffer, mut held) = (vec![0; PIECE_BYTES], 0);
    loop {
        let bytes = table.read(&mut buffer[held..])?;
        if bytes == 0 {
            return Ok(());
        }
        let end = held + bytes;
        let whole = buffer[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        buffer[..whole].split(|&byte| byte == b'\n').for_each(&mut take);
        buffer.copy_within(whole..end, 0);
        held = end - whole;
        if held == buffer.len() {
            return Err(io::Error::other("a line without an end"));
        }
    }
}

fn told(line: &[u8], keys: &HashMap<Vec<u8>, Place>) -> Option<(Place, bool)> {
    let from = line.iter().position(|&byte| byte == b':')? + 2;
    let length = keys.keys().next()?.len();
    let place = keys.get(line.get(from..from + length)?)?;
    let word = std::str::from_utf8(line).ok()?.split_ascii_whitespace().nth(WORD)?;
    Some((*place, word.parse::<u32>().ok()? & 1 == 1))
}

/// Returns how the table names an end, or `None` if it cannot be in it.
fn key((local, peer): Place, is_six: bool) -> Option<Vec<u8>> {
    Some(format!("{} {}", named(local, is_six)?, named(peer, is_six)?).into_bytes())
}

fn named(address: SocketAddr, is_six: bool) -> Option<String> {
    let octets = match (address.ip(), is_six) {
        (IpAddr::V4(ip), false) => ip.octets().to_vec(),
        (IpAddr::V4(ip), true) => ip.to_ipv6_mapped().octets().to_vec(),
        (IpAddr::V6(ip), true) => ip.octets().to_vec(),
        (IpAddr::V6(_), false) => return None,
    };
    let words = octets.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let words: String = words.map(|word| format!("{word:08X}")).collect();
    Some(format!("{words}:{:04X}", address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn releases_that_take_three_replies_are_left_out() {
        for release in ["6.0.0", "6.18.44-fc", "7.1", "5.0.3-generic", "4.19.1"] {
            assert!(is_from_first_reply(release), "{release}");
        }
        for release in ["5.1.0", "5.15.0-91-generic", "5.19", "", "six"] {
            assert!(!is_from_first_reply(release), "{release}");
        }
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        struct Pieces(&'static [u8]);
        impl Read for Pieces {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let bytes = self.0.len().min(3);
                into[..bytes].copy_from_slice(&self.0[..bytes]);
                self.0 = &self.0[bytes..];
                Ok(bytes)
            }
        }
        let mut lines = Vec::new();
        read_lines(Pieces(b"one\ntwenty\nthree\n"), |line| lines.push(line.to_vec())).unwrap();
        lines.retain(|line| !line.is_empty());
        assert_eq!(lines, [&b"one"[..], b"twenty", b"three"]);
    }

    #[test]
    fn the_end_that_has_replied_is_interactive_and_the_other_is_not() {
        if !is_told() {
            return;
        }
        for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut near = TcpStream::connect((client, port)).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            near.write_all(b"?").unwrap();
            far.read_exact(&mut [0]).unwrap();
            far.write_all(b"!").unwrap();
            near.read_exact(&mut [0]).unwrap();
            let here = (near.local_addr().unwrap(), near.peer_addr().unwrap());
            let there = (here.1, here.0);
            let nobody = (here.0, here.0);
            let found = interactive(Namespace::OWN, &[here, there, nobody]).unwrap();
            assert_eq!(found, HashMap::from([(here, false), (there, true)]), "{address}");
        }
    }
}
