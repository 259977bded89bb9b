//! The open shape: requests are due by a schedule that waits for no answer. A request takes a free connection. If
//! none is free, one more is opened, up to a limit; beyond the limit the request waits.

use super::timetable::Timetable;
use crate::load::{Act, Due, Ended, IDLE_POLL_NS, Load, Users, Wake};
use crate::phase::{Course, Phase};
use crate::timers::Timers;

/// A connection that could serve a request, and since when.
type Since = (u32, u64);

/// One thread's part in an open trial: the due time that it has taken from the timetable, and the connections that
/// could serve it.
pub struct OpenLoad<'a> {
    table: &'a Timetable,
    course: &'a Course,
    patience_ns: u64,
    /// Whether a number of requests ends the trial, so that each of them has to be counted.
    by_number: bool,
    /// The due time that was taken from the timetable, and whose request is not sent yet.
    due_ns: Option<u64>,
    /// Open connections. The last to become free serves first, as in the connection pools of HTTP clients. The first
    /// entry has been free for longest.
    free: Vec<Since>,
    /// Connections that are not open and may be opened. The first entry has been in this state for longest.
    unopened: Vec<Since>,
    /// Connections that are not open, and may not be opened until their backoff is over.
    backoff: Timers,
}

impl<'a> OpenLoad<'a> {
    /// `connections` connections, none of which is open yet. A request that was due `patience_ns` ago is given up.
    pub fn new(
        table: &'a Timetable,
        course: &'a Course,
        connections: usize,
        patience_ns: u64,
        by_number: bool,
    ) -> Self {
        Self {
            table,
            course,
            patience_ns,
            by_number,
            due_ns: None,
            free: Vec::with_capacity(connections),
            unopened: (0..connections as u32).rev().map(|connection| (connection, 0)).collect(),
            backoff: Timers::new(0),
        }
    }

    /// Returns when the next request is due that this thread could send. Returns `None` if none is laid out, or if
    /// this thread has no connection for it and leaves it to the other threads.
    #[inline]
    fn next_due_ns(&mut self) -> Option<u64> {
        if !self.has_room() {
            return None;
        }
        if self.due_ns.is_none() {
            self.due_ns = self.table.take();
        }
        self.due_ns
    }

    fn has_room(&self) -> bool {
        !self.free.is_empty() || !self.unopened.is_empty()
    }

    /// Returns since when there has been a connection.
    fn room_since_ns(&self) -> u64 {
        let since = |of: &Vec<Since>| of.first().map_or(u64::MAX, |&(_, since_ns)| since_ns);
        since(&self.free).min(since(&self.unopened))
    }

    fn take_connection(&mut self, users: &impl Users) -> Option<u32> {
        while let Some((connection, since_ns)) = self.free.pop() {
            if users.has_socket(connection) {
                return Some(connection);
            }
            self.may_open(connection, since_ns); // The server has closed it.
        }
        if !users.may_open() {
            return None;
        }
        self.unopened.pop().map(|(connection, _)| connection)
    }

    fn may_open(&mut self, connection: u32, since_ns: u64) {
        self.unopened.push((connection, since_ns));
        let last = self.unopened.len() - 1;
        if since_ns < self.unopened[0].1 {
            self.unopened.swap(0, last);
        }
    }
}

