//! Which requests are in flight, and from which local port: written by a worker, read by a probe beside the load. One
//! word for each user, so that neither ever waits for the other.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The words of one worker's users, and how many of them have a request. Only that worker writes them. Nothing is
/// ordered by them: a probe sees each as it was a moment ago.
pub struct Board {
    words: Box<[AtomicU64]>,
    in_flight: AtomicU64,
}

/// The local end of a connection: the index of its address among the sources of the plan, and its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    pub source: u16,
    pub port: u16,
}

/// The request of a user, as far as the engine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// There is none.
    Nothing,
    /// Its connection is not ready for it yet. `None`: the connection has no port yet.
    Connecting(Option<Local>),
    /// The engine is about to send it.
    Sending,
    /// The engine has handed it to the kernel, or as much of it as the kernel takes.
    Sent(Local),
    /// The engine has read all of the answer, or given up, and has not counted the request yet.
    Over,
}

/// One reading of a user's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen(u64);

// A word: port and source with 16 bits each, the state, and the number of requests so far, as much of it as fits.
const SOURCE: u32 = 16;
const STATE: u32 = 32;
const REQUESTS: u32 = 35;
const LOCAL: u64 = (1 << STATE) - 1;
const STATES: u64 = 0b111 << STATE;

const NOTHING: u64 = 0;
const CONNECTING: u64 = 1 << STATE;
const SENDING: u64 = 2 << STATE;
const SENT: u64 = 3 << STATE;
const OVER: u64 = 4 << STATE;

impl Board {
    pub fn new(users: usize) -> Self {
        Self { words: (0..users).map(|_| AtomicU64::new(0)).collect(), in_flight: AtomicU64::new(0) }
    }

    pub fn users(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub fn read(&self, user: usize) -> Seen {
        Seen(self.words[user].load(Relaxed))
    }

    /// No request is in flight any more, and no connection open.
    pub fn clear(&self) {
        (0..self.words.len()).for_each(|user| self.ended(user as u32));
    }

    /// `user` has a request, and a connection is to be opened for it.
    pub fn connecting(&self, user: u32) {
        self.begin(user, |_| CONNECTING);
    }

    /// The connection of `user` is being opened from this end.
    pub fn opened_from(&self, user: u32, local: Local) {
        let word = &self.words[user as usize];
        let end = u64::from(local.source) << SOURCE | u64::from(local.port);
        word.store(word.load(Relaxed) & !LOCAL | end, Relaxed);
    }

    /// `user` has a request, which is about to be sent over the connection that it has.
    #[inline]
    pub fn sending(&self, user: u32) {
        self.begin(user, |word| word & LOCAL | SENDING);
    }

    /// The request of `user` was handed to the kernel.
    #[inline]
    pub fn sent(&self, user: u32) {
        self.go_on(user, SENT);
    }

    /// The outcome of the request of `user` is known.
    #[inline]
    pub fn over(&self, user: u32) {
        self.go_on(user, OVER);
    }

    /// The request of `user` was counted.
    #[inline]
    pub fn ended(&self, user: u32) {
        let word = &self.words[user as usize];
        let before = word.load(Relaxed);
        word.store(before & !STATES, Relaxed);
        if before & STATES != NOTHING {
            self.count(u64::MAX);
        }
    }

    #[inline]
    fn go_on(&self, user: u32, state: u64) {
        let word = &self.words[user as usize];
        let before = word.load(Relaxed);
        if before & STATES != NOTHING {
            word.store(before & !STATES | state, Relaxed);
        }
    }

    #[inline]
    fn begin(&self, user: u32, next: impl FnOnce(u64) -> u64) {
        let word = &self.words[user as usize];
        // Nobody else writes, so nothing is lost between load and store.
        let before = word.load(Relaxed);
        let requests = (before >> REQUESTS).wrapping_add(1);
        word.store(requests << REQUESTS | next(before), Relaxed);
        if before & STATES == NOTHING {
            self.count(1);
        }
    }

    #[inline]
    fn count(&self, more: u64) {
        self.in_flight.store(self.in_flight.load(Relaxed).wrapping_add(more), Relaxed);
    }
}

impl Seen {
    pub fn flight(self) -> Flight {
        let local = Local { source: (self.0 >> SOURCE) as u16, port: self.0 as u16 };
        match self.0 & STATES {
            CONNECTING => Flight::Connecting((local.port != 0).then_some(local)),
            SENDING => Flight::Sending,
            SENT => Flight::Sent(local),
            OVER => Flight::Over,
            _ => Flight::Nothing,
        }
    }

