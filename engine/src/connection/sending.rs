//! How a connection sends a request, in parts if the network does not take all of it at once, and what it keeps of it.

use rustix::io::Errno;

use super::{Connection, Stage, Step, Wire};
use crate::net::{Network, Ready};
use crate::outcome::{Outcome, Reason};
use crate::plan::Plan;

/// The most bytes of a request that an example shows.
const KEPT_REQUEST_BYTES: usize = 4 * 1024;

impl<S> Connection<S> {
    /// Keeps the bytes of the request in hand: all of them, or the first, for an example.
    pub(super) fn keep_request(&mut self, own: &[u8], whole: bool) {
        let more = self.more.get_or_insert_default();
        more.request.clear();
        if more.request.capacity() > KEPT_REQUEST_BYTES {
            more.request = Vec::new(); // One long request must not keep its memory for ever.
        }
        let kept = if whole { own.len() } else { own.len().min(KEPT_REQUEST_BYTES) };
        more.request.extend_from_slice(&own[..kept]);
    }

    /// Returns the beginning of the request in hand, as it was sent.
    pub fn request<'b>(&'b self, plan: &'b Plan) -> &'b [u8] {
        let bytes = match (plan.requests[usize::from(self.kind)].message.fixed(), &self.more) {
            (Some(fixed), _) => fixed,
            (None, Some(more)) => &more.request,
            (None, None) => &[],
        };
        &bytes[..bytes.len().min(KEPT_REQUEST_BYTES)]
    }

    /// Sends the request in hand over the established socket. `own` is its bytes if they are not those of its kind,
    /// or `None` if they were kept.
    #[inline]
    pub fn send<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>, own: Option<&[u8]>) -> Step {
        let fixed = wire.plan.requests[usize::from(self.kind)].message.fixed();
        let kept = || self.more.as_ref().map_or(&[][..], |more| &more.request);
        let bytes = fixed.or(own).unwrap_or_else(kept);
        let Some(socket) = &mut self.socket else {
            return Step::Pending;
        };
        let sent = match wire.net.send(socket, bytes) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => return self.broken(errno, wire),
        };
        wire.sent_bytes += sent as u64;
        if sent == bytes.len() && wire.net.flush(socket) == Ok(true) {
            self.stage = Stage::Receiving;
            return Step::Pending;
        }
        if let Some(own) = own {
            self.keep_request(own, true);
        }
        self.send_rest(wire, sent)
    }

    #[cold]
    fn send_rest<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>, sent: usize) -> Step {
        self.more.get_or_insert_default().sent = sent;
        self.stage = Stage::Sending;
        self.go_on_sending(wire)
    }

    fn go_on_sending<N: Network<Socket = S>>(&mut self, wire: &mut Wire<N>) -> Step {
        let (Some(socket), Some(more)) = (&mut self.socket, &mut self.more) else {
            return Step::Pending;
        };
        let fixed = wire.plan.requests[usize::from(self.kind)].message.fixed();
        let bytes = fixed.unwrap_or(&more.request);
        while more.sent < bytes.len() {
            match wire.net.send(socket, &bytes[more.sent..]) {
                Ok(sent) => {
                    more.sent += sent;
                    wire.sent_bytes += sent as u64;
                }
                Err(Errno::AGAIN) => return Step::Pending,
                Err(Errno::INTR) => {}
                Err(errno) => return self.broken(errno, wire),
            }
        }
        match wire.net.flush(socket) {
            Ok(true) => self.stage = Stage::Receiving,
            Ok(false) | Err(Errno::AGAIN) => {}
            Err(errno) => return self.broken(errno, wire),
        }
        Step::Pending
    }

    /// Handles a failed send. The server may have answered before it closed the connection (with 413, for instance).
    #[cold]
    fn broken<N: Network<Socket = S>>(&mut self, errno: Errno, wire: &mut Wire<N>) -> Step {
        self.stage = Stage::Sending; // In this stage the socket is closed after the answer, if one comes.
        let closed_by_server = wire.closed_by_server;
        match self.receive(true, wire) {
            Step::Pending => self.fail(Outcome::Reset, wire),
            // The kernel has already reported the reset. Now it reports only the end of the stream.
            Step::Ended(Outcome::ClosedEarly) if errno == Errno::CONNRESET => {
                wire.closed_by_server = closed_by_server;
                if self.reason == Some(Reason::NoCloseNotify) {
                    self.reason = Some(Reason::InBody);
                }
                Step::Ended(Outcome::Reset)
            }
            step => step,
        }
    }

    /// Reads while it sends: a server may answer before it has the whole request, which means that it wants no more
    /// of it (RFC 9112, 9.5).
    #[cold]
    pub(super) fn advance_sending<N: Network<Socket = S>>(
        &mut self,
        ready: Ready,
        wire: &mut Wire<N>,
    ) -> Step {
        if ready.read || ready.closed {
            let step = self.receive(ready.closed, wire);
            if step != Step::Pending {
                return step;
            }
        }
        if ready.write { self.go_on_sending(wire) } else { Step::Pending }
    }
}