impl Load for OpenLoad<'_> {
    const IS_OPEN: bool = true;

    fn begin(&mut self, _phase: Phase, now_ns: u64) {
        self.backoff.begin(now_ns);
    }

    #[inline]
    fn next(&mut self, now_ns: u64, users: &impl Users) -> Option<Act> {
        while let Some((over_ns, connection)) = self.backoff.pop(now_ns) {
            self.may_open(connection, over_ns);
        }
        let due_ns = self.next_due_ns().filter(|&due_ns| due_ns <= now_ns)?;
        let phase = self.course.phase_of(due_ns);
        if now_ns - due_ns >= self.patience_ns {
            self.due_ns = None;
            return Some(Act::GiveUp { phase });
        }
        let ready_ns = due_ns.max(self.room_since_ns());
        let user = self.take_connection(users)?;
        self.due_ns = None;
        Some(Act::Send { user, phase, due: Due::At { due_ns, ready_ns } })
    }

    #[inline]
    fn ended(&mut self, ended: &Ended) -> Option<Act> {
        if ended.backoff_ns > 0 {
            self.backoff.add(ended.now_ns + ended.backoff_ns, ended.user);
        } else if ended.has_socket {
            self.free.push((ended.user, ended.freed_ns));
        } else {
            self.may_open(ended.user, ended.freed_ns);
        }
        None
    }

    #[inline]
    fn wake(&mut self, now_ns: u64) -> Wake {
        let next_ns = self.next_due_ns();
        let waits_for_filler = next_ns.is_none() && self.has_room() && !self.table.has_ended();
        let look_ns = waits_for_filler.then_some(now_ns + IDLE_POLL_NS);
        // When a backoff ends, the next request has a connection.
        let over_ns = self.backoff.next_ns();
        let due_ns = next_ns.map_or(over_ns, |next_ns| Some(over_ns.map_or(next_ns, |ns| ns.min(next_ns))));
        Wake { due_ns, look_ns }
    }

    fn left(&self, ended_ns: u64) -> Option<Phase> {
        let due_ns = self.due_ns.filter(|&due_ns| self.by_number || due_ns < ended_ns)?;
        Some(self.course.phase_of(due_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Part;
    use crate::phase::Stop;
    use crate::shape::schedule::{Open, Stretch};
    use crate::shape::timetable::Filler;
    use crate::spec::Arrivals;

    /// Whether all connections are established, or none.
    struct Standing(bool);

    impl Users for Standing {
        fn has_socket(&self, _user: u32) -> bool {
            self.0
        }

        fn is_in_flight(&self, _user: u32) -> bool {
            false
        }

        fn may_open(&self) -> bool {
            true
        }
    }

    const PATIENCE_NS: u64 = 1_000;

    /// Returns a timetable with a request every 10 ns, and the course of a trial of a microsecond.
    fn begun() -> (Timetable, Course) {
        let stretch = Stretch { from_per_ns: 0.1, to_per_ns: 0.1, length_ns: 1e9 };
        let shape =
            Open { connections: 1, arrivals: Arrivals::Even, stretches: vec![stretch], part: Part::WHOLE };
        let table = Timetable::new(&shape);
        Filler::new(&shape, 0, 0, None, 1).fill(&table);
        let course = Course::new(None, Stop { requests: None, within_ns: 1_000 });
        course.begin(0);
        (table, course)
    }

    fn send(user: u32, due_ns: u64, ready_ns: u64) -> Option<Act> {
        Some(Act::Send { user, phase: Phase::Measured, due: Due::At { due_ns, ready_ns } })
    }

    fn ended(user: u32, freed_ns: u64, backoff_ns: u64, has_socket: bool) -> Ended {
        let phase = Phase::Measured;
        Ended { user, phase, present: phase, now_ns: freed_ns, freed_ns, backoff_ns, has_socket }
    }

    #[test]
    fn connections_are_opened_as_needed_and_then_used_again() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 2, PATIENCE_NS, false);
        let users = Standing(true);
        assert_eq!(load.next(100, &users), send(0, 0, 0));
        assert_eq!(load.next(100, &users), send(1, 10, 10));
        assert_eq!(load.next(100, &users), None, "both are busy");
        load.ended(&ended(1, 50, 0, true));
        assert_eq!(load.next(100, &users), send(1, 20, 50), "ready when its connection became free");
    }

    #[test]
    fn a_connection_that_was_closed_is_there_since_it_was_closed() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let users = Standing(false);
        load.next(5, &users).unwrap();
        load.ended(&ended(0, 85, 0, false));
        assert_eq!(load.next(100, &users), send(0, 10, 85), "the queue before it is the server's");
    }

    #[test]
    fn a_connection_in_backoff_is_there_when_that_is_over() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let users = Standing(false);
        load.next(5, &users).unwrap();
        load.ended(&ended(0, 20, 30, false));
        assert_eq!((load.next(40, &users), load.wake(40).due_ns), (None, Some(50)));
        assert_eq!(load.next(60, &users), send(0, 10, 50));
    }

    #[test]
    fn a_connection_that_the_server_closed_while_it_was_free_may_be_opened() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 2, PATIENCE_NS, false);
        load.next(5, &Standing(true)).unwrap();
        load.ended(&ended(0, 6, 0, true));
        assert_eq!(load.next(10, &Standing(false)), send(0, 10, 10), "the other was never opened");
    }

    #[test]
    fn nothing_is_sent_before_it_is_due() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let users = Standing(true);
        load.next(0, &users).unwrap();
        load.ended(&ended(0, 3, 0, true));
        assert_eq!((load.wake(4).due_ns, load.next(9, &users)), (Some(10), None));
        assert_eq!(load.next(10, &users), send(0, 10, 10));
    }

    #[test]
    fn what_lost_its_patience_takes_no_connection() {
        let (table, course) = begun();
        let mut load = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let users = Standing(true);
        for _ in 0..=200 {
            assert_eq!(load.next(3_000, &users), Some(Act::GiveUp { phase: Phase::Measured }));
        }
        assert_eq!(load.next(3_000, &users), send(0, 2_010, 2_010));
    }

    #[test]
    fn a_busy_thread_leaves_the_schedule_to_others() {
        let (table, course) = begun();
        let mut busy = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let mut idle = OpenLoad::new(&table, &course, 1, PATIENCE_NS, false);
        let users = Standing(true);
        assert_eq!(busy.next(100, &users), send(0, 0, 0));
        assert_eq!((busy.next(100, &users), busy.wake(100)), (None, Wake::default()));
        assert_eq!(idle.next(100, &users), send(0, 10, 10));
    }

    #[test]
    fn what_was_taken_and_never_sent_is_left() {
        let (table, course) = begun();
        for (by_number, left) in [(false, None), (true, Some(Phase::Measured))] {
            let mut load = OpenLoad::new(&table, &course, 1, PATIENCE_NS, by_number);
            load.wake(0);
            assert_eq!(load.left(0), left, "due at the end or after it");
        }
    }
}
