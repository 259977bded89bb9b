//! How a connection receives an answer, piece by piece, and how the answer ends.

use rustix::io::Errno;

use super::{Arrival, Connection, Stage, Step, Wire};
use crate::http::answer::{Expectation, Progress};
use crate::http::refined::refined;
use crate::net::{Network, Ready, Received};
use crate::outcome::{Malformed, Outcome, Reason};

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

/// The result of one read for an answer.
struct Piece {
    /// 0 = the peer has closed.
    bytes: usize,
    stamp: u64,
    /// The number of bytes that were asked for.
    asked: usize,
    /// Whether the bytes are not looked at. They are not in the buffer then.
    is_discarded: bool,
}

impl<S> Connection<S> {
    /// Acts on what the network reported of an idle connection. A server may close it. It may also have sent bytes that
    /// no request asked for; they must not be taken for the next answer.
    pub(super) fn look_after_idle<N: Network<Socket = S>>(&mut self, ready: Ready, wire: &mut Wire<N>) {
        let read = if ready.closed { Ok(0) } else { self.read_unasked(wire) };
        match read {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(0) | Err(_) => self.closed_by_server(wire),
            Ok(_) => self.close(wire),
        }
    }

    /// Reads what came over a new connection before the request in hand is sent. Returns how the request ends if
    /// something did: these bytes are not its answer.
    #[cold]
    pub fn read_before_sending<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Option<Step> {
        match self.read_unasked(wire) {
            // The end of the stream is found again after sending.
            Ok(0) | Err(Errno::AGAIN | Errno::INTR) => None,
            Ok(bytes) => Some(self.malformed(Reason::Unasked, bytes, wire)),
            Err(errno) => Some(self.unreadable(errno, wire)),
        }
    }

    /// Reads bytes that no request asked for. Returns how many came; 0 = the peer has closed.
    fn read_unasked<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Result<usize, Errno> {
        let Some(socket) = &mut self.socket else {
            return Err(Errno::AGAIN);
        };
        let received = wire.net.receive(socket, &mut wire.buffer)?;
        wire.received_bytes += received.bytes as u64;
        Ok(received.bytes)
    }

    /// Reads once. Reads again only if all that was asked for came, or if the peer has closed and what it sent before
    /// must be told from the end of the stream. The network reports what comes later.
    #[inline]
    pub(super) fn receive<N: Network<Socket = S>>(&mut self, to_the_end: bool, wire: &mut Wire<N>) -> Step {
        let expect = &wire.plan.requests[usize::from(self.kind)].expect;
        for _ in 0..READS_AT_ONCE {
            let piece = match self.read(wire) {
                Ok(Piece { bytes: 0, .. }) => return self.end_of_stream(wire),
                Ok(piece) => piece,
                Err(Errno::AGAIN) => {
                    self.wait_for_piece(wire);
                    return Step::Pending;
                }
                Err(Errno::INTR) => continue,
                Err(errno) => return self.unreadable(errno, wire),
            };
            match self.take(&piece, expect, wire) {
                Ok(Progress::More) => {}
                Ok(Progress::Whole { excess: 0 }) => return self.whole(to_the_end, expect, wire),
                Ok(Progress::Whole { .. }) => {
                    return self.malformed(self.answer.why_excess(expect), piece.bytes, wire);
                }
                Err(why) => return self.malformed(why.into(), piece.bytes, wire),
            }
            let all_came = piece.bytes < piece.asked && !to_the_end;
            if all_came && !self.socket.as_ref().is_some_and(|socket| wire.net.has_more_at_hand(socket)) {
                self.wait_for_piece(wire);
                return Step::Pending;
            }
            if !piece.is_discarded && piece.bytes == wire.buffer.len() {
                break;
            }
        }
        Step::Unread
    }

    /// Reads once: a part of the answer into the buffer, or a part that is not looked at.
    ///
    /// # Errors
    /// Those of the network; `AGAIN` if there is no socket.
    #[inline]
    fn read<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Result<Piece, Errno> {
        let Some(socket) = &mut self.socket else {
            return Err(Errno::AGAIN);
        };
        let ignored = self.answer.ignored_bytes();
        if ignored >= DISCARD_FROM_BYTES && wire.net.discards(socket) {
            let asked = ignored.min(wire.buffer.len() as u64) as usize;
            let Received { bytes, stamp } = wire.net.discard(socket, &mut wire.buffer[..asked])?;
            return Ok(Piece { bytes, stamp, asked, is_discarded: true });
        }
        let memo = &wire.memos[usize::from(self.kind)];
        let apart = memo.is_long() && self.answer.is_untouched() && !self.answer.is_hashed();
        let apart = apart && wire.net.discards(socket);
        let asked = if apart { HEAD_READ_BYTES } else { wire.buffer.len() };
        let Received { bytes, stamp } = wire.net.receive(socket, &mut wire.buffer[..asked])?;
        Ok(Piece { bytes, stamp, asked, is_discarded: false })
    }

    /// Adds a piece to the answer, and keeps when it came.
    #[inline]
    fn take<N: Network<Socket = S>>(
        &mut self,
        piece: &Piece,
        expect: &Expectation,
        wire: &mut Wire<N>,
    ) -> Result<Progress, Malformed> {
        wire.received_bytes += piece.bytes as u64;
        let is_first = self.answer.is_untouched() && self.first.seen_ns == 0;
        self.last_stamp = if wire.plan.stamped { piece.stamp } else { wire.net.now_ns() };
        let progress = if piece.is_discarded {
            self.answer.skip(piece.bytes as u64)
        } else {
            let memo = &mut wire.memos[usize::from(self.kind)];
            self.answer.feed(&wire.buffer[..piece.bytes], expect, memo)?
        };
        if is_first {
            let seen_ns = if progress == Progress::More { wire.net.now_ns() } else { 0 };
            self.first = Arrival { stamp: self.last_stamp, seen_ns };
        }
        Ok(progress)
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
        self.keep_fault(wire);
        if errno == Errno::PROTO {
            self.reason.get_or_insert(Reason::Tls);
            return self.fail(Outcome::Malformed, wire);
        }
        self.fail(Outcome::Reset, wire)
    }

    #[cold]
    pub(super) fn malformed<N: Network<Socket = S>>(
        &mut self,
        reason: Reason,
        bytes: usize,
        wire: &mut Wire<N>,
    ) -> Step {
        self.answer.keep_as_it_came(&wire.buffer[..bytes]);
        self.reason = Some(refined(reason, self.answer.kept_head()));
        self.fail(Outcome::Malformed, wire)
    }
}
