//! Real sockets: epoll, plain or TLS, with the kernel's receive timestamps converted to the monotonic clock.

use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use rustix::io::Errno;

use super::{End, Network, Ready, Received};
use crate::board::Local;
use crate::clock::{now_ns, stamped_ns, unix_ahead_ns};
use crate::failure::Failure;
use crate::outcome::{Fault, Reason};
use crate::pacer;
use crate::plan::Plan;
use crate::stream::Stream;
use crate::tls::Resumable;
use crate::tunnel::Tunnel;

const EVENTS_AT_ONCE: usize = 256;
/// With this many connections from one source, the kernel still has ports of the parity that it tries first, of which
/// there are 14,116 by default. Listening sockets get ports of the other parity, as long as no connection takes them.
const FEW_FOR_A_SOURCE: usize = 8_192;
/// How long a reading of the distance between wall clock and monotonic clock is used. Even while the wall clock is
/// being adjusted (at most 500 µs a second, adjtimex(2)), the distance changes by half a microsecond in this time.
const CLOCKS_HOLD_NS: u64 = 1_000_000;
const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::PRI)
    .union(epoll::EventFlags::ET);
const CLOSED: epoll::EventFlags =
    epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);
const WRITE: epoll::EventFlags =
    epoll::EventFlags::OUT.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

pub struct Kernel<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    /// The number of attempts to connect so far. It selects the local address of the next one.
    attempts: usize,
    /// Whether there are so many connections that the kernel is to look for a port among all ports at once.
    of_many: bool,
    /// How far the wall clock was ahead of the monotonic one when it was last read.
    unix_ahead_ns: u64,
    clocks_read_ns: u64,
    /// With TLS: for each user, what it needs to resume its last session.
    resumables: Vec<Resumable>,
}

impl<'a> Kernel<'a> {
    /// # Errors
    /// If the kernel gives no epoll instance, or cannot wait to the nanosecond.
    pub fn new(plan: &'a Plan) -> Result<Self, Failure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| Failure::new(format!("cannot create an epoll instance: {errno}")))?;
        let mut events = [const { MaybeUninit::uninit() }; 1];
        epoll::wait(&epoll, &mut events[..], Some(&pacer::timespec(0))).map_err(|errno| {
            Failure::new(format!("cannot wait to the nanosecond (epoll_pwait2): {errno}"))
                .remedy("the engine needs Linux 5.11 or later")
        })?;
        Ok(Self {
            plan,
            epoll,
            attempts: 0,
            of_many: plan.shape.connections() > FEW_FOR_A_SOURCE * plan.sources.len().max(1),
            unix_ahead_ns: unix_ahead_ns(),
            clocks_read_ns: now_ns(),
            resumables: Vec::new(),
        })
    }

    /// Connects from the next source. If that has no port left, tries the one after it, and so on.
    fn open(&mut self) -> Result<OwnedFd, Errno> {
        let sources = &self.plan.sources;
        let mut last = Errno::ADDRNOTAVAIL;
        for _ in 0..sources.len().max(1) {
            let source = (!sources.is_empty()).then(|| sources[self.attempts % sources.len()]);
            self.attempts += 1;
            match self.plan.address.connect(source, self.plan.stamped, self.of_many) {
                Err(errno @ Errno::ADDRNOTAVAIL) => last = errno,
                other => return other,
            }
        }
        Err(last)
    }
}

impl Network for Kernel<'_> {
    type Socket = Stream;

    #[inline]
    fn now_ns(&self) -> u64 {
        now_ns()
    }

    #[inline]
    fn stamped_ns(&mut self, stamp: u64, possible_ns: RangeInclusive<u64>) -> Option<u64> {
        let now_ns = *possible_ns.end();
        if now_ns.saturating_sub(self.clocks_read_ns) > CLOCKS_HOLD_NS {
            self.unix_ahead_ns = unix_ahead_ns();
            self.clocks_read_ns = now_ns;
        }
        stamped_ns(stamp, self.unix_ahead_ns, possible_ns)
    }

    #[inline]
    fn wait(&mut self, ready: &mut Vec<Ready>, sleep_ns: u64) {
        let timeout = pacer::timespec(sleep_ns);
        let mut events = [const { MaybeUninit::uninit() }; EVENTS_AT_ONCE];
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&timeout)) else {
            return; // Interrupted: a valid instance and buffer cause no other error.
        };
        for event in events.iter() {
            let flags = event.flags;
            let about = Ready {
                token: event.data.u64(),
                read: flags.contains(epoll::EventFlags::IN),
                write: flags.intersects(WRITE),
                closed: flags.intersects(CLOSED),
            };
            ready.push(about);
            // A read ends before urgent data (tcp(7)), and no edge reports what is behind it.
            if flags.contains(epoll::EventFlags::PRI) {
                ready.push(about);
            }
        }
    }

    /// Registers the socket once for its whole life. As epoll reports edges, readiness to send costs nothing while no
    /// request waits for it.
    fn connect(&mut self, token: u64) -> Result<Stream, Errno> {
        let socket = self.open()?;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(token), INTEREST)?;
        let session = self.plan.tls.as_ref().map(|tls| {
            let user = token as u32 as usize;
            if user >= self.resumables.len() {
                self.resumables.resize_with(user + 1, Resumable::default);
            }
            tls.session(&mut self.resumables[user])
        });
        let tunnel = self.plan.tunnel.clone().map(Tunnel::new);
        Ok(Stream::new(socket, session, tunnel))
    }

    fn stands(&mut self, stream: &mut Stream) -> Result<bool, Errno> {
        stream.stands()
    }

    #[inline]
    fn send(&mut self, stream: &mut Stream, bytes: &[u8]) -> Result<usize, Errno> {
        stream.send(bytes)
    }

    #[inline]
    fn flush(&mut self, stream: &mut Stream) -> Result<bool, Errno> {
        stream.flush()
    }

    #[inline]
    fn receive(&mut self, stream: &mut Stream, buffer: &mut [u8]) -> Result<Received, Errno> {
        stream.receive(buffer, self.plan.stamped)
    }

    #[inline]
    fn discards(&self, stream: &Stream) -> bool {
        stream.discards() && self.plan.address.is_tcp()
    }

    #[inline]
    fn discard(&mut self, stream: &mut Stream, buffer: &mut [u8]) -> Result<Received, Errno> {
        stream.discard(buffer, self.plan.stamped)
    }

    fn wake_at(&mut self, stream: &mut Stream, bytes: usize) {
        stream.wake_at(bytes);
    }

    fn has_more_at_hand(&self, stream: &Stream) -> bool {
        stream.has_more_at_hand()
    }

    fn is_cut(&self, stream: &Stream) -> bool {
        stream.is_cut()
    }

    fn end(&self, stream: &Stream) -> End {
        stream.end()
    }

    fn connecting(&self, stream: &Stream) -> Reason {
        stream.connecting()
    }

    fn why(&self, stream: &Stream) -> Option<Fault> {
        stream.why()
    }

    fn local(&self, stream: &Stream) -> Option<Local> {
        let local = stream.local()?;
        let source = self.plan.sources.iter().position(|source| *source == local.ip()).unwrap_or_default();
        Some(Local { source: u16::try_from(source).ok()?, port: local.port() })
    }

    fn close(&mut self, stream: Stream) {
        stream.close();
    }
}
