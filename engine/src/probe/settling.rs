//! Settles which data were last on connections of which the kernel's times do not tell it: by the other end, if it is on
//! this machine, by looking again until something happens, or by which end has replied.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::diag::Diag;
use super::exchange::{Last, Look, last_by_other_end, last_by_replies};
use super::interactive::{Place, interactive};
use super::namespace::Namespace;
use super::tcp_end::End;

/// Time between looks at the same connection.
const PAUSE: Duration = Duration::from_micros(50);
const LOOKS_AT_ONE: usize = 20;
/// Looks of one reading: with many connections there are fewer at each.
const LOOKS_AT_ALL: usize = 160;
/// Where nothing has happened for longer, nothing will within a millisecond.
const LIVELY_MS: u32 = 10;

/// A connection, and what a look at it has found.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    pub look: Look,
    /// Whether the other end is on this machine, and all that it has sent is acknowledged.
    is_quiet_there: bool,
}

/// Finds out as far as possible which data were last on these connections when they were looked at. `others`: ends of
/// connections as a survey has found them just now.
///
/// # Errors
/// If the kernel refuses a look-up.
pub fn settle(diag: &mut Diag, ties: &mut [Tie], others: &HashMap<Place, End>) -> io::Result<()> {
    for tie in &mut *ties {
        match others.get(&(tie.peer, tie.local)).filter(|there| tie.is_same_instant(there)) {
            Some(there) => tie.take_other_end(there),
            None => tie.ask_other_end(diag)?,
        }
    }
    watch(diag, ties)
}

/// Looks at lively connections until something happens.
fn watch(diag: &mut Diag, ties: &mut [Tie]) -> io::Result<()> {
    let is_open = |tie: &&mut Tie| tie.is_open() && tie.look.traffic.sent_ago_ms <= LIVELY_MS;
    let mut open: Vec<&mut Tie> = ties.iter_mut().filter(is_open).collect();
    let rounds = LOOKS_AT_ONE.min(LOOKS_AT_ALL / open.len().max(1)).max(1);
    for _ in 0..rounds {
        if open.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
        let mut still_open = Vec::new();
        for tie in open {
            if !tie.look_again(diag)? {
                still_open.push(tie);
            }
        }
        open = still_open;
    }
    Ok(())
}

/// Settles those that are still open, and of which both ends can be seen, by which end has replied. It takes a millisecond or
/// more.
///
/// # Errors
/// If the kernel refuses a look-up.
pub fn ask_who_replied(diag: &mut Diag, namespace: Namespace, ties: &mut [Tie]) -> io::Result<()> {
    let mut open: Vec<&mut Tie> = ties.iter_mut().filter(|tie| tie.is_open() && tie.is_quiet_there).collect();
    if open.is_empty() {
        return Ok(());
    }
    let wanted: Vec<Place> =
        open.iter().flat_map(|tie| [(tie.local, tie.peer), (tie.peer, tie.local)]).collect();
    let told = interactive(namespace, &wanted)?;
    for tie in &mut open {
        // It is of the first look if nothing has happened since.
        let (here, there) = (told.get(&(tie.local, tie.peer)), told.get(&(tie.peer, tie.local)));
        if !tie.look_again(diag)?
            && let (Some(&here), Some(&there)) = (here, there)
        {
            tie.look.last = last_by_replies(here, there);
        }
    }
    Ok(())
}

impl Tie {
    pub fn new((local, peer): Place, look: Look) -> Self {
        Self { local, peer, look, is_quiet_there: false }
    }

    /// Returns which data were last if nothing can be looked up any more.
    pub fn last_with(mut self, others: &HashMap<Place, End>) -> Last {
        let there = others.get(&(self.peer, self.local)).filter(|there| self.is_same_instant(there));
        if let Some(there) = there.filter(|_| self.is_open()) {
            self.take_other_end(there);
        }
        self.look.last
    }

    fn is_open(&self) -> bool {
        self.look.last == Last::Unknown
    }

    /// Returns whether the other end has had and sent the same data, so that nothing happened between the looks at both.
    fn is_same_instant(&self, there: &End) -> bool {
        let here = &self.look.traffic;
        there.traffic.is_some_and(|there| {
            (there.sent_bytes, there.received_bytes) == (here.received_bytes, here.sent_bytes)
        })
    }

