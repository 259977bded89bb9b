//! How a connection fails: the outcome of its request, and the reason.

use rustix::io::Errno;

use super::{Connection, Ended, Stage, Step, Wire};
use crate::net::Network;
use crate::outcome::{Outcome, Reason};
use crate::record::NotSentReason;

impl<S> Connection<S> {
    /// Gives up the request in flight because its time is over, and closes the socket.
    #[cold]
    pub fn give_up<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        self.reason = Some(match &self.socket {
            None => Reason::Connecting,
            Some(socket) if self.stage == Stage::Connecting => wire.net.connecting(socket),
            Some(_) => self.place(),
        });
        self.close(wire);
    }

    /// Returns where the request in flight is, over an established connection.
    fn place(&self) -> Reason {
        match self.answer.place() {
            Reason::BeforeAnswer if self.stage == Stage::Sending => Reason::Sending,
            place => place,
        }
    }

    /// Returns where the request in flight was when the server ended its connection with `outcome`.
    fn place_at_end(&self, outcome: Outcome) -> Reason {
        match self.place() {
            Reason::BeforeAnswer | Reason::Sending if !self.is_fresh => Reason::Kept,
            // The end of the stream ends such an answer properly, unless TLS did not announce it.
            Reason::UntilClose if outcome == Outcome::ClosedEarly => Reason::NoCloseNotify,
            Reason::UntilClose => Reason::InBody,
            place => place,
        }
    }

    /// Returns how an attempt to connect counts that failed at once. Nothing has left this machine then, so what has no
    /// route here was never sent.
    pub(super) fn not_begun(&mut self, errno: Errno) -> Outcome {
        // A route of the type `blackhole` is INVAL.
        if let Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::INVAL | Errno::AFNOSUPPORT = errno {
            self.not_sent = NotSentReason::Route;
            return Outcome::NotSent;
        }
        self.not_connected(errno, Reason::Connecting)
    }

    /// Keeps why TLS failed, or the tunnel that it goes through.
    #[cold]
    pub(super) fn keep_fault<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) {
        let Some(fault) = self.socket.as_ref().and_then(|socket| wire.net.why(socket)) else {
            return;
        };
        self.reason = Some(fault.reason);
        wire.tls_fault.get_or_insert(fault.words);
    }

    /// Returns how an attempt to connect counts that failed at `place`. If this machine lacks or forbids something, the
    /// server gave no answer: the request was never sent.
    pub(super) fn not_connected(&mut self, errno: Errno, place: Reason) -> Outcome {
        self.not_sent = match errno {
            Errno::ADDRNOTAVAIL => NotSentReason::Ports,
            Errno::MFILE | Errno::NFILE => NotSentReason::Descriptors,
            // ENOSPC comes from epoll, which limits the number of watches of each user.
            Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC => NotSentReason::Memory,
            Errno::PERM | Errno::ACCESS => NotSentReason::Forbidden,
            Errno::TIMEDOUT => return self.failed_for(place, Outcome::ConnectTimeout),
            Errno::CONNRESET | Errno::PIPE => return self.failed_for(place, Outcome::Reset),
            // PROTO and CONNABORTED come from TLS: the handshake failed, or the server closed the connection.
            Errno::PROTO => return self.failed_for(Reason::Tls, Outcome::Malformed),
            Errno::CONNABORTED => return self.failed_for(place, Outcome::ClosedEarly),
            Errno::CONNREFUSED => return self.failed_for(Reason::Refused, Outcome::Refused),
            Errno::NOENT => return self.failed_for(Reason::NoSocket, Outcome::Refused),
            Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN => {
                return self.failed_for(Reason::Unreachable, Outcome::Refused);
            }
            _ => return self.failed_for(Reason::ConnectError, Outcome::Refused),
        };
        Outcome::NotSent
    }

    /// Keeps `reason` unless a more exact one is known, and returns `outcome`.
    fn failed_for(&mut self, reason: Reason, outcome: Outcome) -> Outcome {
        self.reason.get_or_insert(reason);
        outcome
    }

    pub(super) fn fail<N: Network<Socket = S>>(&mut self, outcome: Outcome, wire: &mut Wire<N>) -> Step {
        if outcome != Outcome::NotSent && self.reason.is_none() {
            self.reason = Some(self.place_at_end(outcome));
        }
        if let (Outcome::Reset | Outcome::ClosedEarly, Some(socket)) = (outcome, &self.socket) {
            let end = wire.net.end(socket);
            // The end of the stream came with the peer's last segment, a reset later.
            let ago_ns = if outcome == Outcome::ClosedEarly { end.ago_ns } else { 0 };
            let at_ns = wire.net.now_ns().saturating_sub(ago_ns);
            self.more.get_or_insert_default().ended = Ended { at_ns, round_trip_ns: end.round_trip_ns };
        }
        self.close(wire);
        Step::Ended(outcome)
    }
}
