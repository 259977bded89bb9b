//! How a connection receives an answer, piece by piece, and how the answer ends.

use rustix::io::Errno;

use super::{Arrival, Connection, Stage, Step, Wire};
use crate::http::answer::{Expectation, Progress};
use crate::net::{Network, Received};
use crate::outcome::Outcome;

/// The most reads from one connection before the others have their turn. A full buffer that is looked at ends the
/// turn sooner: parsing and hashing it takes as long as serving about a hundred other answers.
const READS_AT_ONCE: usize = 8;
/// The number of bytes to read at once if the body is long, so that little more than the head is copied.
const HEAD_READ_BYTES: usize = 2 * 1024;
/// The rest of a body that is not looked at is discarded without a copy if it is at least this long.
const DISCARD_FROM_BYTES: u64 = 8 * 1024;
/// If at least `LONG_REST_BYTES` of it are still to come, the engine waits for pieces of up to `PIECE_BYTES`. Smaller
/// pieces would wake the engine more often than there is something to do; larger ones would not fit into the kernel's
/// buffer (bench/experiments.md).
const LONG_REST_BYTES: u64 = 64 * 1024;
const PIECE_BYTES: u64 = 512 * 1024;

impl<S> Connection<S> {
    pub(super) fn has_unasked_bytes<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> bool {
        let Some(socket) = &mut self.socket else {
            return false;
        };
        let read = wire.net.receive(socket, &mut wire.buffer);
        wire.received_bytes += read.map_or(0, |received| received.bytes as u64);
        read != Err(Errno::AGAIN) && read != Err(Errno::INTR)
    }

    /// Reads once. Reads again only if all that was asked for came, or if the peer has closed and what it sent before
    /// must be told from the end of the stream. The network reports what comes later.
    #[inline]
    pub(super) fn receive<N: Network<Socket = S>>(&mut self, to_the_end: bool, wire: &mut Wire<N>) -> Step {
        let kind = usize::from(self.kind);
        let expect = &wire.plan.requests[kind].expect;
        for _ in 0..READS_AT_ONCE {
            let Some(socket) = &mut self.socket else {
                return Step::Pending;
            };
            let ignored = self.answer.ignored_bytes();
            let discards = ignored >= DISCARD_FROM_BYTES && wire.net.discards(socket);
            let (asked, read) = if discards {
                let asked = ignored.min(wire.buffer.len() as u64) as usize;
                (asked, wire.net.discard(socket, &mut wire.buffer[..asked]))
            } else {
                let apart =
                    wire.memos[kind].is_long() && self.answer.is_untouched() && !self.answer.is_hashed();
                let apart = apart && wire.net.discards(socket);
                let asked = if apart { HEAD_READ_BYTES } else { wire.buffer.len() };
                (asked, wire.net.receive(socket, &mut wire.buffer[..asked]))
            };
            let (bytes, stamp) = match read {
                Ok(Received { bytes: 0, .. }) => return self.end_of_stream(wire),
                Ok(Received { bytes, stamp }) => (bytes, stamp),
                Err(Errno::AGAIN) => {
                    self.wait_for_piece(wire);
                    return Step::Pending;
                }
                Err(Errno::INTR) => continue,
                Err(errno) => return self.unreadable(errno, wire),
            };
            wire.received_bytes += bytes as u64;
            let is_first = self.answer.is_untouched() && self.first.seen_ns == 0;
            self.last_stamp = if wire.plan.stamped { stamp } else { wire.net.now_ns() };
            let progress = if discards {
                Ok(self.answer.skip(bytes as u64))
            } else {
                self.answer.feed(&wire.buffer[..bytes], expect, &mut wire.memos[kind])
            };
            match progress {
                Ok(Progress::Whole { excess: 0 }) => {
                    if is_first {
                        self.first = Arrival { stamp: self.last_stamp, seen_ns: 0 };
                    }
                    return self.whole(to_the_end, expect, wire);
                }
                Ok(Progress::Whole { .. }) | Err(_) => return self.malformed(bytes, wire),
                Ok(Progress::More) => {
                    if is_first {
                        self.first = Arrival { stamp: self.last_stamp, seen_ns: wire.net.now_ns() };
                    }
                    let all_came = bytes < asked && !to_the_end;
                    if all_came
                        && !self.socket.as_ref().is_some_and(|socket| wire.net.has_more_at_hand(socket))
                    {
                        self.wait_for_piece(wire);
                        return Step::Pending;
                    }
                    if !discards && bytes == wire.buffer.len() {
                        break;
                    }
                }
            }
        }
        Step::Unread
    }

    /// If a long rest will not be looked at, lets the network report only a good part of it.
    #[inline]
    pub(super) fn wait_for_piece<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        let ignored = self.answer.ignored_bytes();
        if (ignored >= LONG_REST_BYTES || self.waits_for_piece)
            && let Some(socket) = self.socket.as_mut().filter(|socket| wire.net.discards(socket))
        {
            wire.net.wake_at(socket, ignored.clamp(1, PIECE_BYTES) as usize);
            self.waits_for_piece = true;
        }
    }

    #[inline]
    pub(super) fn whole<N: Network<Socket = S>>(
        &mut self,
        closing: bool,
        expect: &Expectation,
        wire: &mut Wire<N>,
    ) -> Step {
        let outcome = self.answer.outcome(expect);
        self.is_fresh = false;
        if closing || !self.answer.keeps_alive() {
            self.closed_by_server(wire);
        } else if self.stage == Stage::Sending {
            self.close(wire); // The server does not want the rest, and nothing else can be sent before it.
        }
        if std::mem::take(&mut self.waits_for_piece)
            && let Some(socket) = &mut self.socket
        {
            wire.net.wake_at(socket, 1);
        }
        self.stage = Stage::Idle;
        Step::Ended(outcome)
    }

    pub(super) fn end_of_stream<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Step {
        let is_cut = self.socket.as_ref().is_some_and(|socket| wire.net.is_cut(socket));
        if !is_cut && self.answer.end_of_stream() {
            return self.whole(true, &wire.plan.requests[usize::from(self.kind)].expect, wire);
        }
        wire.closed_by_server += 1;
        self.fail(Outcome::ClosedEarly, wire)
    }

    #[cold]
    pub(super) fn unreadable<N: Network<Socket = S>>(&mut self, errno: Errno, wire: &mut Wire<N>) -> Step {
        if wire.tls_fault.is_none() {
            wire.tls_fault = self.socket.as_ref().and_then(|socket| wire.net.why(socket));
        }
        self.fail(if errno == Errno::PROTO { Outcome::Malformed } else { Outcome::Reset }, wire)
    }

    #[cold]
    pub(super) fn malformed<N: Network<Socket = S>>(&mut self, bytes: usize, wire: &mut Wire<N>) -> Step {
        let bytes = &wire.buffer[..bytes];
        if wire.head_fault.is_none() {
            wire.head_fault = self.answer.head_fault(bytes);
        }
        self.answer.keep_as_it_came(bytes);
        self.fail(Outcome::Malformed, wire)
    }
}
