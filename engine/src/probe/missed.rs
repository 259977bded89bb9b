//! Whom connections led to that were closed before any reading found them: what the kernel remembers of closed connections
//! for a minute. It does not say whose they were.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::SocketAddr;

use super::interactive::Place;

/// Fewer connections are nobody's dependency.
const LEAST: u64 = 5;

/// With whom connections were closed, and how many. They are the server's in part if it was seen to have one there, and
/// somebody's otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub address: String,
    pub number: u64,
    pub is_ours: bool,
}

/// How well the readings have found the server's connections with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// None was found to be the server's.
    Never,
    Few,
    /// So many that those that were not found are few; or others have connections there, and the server none.
    Enough,
}

/// Returns with whom connections were closed that the readings have not found, the most first. `closed`: those since the
/// beginning, each by the end that was closed first. `theirs`: where others listen, `own`: where the server does.
pub fn missed(
    closed: &HashSet<Place>,
    theirs: &BTreeSet<u16>,
    own: &BTreeSet<u16>,
    mut seen: impl FnMut(SocketAddr) -> Seen,
) -> Vec<Missed> {
    let mut numbers: BTreeMap<SocketAddr, u64> = BTreeMap::new();
    for &(local, peer) in closed {
        let far = if theirs.contains(&local.port()) { local } else { peer };
        if !own.contains(&local.port()) && !own.contains(&peer.port()) {
            *numbers.entry(far).or_default() += 1;
        }
    }
    numbers.retain(|_, number| *number >= LEAST);
    let mut missed: Vec<_> = numbers
        .into_iter()
        .map(|(address, number)| (address, number, seen(address)))
        .filter(|&(.., seen)| seen != Seen::Enough)
        .map(|(address, number, seen)| Missed {
            address: address.to_string(),
            number,
            is_ours: seen == Seen::Few,
        })
        .collect();
    missed.sort_by_key(|missed| std::cmp::Reverse((missed.is_ours, missed.number)));
    missed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_connections_count_for_whoever_listens_whichever_end_was_closed_first() {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let by_client = (0..6).map(|number| (at(50_000 + number), at(80)));
        let by_listener = (0..7).map(|number| (at(90), at(50_000 + number)));
        let few = (0..4).map(|number| (at(50_000 + number), at(100)));
        let to_server = (0..9).map(|number| (at(8080), at(50_000 + number)));
        let found_open = (0..9).map(|number| (at(50_000 + number), at(110)));
        let closed = by_client.chain(by_listener).chain(few).chain(to_server).chain(found_open).collect();
        let seen = |address: SocketAddr| match address.port() {
            110 => Seen::Enough,
            80 => Seen::Few,
            _ => Seen::Never,
        };
        let missed = missed(&closed, &[80, 90].into(), &[8080].into(), seen);
        let expected = |port, number, is_ours| Missed { address: at(port).to_string(), number, is_ours };
        assert_eq!(missed, [expected(80, 6, true), expected(90, 7, false)]);
    }
}
