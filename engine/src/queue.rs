//! One thread's part in an open trial: the due time it has taken from the timetable, and the connections
//! that are free to serve it. It sends nothing.

use crate::timetable::Timetable;

pub struct Queue<'a> {
    table: &'a Timetable,
    /// Taken from the timetable, and not served yet.
    ticket_ns: Option<u64>,
    /// Open and free, with the time since when; the last to become free is the first to serve, as in the
    /// connection pools of HTTP clients.
    free: Vec<(u32, u64)>,
    /// Not open, and may be.
    unopened: Vec<u32>,
}

/// A request and the connection that is to serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub connection: u32,
    pub due_ns: u64,
    /// From when on it could have been served: due, and a connection there for it.
    pub ready_ns: u64,
}

impl<'a> Queue<'a> {
    /// `connections` of them, none open as yet.
    pub fn new(table: &'a Timetable, connections: usize) -> Self {
        Self {
            table,
            ticket_ns: None,
            free: Vec::with_capacity(connections),
            unopened: (0..connections as u32).rev().collect(),
        }
    }

    /// When the next request is due that this thread could serve; `None` where none is laid out, or no
    /// connection is there for it.
    #[inline]
    pub fn next_due_ns(&mut self) -> Option<u64> {
        if !self.has_room() {
            return None;
        }
        if self.ticket_ns.is_none() {
            self.ticket_ns = self.table.take();
        }
        self.ticket_ns
    }

    /// Whether it could serve a request, and none is laid out as yet.
    pub fn waits_for_filler(&self) -> bool {
        self.has_room() && self.ticket_ns.is_none() && !self.table.has_ended()
    }

    fn has_room(&self) -> bool {
        !self.free.is_empty() || !self.unopened.is_empty()
    }

    /// The next request, if it is due at `now_ns`, and its connection. `has_socket` says whether a
    /// free connection is open still.
    #[inline]
    pub fn claim(&mut self, now_ns: u64, has_socket: impl Fn(u32) -> bool) -> Option<Claim> {
        let due_ns = self.next_due_ns().filter(|&due_ns| due_ns <= now_ns)?;
        let free_since_ns = self.free.first().map_or(due_ns, |&(_, since_ns)| since_ns);
        let ready_ns = if self.unopened.is_empty() { due_ns.max(free_since_ns) } else { due_ns };
        let connection = self.connection(has_socket)?;
        self.ticket_ns = None;
        Some(Claim { connection, due_ns, ready_ns })
    }

    fn connection(&mut self, has_socket: impl Fn(u32) -> bool) -> Option<u32> {
        while let Some((connection, _)) = self.free.pop() {
            if has_socket(connection) {
                return Some(connection);
            }
            self.unopened.push(connection);
        }
        self.unopened.pop()
    }

    /// A connection has ended its request at `since_ns` and is open still.
    #[inline]
    pub fn release(&mut self, connection: u32, since_ns: u64) {
        self.free.push((connection, since_ns));
    }

    /// A connection is closed, and may be opened again.
    pub fn release_unopened(&mut self, connection: u32) {
        self.unopened.push(connection);
    }

    /// The due time that was taken and never served.
    pub fn unserved_ns(&self) -> Option<u64> {
        self.ticket_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::open::{Open, Stretch};
    use crate::spec::Arrivals;
    use crate::timetable::Filler;

    /// Due every 10 ns.
    fn table() -> Timetable {
        let stretch = Stretch { from_per_ns: 0.1, to_per_ns: 0.1, length_ns: 1e9 };
        let shape = Open { connections: 1, arrivals: Arrivals::Even, stretches: vec![stretch] };
        let table = Timetable::new(&shape);
        Filler::new(&shape, 0, 0, None, 1).fill(&table);
        table
    }

    #[test]
    fn connections_are_opened_as_needed_and_then_used_again() {
        let table = table();
        let mut queue = Queue::new(&table, 2);
        assert_eq!(queue.claim(100, |_| true), Some(Claim { connection: 0, due_ns: 0, ready_ns: 0 }));
        assert_eq!(queue.claim(100, |_| true), Some(Claim { connection: 1, due_ns: 10, ready_ns: 10 }));
        assert_eq!(queue.claim(100, |_| true), None, "both are busy");
        queue.release(1, 50);
        assert_eq!(queue.claim(100, |_| true), Some(Claim { connection: 1, due_ns: 20, ready_ns: 50 }));
    }

    #[test]
    fn nothing_is_served_before_it_is_due() {
        let table = table();
        let mut queue = Queue::new(&table, 1);
        queue.claim(0, |_| true).unwrap();
        queue.release(0, 3);
        assert_eq!(queue.next_due_ns(), Some(10));
        assert_eq!(queue.claim(9, |_| true), None);
        assert_eq!(queue.claim(10, |_| true), Some(Claim { connection: 0, due_ns: 10, ready_ns: 10 }));
    }

    #[test]
    fn a_connection_that_the_server_closed_is_opened_anew() {
        let table = table();
        let mut queue = Queue::new(&table, 2);
        queue.claim(0, |_| true).unwrap();
        queue.release(0, 1);
        let claim = queue.claim(50, |_| false).unwrap();
        assert_eq!((claim.connection, claim.due_ns), (0, 10));
    }

    #[test]
    fn a_busy_thread_leaves_the_timetable_to_others() {
        let table = table();
        let (mut busy, mut idle) = (Queue::new(&table, 1), Queue::new(&table, 1));
        assert_eq!(busy.claim(100, |_| true).unwrap().due_ns, 0);
        assert_eq!(busy.next_due_ns(), None);
        assert_eq!(idle.claim(100, |_| true).unwrap().due_ns, 10);
    }
}
