//! A network without a kernel. Sockets are numbers, the clock moves only while the loop waits or makes a call that
//! the script gives a duration, and a scripted peer is at the other end of every connection. It shows what the loop
//! does, event by event, and what it costs with more users than a machine has descriptors.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use rustix::io::Errno;

use super::{Network, Ready, Received};
use crate::board::Local;
use crate::net;
use crate::outcome::{Fault, Reason};

/// What a peer does with a request, or with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Sends these bytes.
    Bytes(&'static [u8]),
    /// Sends these bytes and closes.
    BytesAndClose(&'static [u8]),
    /// Closes without an answer.
    Close,
    Reset,
    /// Sends nothing.
    Silence,
}

/// How a peer behaves.
pub struct Script {
    /// How long it takes to establish a connection.
    pub connect_ns: u64,
    /// The result of the attempt to open a connection, by the number of the attempt (from 0).
    pub connect: fn(u32) -> Result<(), Errno>,
    /// What the peer sends when the connection stands, without a request.
    pub greeting: &'static [u8],
    /// How long it takes to answer a request.
    pub answer_ns: u64,
    /// How long it takes the engine to open a connection, and to read once.
    pub open_ns: u64,
    pub read_ns: u64,
    /// The reply to a request, by its number (from 0) over all connections.
    pub answer: fn(u64) -> Reply,
    /// How many bytes of a request a connection takes at once. It takes the next ones `answer_ns` later.
    pub takes_bytes: usize,
    /// A request is answered when this many bytes of it have come.
    pub request_bytes: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            connect_ns: 0,
            connect: |_| Ok(()),
            greeting: b"",
            answer_ns: 0,
            open_ns: 0,
            read_ns: 0,
            answer: |_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            takes_bytes: usize::MAX,
            request_bytes: 1,
        }
    }
}

/// The token of a connection: the user, and the number of the attempt.
pub struct Socket(u64);

/// The state of a user's present connection.
#[derive(Clone, Default)]
struct State {
    token: u64,
    stands: Option<Result<(), Errno>>,
    unread: &'static [u8],
    /// When the unread bytes came.
    came_ns: u64,
    /// The number of bytes taken of the present request.
    taken: usize,
    /// Whether it takes no more bytes for the moment.
    is_full: bool,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Reset,
}

pub struct Simulated {
    script: Script,
    now_ns: u64,
    states: Box<[State]>,
    /// When connections are established, when requests are answered, and when more of a request is taken. Each queue
    /// is in the order of time, since all of its entries take equally long.
    connects: VecDeque<(u64, u64)>,
    answers: VecDeque<(u64, u64)>,
    takes: VecDeque<(u64, u64)>,
    /// Answers that have come and have not been reported yet.
    came: VecDeque<Ready>,
    /// The number of connections begun, and the number of requests answered.
    connected: u32,
    requests: u64,
}

impl Simulated {
    /// A network for `users` users. Its clock begins at `now_ns`.
    pub fn new(script: Script, users: usize, now_ns: u64) -> Self {
        Self {
            script,
            now_ns,
            states: vec![State::default(); users].into_boxed_slice(),
            connects: VecDeque::new(),
            answers: VecDeque::new(),
            takes: VecDeque::new(),
            came: VecDeque::new(),
            connected: 0,
            requests: 0,
        }
    }

    fn state(&mut self, token: u64) -> &mut State {
        &mut self.states[token as u32 as usize]
    }

    fn next_event_ns(&self) -> Option<u64> {
        let first = |events: &VecDeque<(u64, u64)>| events.front().map(|&(at_ns, _)| at_ns);
        [first(&self.connects), first(&self.answers), first(&self.takes)].into_iter().flatten().min()
    }

    /// Puts what has been answered by now into the sockets, reported or not.
    fn let_answers_come(&mut self) {
        while let Some((at_ns, token)) = due(&mut self.answers, self.now_ns) {
            if self.state(token).token == token {
                let about = self.answer(at_ns, token);
                self.came.push_back(about);
            }
        }
    }

    fn answer(&mut self, at_ns: u64, token: u64) -> Ready {
        let reply = (self.script.answer)(self.requests);
        self.requests += 1;
        let state = self.state(token);
        state.came_ns = at_ns;
        state.taken = 0;
        match reply {
            Reply::Bytes(bytes) => state.unread = bytes,
            Reply::BytesAndClose(bytes) => (state.unread, state.end) = (bytes, Some(End::Closed)),
            Reply::Close => state.end = Some(End::Closed),
            Reply::Reset => state.end = Some(End::Reset),
            Reply::Silence => {}
        }
        Ready { token, read: true, write: false, closed: state.end.is_some() }
    }
}

fn due(events: &mut VecDeque<(u64, u64)>, now_ns: u64) -> Option<(u64, u64)> {
    events.front().is_some_and(|&(at_ns, _)| at_ns <= now_ns).then(|| events.pop_front()).flatten()
}

const EVENTS_AT_ONCE: usize = 256;
/// The duration of a turn of the loop that neither sleeps nor finds anything ready.
const TURN_NS: u64 = 500;