    /// Returns whether the request that was in flight then is still in flight at this later reading, over the same
    /// connection, and its outcome was known at both or at neither.
    pub fn goes_on(self, later: Self) -> bool {
        let is_over = |seen: Self| seen.0 & STATES == OVER;
        self.0 >> REQUESTS == later.0 >> REQUESTS
            && later.0 & STATES != NOTHING
            && is_over(self) == is_over(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Local = Local { source: 7, port: 40_000 };

    #[test]
    fn a_request_is_followed_from_its_connection_to_its_end() {
        let board = Board::new(3);
        let flight = || board.read(1).flight();
        assert_eq!((flight(), board.in_flight()), (Flight::Nothing, 0));
        board.connecting(1);
        assert_eq!((flight(), board.in_flight()), (Flight::Connecting(None), 1));
        board.opened_from(1, FROM);
        assert_eq!(flight(), Flight::Connecting(Some(FROM)));
        board.sent(1);
        assert_eq!((flight(), board.in_flight()), (Flight::Sent(FROM), 1));
        board.over(1);
        assert_eq!((flight(), board.in_flight()), (Flight::Over, 1));
        board.ended(1);
        assert_eq!((flight(), board.in_flight()), (Flight::Nothing, 0));
        board.sending(1);
        assert_eq!((flight(), board.in_flight()), (Flight::Sending, 1));
        board.sent(1);
        assert_eq!(flight(), Flight::Sent(FROM));
        assert_eq!([board.read(0).flight(), board.read(2).flight()], [Flight::Nothing; 2]);
    }

    #[test]
    fn the_next_request_of_the_same_connection_is_another() {
        let board = Board::new(1);
        board.connecting(0);
        board.opened_from(0, FROM);
        let first = board.read(0);
        board.sent(0);
        assert!(first.goes_on(board.read(0)), "it was only sent meanwhile");
        board.over(0);
        assert!(!first.goes_on(board.read(0)), "its answer was read meanwhile");
        assert!(board.read(0).goes_on(board.read(0)));
        board.ended(0);
        assert!(!first.goes_on(board.read(0)));
        board.sending(0);
        board.sent(0);
        assert_eq!(board.read(0).flight(), Flight::Sent(FROM));
        assert!(!first.goes_on(board.read(0)));
    }

    #[test]
    fn a_request_that_is_sent_once_more_counts_once() {
        let board = Board::new(1);
        board.connecting(0);
        board.opened_from(0, FROM);
        board.sent(0);
        let first = board.read(0);
        board.connecting(0);
        assert!(!first.goes_on(board.read(0)), "its connection is another");
        assert_eq!((board.read(0).flight(), board.in_flight()), (Flight::Connecting(None), 1));
        board.ended(0);
        board.ended(0);
        assert_eq!(board.in_flight(), 0);
        board.over(0);
        assert_eq!((board.read(0).flight(), board.in_flight()), (Flight::Nothing, 0));
    }

    #[test]
    fn what_does_not_fit_into_the_count_of_requests_changes_nothing_else() {
        let board = Board::new(1);
        board.words[0].store(!STATES, Relaxed);
        let before = board.read(0);
        board.sending(0);
        let end = Local { source: u16::MAX, port: u16::MAX };
        board.sent(0);
        assert_eq!(board.read(0).flight(), Flight::Sent(end));
        assert!(!before.goes_on(board.read(0)));
    }
}
