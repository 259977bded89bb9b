//! Which of the server's connections are other clients' than the load: those that were open before it began, and those that
//! are more than it opens. Pure.

use std::collections::HashSet;
use std::net::SocketAddr;

/// So much more than the load's connections may be open on average, as a budget may be a tenth off: the end of one that the
/// load has closed reaches the server a little later.
const MORE_MOST: f64 = 0.1;

/// The server's address on a connection, and the client's.
pub type Ends = (SocketAddr, SocketAddr);

pub struct OtherClients {
    /// Those that were open before the load began.
    before: HashSet<Ends>,
    /// How many connections the load opens at most.
    load_most: usize,
    /// How many other connections were open, over all lists.
    open: usize,
    lists: usize,
}

impl OtherClients {
    pub fn new(before: HashSet<Ends>, load_most: usize) -> Self {
        Self { before, load_most, open: 0, lists: 0 }
    }

    /// Returns whether the connection was there before the load.
    pub fn have(&self, ends: &Ends) -> bool {
        self.before.contains(ends)
    }

    /// Notes how many connections were open that were not there before the load.
    pub fn note(&mut self, open: usize) {
        self.open += open;
        self.lists += 1;
    }

    /// Returns why what was seen is not the load's, if there were more connections than it opens.
    pub fn doubt(&self) -> Option<String> {
        let open = self.open as f64 / self.lists.max(1) as f64;
        (open > (1.0 + MORE_MOST) * self.load_most as f64).then(|| {
            format!(
                "not to be read here: other clients use the server, too: {open:.0} connections with it were open on \
                 average, and the load has {}",
                self.load_most
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_connections_than_the_load_opens_are_another_clients() {
        let with = |open: &[usize]| {
            let mut others = OtherClients::new(HashSet::new(), 100);
            open.iter().for_each(|&open| others.note(open));
            others.doubt()
        };
        assert_eq!((with(&[]), with(&[100]), with(&[108, 108])), (None, None, None));
        assert!(with(&[100, 126]).unwrap().contains("113 connections with it were open on average"));
    }

    #[test]
    fn what_was_open_before_is_known() {
        let [one, other] = [1, 2]
            .map(|port| (SocketAddr::from(([10, 0, 0, 1], 80)), SocketAddr::from(([10, 0, 0, 2], port))));
        let others = OtherClients::new([one].into(), 1);
        assert!(others.have(&one) && !others.have(&other));
    }
}
