//! One socket's state machine: connect, send, receive. It knows nothing of schedules and keeps no
//! statistics; every call answers whether the request in hand has ended, and how.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::http::answer::{Answer, Expectation, Progress};
use crate::http::head::HeadMemo;
use crate::outcome::Outcome;

/// What all connections of a thread share while they exchange.
pub struct Wire<'a> {
    pub address: SocketAddr,
    pub epoll: OwnedFd,
    pub request: &'a [u8],
    pub expect: &'a Expectation,
    pub buffer: Box<[u8]>,
    pub memo: HeadMemo,
    pub received_bytes: u64,
    pub sent_bytes: u64,
}

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing has ended; the kernel will report when there is more to do.
    Pending,
    /// The request in hand has ended.
    Ended(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No request in hand; the socket, if any, is at rest.
    Idle,
    Connecting,
    /// So many bytes of the request are sent.
    Sending(u32),
    Receiving,
}

#[derive(Debug)]
pub struct Connection {
    socket: Option<OwnedFd>,
    stage: Stage,
    /// Requests answered on the present socket.
    pub served: u32,
    answer: Answer,
}

impl Connection {
    pub fn new() -> Self {
        Self { socket: None, stage: Stage::Idle, served: 0, answer: Answer::default() }
    }

    pub fn is_open(&self) -> bool {
        self.socket.is_some() && self.stage != Stage::Connecting
    }

    pub fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    pub fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Whether the answer in hand is hashed in full.
    pub fn is_hashed(&self) -> bool {
        self.answer.is_hashed()
    }

    /// Begins to connect. `token` is what epoll will report for this socket.
    pub fn connect(&mut self, wire: &Wire, token: u64) -> Step {
        self.served = 0;
        match open(wire, token) {
            Ok(socket) => {
                self.socket = Some(socket);
                self.stage = Stage::Connecting;
                Step::Pending
            }
            Err(errno) => Step::Ended(connect_outcome(errno)),
        }
    }

    /// Takes a request in hand; `hash` says whether its answer is of the sample that is hashed.
    #[inline]
    pub fn prepare(&mut self, hash: bool) {
        self.answer.begin(hash);
    }

    /// Sends the request over the open socket.
    #[inline]
    pub fn send(&mut self, wire: &mut Wire) -> Step {
        self.stage = Stage::Sending(0);
        self.go_on_sending(wire)
    }

    /// Acts on what epoll reported.
    #[inline]
    pub fn advance(&mut self, ready: epoll::EventFlags, wire: &mut Wire) -> Step {
        const BROKEN: epoll::EventFlags =
            epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);
        match self.stage {
            Stage::Receiving => self.receive(ready.intersects(BROKEN), wire),
            Stage::Connecting => self.finish_connecting(ready, wire),
            Stage::Sending(_) if ready.contains(epoll::EventFlags::OUT) => self.go_on_sending(wire),
            // Cut off while sending: an answer may be there all the same (413, say).
            Stage::Sending(_) if ready.intersects(BROKEN) => self.receive(true, wire),
            Stage::Sending(_) => Step::Pending,
            Stage::Idle => {
                if ready.intersects(BROKEN) {
                    self.close(); // The server gave up an idle connection; that is its right.
                }
                Step::Pending
            }
        }
    }

    /// Gives up the request in hand and the socket with it.
    pub fn close(&mut self) {
        self.socket = None;
        self.stage = Stage::Idle;
    }

    #[cold]
    fn finish_connecting(&mut self, ready: epoll::EventFlags, wire: &mut Wire) -> Step {
        let Some(socket) = &self.socket else {
            return Step::Pending;
        };
        if !ready.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            return Step::Pending;
        }
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => self.send(wire),
            Ok(Err(errno)) | Err(errno) => self.fail(connect_outcome(errno)),
        }
    }

    #[inline]
    fn go_on_sending(&mut self, wire: &mut Wire) -> Step {
        let (Some(socket), Stage::Sending(sent)) = (&self.socket, self.stage) else {
            return Step::Pending;
        };
        let mut sent = sent as usize;
        while sent < wire.request.len() {
            match net::send(socket, &wire.request[sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    sent += bytes;
                    wire.sent_bytes += bytes as u64;
                }
                Err(Errno::AGAIN) => {
                    self.stage = Stage::Sending(sent as u32);
                    return Step::Pending;
                }
                Err(Errno::INTR) => {}
                Err(_) => return self.fail(Outcome::Reset),
            }
        }
        self.stage = Stage::Receiving;
        Step::Pending
    }

    /// Reads once; again only where the buffer was filled, or where the peer has closed and what it
    /// sent before must be told from its end. Edge-triggered epoll reports anything that comes later.
    #[inline]
    fn receive(&mut self, to_the_end: bool, wire: &mut Wire) -> Step {
        loop {
            let Some(socket) = &self.socket else {
                return Step::Pending;
            };
            match net::recv(socket, &mut wire.buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => return self.end_of_stream(wire.expect),
                Ok((_, bytes)) => {
                    wire.received_bytes += bytes as u64;
                    match self.answer.feed(&wire.buffer[..bytes], wire.expect, &mut wire.memo) {
                        Ok(Progress::Whole { excess: 0 }) => return self.whole(to_the_end, wire.expect),
                        Ok(Progress::Whole { .. }) | Err(_) => return self.fail(Outcome::Malformed),
                        Ok(Progress::More) if bytes == wire.buffer.len() || to_the_end => {}
                        Ok(Progress::More) => return Step::Pending,
                    }
                }
                Err(Errno::AGAIN) => return Step::Pending,
                Err(Errno::INTR) => {}
                Err(_) => return self.fail(Outcome::Reset),
            }
        }
    }

    #[inline]
    fn whole(&mut self, closing: bool, expect: &Expectation) -> Step {
        self.served += 1;
        self.stage = Stage::Idle;
        let outcome = self.answer.outcome(expect);
        if closing || !self.answer.keeps_alive() {
            self.close();
        }
        Step::Ended(outcome)
    }

    fn end_of_stream(&mut self, expect: &Expectation) -> Step {
        if self.answer.end_of_stream() {
            return self.whole(true, expect);
        }
        self.fail(Outcome::ClosedEarly)
    }

    fn fail(&mut self, outcome: Outcome) -> Step {
        self.close();
        Step::Ended(outcome)
    }
}

/// A socket that is being connected and watched. One registration for its whole life: with edges,
/// readiness to send costs nothing while nobody waits for it.
fn open(wire: &Wire, token: u64) -> Result<OwnedFd, Errno> {
    let family = if wire.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match net::connect(&socket, &wire.address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno),
    }
    let interest =
        epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    epoll::add(&wire.epoll, &socket, epoll::EventData::new_u64(token), interest)?;
    Ok(socket)
}

/// How a failed attempt to connect counts. Running out of ports or descriptors is this side's
/// fault: such a request was never sent.
fn connect_outcome(errno: Errno) -> Outcome {
    match errno {
        Errno::CONNREFUSED => Outcome::Refused,
        Errno::TIMEDOUT => Outcome::ConnectTimeout,
        Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => Outcome::NotSent,
        Errno::CONNRESET | Errno::PIPE => Outcome::Reset,
        _ => Outcome::Refused,
    }
}
