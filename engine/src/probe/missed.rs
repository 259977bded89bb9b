//! Whom connections led to that were closed before any reading found them: what the kernel remembers of closed connections for
//! a minute. It does not say whose they were.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::SocketAddr;

use super::interactive::Place;

/// An address with fewer closed connections is not named.
const LEAST: u64 = 5;

/// Returns how many connections with each address were closed, the most first. `closed`: those since the beginning, each by the
/// end that was closed first. `theirs`: where others listen, `own`: where the server does; `known`: the peers of which enough were found.
pub fn missed(
    closed: &HashSet<Place>,
    theirs: &BTreeSet<u16>,
    own: &BTreeSet<u16>,
    mut known: impl FnMut(SocketAddr) -> bool,
) -> Vec<(SocketAddr, u64)> {
    let mut numbers: BTreeMap<SocketAddr, u64> = BTreeMap::new();
    for &(local, peer) in closed {
        let far = if theirs.contains(&local.port()) { local } else { peer };
        if !own.contains(&local.port()) && !own.contains(&peer.port()) && !known(far) {
            *numbers.entry(far).or_default() += 1;
        }
    }
    let mut missed: Vec<_> = numbers.into_iter().filter(|&(_, number)| number >= LEAST).collect();
    missed.sort_by_key(|&(_, number)| std::cmp::Reverse(number));
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
        let missed = missed(&closed, &[80, 90].into(), &[8080].into(), |address| address == at(110));
        assert_eq!(missed, [(at(90), 7), (at(80), 6)]);
    }
}
