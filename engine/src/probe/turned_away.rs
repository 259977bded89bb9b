//! Connections that the kernel has turned away, as the queue of a listener was full. The client asks again after a second or more.
//! Until then the server's end of the connection is not there, or not listed.

use std::fs;

use super::namespace::Namespace;

/// A client first asks again after a second (RFC 6298), then after twice as long each time.
const WAITS_S: f64 = 1.0;
/// What is not seen may be a tenth of what is, as a budget may be a tenth off.
const UNSEEN_MOST: f64 = 0.1;

/// Returns how many there were in all of this namespace: anybody may read that.
pub fn in_all(namespace: Namespace) -> Option<u64> {
    dropped(&fs::read_to_string(namespace.table("netstat")).ok()?)
}

/// Returns whether the requests of so many connections, in so long, are too many to be left out beside those that were seen
/// at the server on average.
pub fn hide_too_much(turned_away: u64, in_s: f64, seen: f64) -> bool {
    turned_away as f64 * WAITS_S > UNSEEN_MOST * seen * in_s
}

/// Returns `ListenDrops` from the two lines of `TcpExt:` in `/proc/net/netstat`: names, then values.
fn dropped(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|name| name == "ListenDrops")?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_a_tenth_of_what_is_seen_is_too_much() {
        // Twenty requests are seen for ten seconds; each that is not seen waits for one.
        assert!(!hide_too_much(0, 10.0, 20.0) && !hide_too_much(18, 10.0, 20.0));
        assert!(hide_too_much(22, 10.0, 20.0));
        assert!(hide_too_much(1, 10.0, 0.0));
    }

    #[test]
    fn the_number_is_found_by_its_name() {
        assert_eq!(
            dropped("TcpExt: ListenOverflows ListenDrops\nTcpExt: 3 5\nIpExt: A\nIpExt: 1\n"),
            Some(5)
        );
        assert_eq!(dropped("TcpExt: ListenOverflows\nTcpExt: 3\n"), None);
        assert!(in_all(Namespace::OWN).is_some());
    }
}