    fn ask_other_end(&mut self, diag: &mut Diag) -> io::Result<()> {
        if let Some(there) = diag.end(self.peer, self.local, true)? {
            // What the other end shows is of the present. It is of the first look, too, if nothing has happened since.
            let is_settled = self.look_again(diag)?;
            if !is_settled && self.is_open() {
                self.take_other_end(&there);
            }
        }
        Ok(())
    }

    /// Takes over what the other end shows, seen when this one had the same data.
    fn take_other_end(&mut self, there: &End) {
        self.look.last = last_by_other_end(there, self.look.there.as_ref());
        self.look.there = there.traffic;
        self.is_quiet_there = there.unacknowledged_bytes == 0 && there.traffic.is_some();
    }

    /// Looks at the connection. Returns whether nothing more is to be learnt of what was last at the first look.
    fn look_again(&mut self, diag: &mut Diag) -> io::Result<bool> {
        let end = diag.end(self.local, self.peer, true)?.filter(|end| end.is_held);
        let Some((end, traffic)) = end.and_then(|end: End| Some((end, end.traffic?))) else {
            return Ok(true);
        };
        let now = Look::new(&end, traffic, Some(&self.look));
        if now.is_as(&self.look) {
            self.look.last = now.last;
            return Ok(now.last != Last::Unknown);
        }
        self.look.last = now.last_before(&self.look);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// A connection and its other end, on which so many questions were answered.
    fn connected(answered: usize) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut ends, mut bytes) = ((near, listener.accept().unwrap().0), [0; 1]);
        for _ in 0..answered {
            ends.0.write_all(b"?").unwrap();
            ends.1.read_exact(&mut bytes).unwrap();
            ends.1.write_all(b"!").unwrap();
            ends.0.read_exact(&mut bytes).unwrap();
        }
        ends
    }

    /// What is known of a connection if its times tell nothing.
    fn tie(diag: &mut Diag, socket: &TcpStream) -> Tie {
        let (local, peer) = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
        let end = diag.end(local, peer, true).unwrap().unwrap();
        let mut look = Look::new(&end, end.traffic.unwrap(), None);
        look.last = Last::Unknown;
        look.traffic.sent_ago_ms = 0;
        Tie::new((local, peer), look)
    }

    fn settled(diag: &mut Diag, tie: Tie) -> Last {
        let mut ties = [tie];
        settle(diag, &mut ties, &HashMap::new()).unwrap();
        ties[0].look.last
    }

    #[test]
    fn what_the_other_end_has_not_read_was_sent_last() {
        let mut diag = Diag::open().unwrap();
        let (mut near, _far) = connected(3);
        near.write_all(b"?").unwrap();
        let tie = tie(&mut diag, &near);
        assert_eq!(settled(&mut diag, tie), Last::Sent);
    }

    #[test]
    fn what_comes_first_afterwards_tells_what_was_last() {
        let mut diag = Diag::open().unwrap();
        let (mut near, mut far) = connected(3);
        for end in [&near, &far] {
            end.set_nodelay(true).unwrap();
        }
        near.write_all(b"?").unwrap();
        let waiting = tie(&mut diag, &near);
        far.write_all(b"!").unwrap();
        assert_eq!(settled(&mut diag, waiting), Last::Sent);
        near.read_exact(&mut [0]).unwrap();
        let idle = tie(&mut diag, &near);
        near.write_all(b"?").unwrap();
        assert_eq!(settled(&mut diag, idle), Last::Received);
        // An answer that may have come first, and one that came last.
        let both = tie(&mut diag, &near);
        for _ in 0..2 {
            near.write_all(b"?").unwrap();
            far.write_all(b"!").unwrap();
        }
        assert_eq!(settled(&mut diag, both), Last::Unknown);
    }

    #[test]
    fn a_connection_that_is_gone_stays_unknown() {
        let mut diag = Diag::open().unwrap();
        let (near, far) = connected(3);
        let tie = tie(&mut diag, &near);
        drop((near, far));
        assert_eq!(settled(&mut diag, tie), Last::Unknown);
    }
}