impl Network for Simulated {
    type Socket = Socket;

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn stamped_ns(&mut self, stamp: u64, possible_ns: RangeInclusive<u64>) -> Option<u64> {
        possible_ns.contains(&stamp).then_some(stamp)
    }

    fn wait(&mut self, ready: &mut Vec<Ready>, sleep_ns: u64) {
        let next_ns = if self.came.is_empty() { self.next_event_ns().unwrap_or(u64::MAX) } else { 0 };
        // A loop that polls the clock until an instant comes must see it move.
        let ends_ns = self.now_ns + sleep_ns.max(TURN_NS);
        self.now_ns = self.now_ns.max(next_ns.min(ends_ns));
        self.let_answers_come();
        while ready.len() < EVENTS_AT_ONCE {
            if let Some((_, token)) = due(&mut self.connects, self.now_ns) {
                let (greeting, came_ns) = (self.script.greeting, self.now_ns);
                let state = self.state(token);
                if state.token == token {
                    state.stands = Some(Ok(()));
                    (state.unread, state.came_ns) = (greeting, came_ns);
                    ready.push(Ready { token, read: !greeting.is_empty(), write: true, closed: false });
                }
            } else if let Some((_, token)) = due(&mut self.takes, self.now_ns) {
                let state = self.state(token);
                if state.token == token {
                    state.is_full = false;
                    ready.push(Ready { token, read: false, write: true, closed: false });
                }
            } else if let Some(about) = self.came.pop_front() {
                ready.push(about);
            } else {
                return;
            }
        }
    }

    fn connect(&mut self, token: u64) -> Result<Socket, Errno> {
        let number = self.connected;
        self.connected += 1;
        self.now_ns += self.script.open_ns;
        (self.script.connect)(number)?;
        *self.state(token) = State { token, ..State::default() };
        self.connects.push_back((self.now_ns + self.script.connect_ns, token));
        Ok(Socket(token))
    }

    fn stands(&mut self, socket: &mut Socket) -> Result<bool, Errno> {
        self.state(socket.0).stands.unwrap_or(Err(Errno::NOTCONN)).map(|()| true)
    }

    #[inline]
    fn send(&mut self, socket: &mut Socket, bytes: &[u8]) -> Result<usize, Errno> {
        let (now_ns, answer_ns) = (self.now_ns, self.script.answer_ns);
        let (takes_bytes, request_bytes) = (self.script.takes_bytes, self.script.request_bytes);
        let state = self.state(socket.0);
        match state.end {
            Some(End::Reset) => return Err(Errno::CONNRESET),
            Some(End::Closed) => return Err(Errno::PIPE),
            None if state.is_full => return Err(Errno::AGAIN),
            None => {}
        }
        let taken = bytes.len().min(takes_bytes);
        let had = state.taken;
        state.taken += taken;
        let is_asked = had < request_bytes && state.taken >= request_bytes;
        if taken < bytes.len() {
            state.is_full = true;
            self.takes.push_back((now_ns + answer_ns, socket.0));
        }
        if is_asked {
            self.answers.push_back((now_ns + answer_ns, socket.0));
        }
        Ok(taken)
    }

    #[inline]
    fn flush(&mut self, _socket: &mut Socket) -> Result<bool, Errno> {
        Ok(true)
    }

    #[inline]
    fn receive(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<Received, Errno> {
        self.now_ns += self.script.read_ns;
        self.let_answers_come();
        let state = self.state(socket.0);
        if state.unread.is_empty() {
            return match state.end {
                Some(End::Closed) => Ok(Received { bytes: 0, stamp: 0 }),
                Some(End::Reset) => Err(Errno::CONNRESET),
                None => Err(Errno::AGAIN),
            };
        }
        let bytes = state.unread.len().min(buffer.len());
        let (read, unread) = state.unread.split_at(bytes);
        buffer[..bytes].copy_from_slice(read);
        state.unread = unread;
        Ok(Received { bytes, stamp: state.came_ns })
    }

    fn discards(&self, _socket: &Socket) -> bool {
        true
    }

    fn discard(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<Received, Errno> {
        self.receive(socket, buffer)
    }

    fn wake_at(&mut self, _socket: &mut Socket, _bytes: usize) {}

    fn has_more_at_hand(&self, _socket: &Socket) -> bool {
        false
    }

    fn is_cut(&self, _socket: &Socket) -> bool {
        false
    }

    fn end(&self, socket: &Socket) -> net::End {
        let state = &self.states[socket.0 as u32 as usize];
        let ago_ns = self.now_ns.saturating_sub(state.came_ns);
        net::End { ago_ns, round_trip_ns: self.script.connect_ns }
    }

    fn connecting(&self, _socket: &Socket) -> Reason {
        Reason::Connecting
    }

    fn why(&self, _socket: &Socket) -> Option<Fault> {
        None
    }

    /// Each attempt to connect has a port of its own.
    fn local(&self, socket: &Socket) -> Option<Local> {
        Some(Local { source: 0, port: (socket.0 >> 32) as u16 })
    }

    fn close(&mut self, socket: Socket) {
        *self.state(socket.0) = State::default();
    }
}
