//! The loop on epoll, edge-triggered like the engine's.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::book::Book;
use crate::variant::{Variant, Wait};
use crate::wire::{self, Target};
use crate::{Done, Loop, now_ns};

const EVENTS_AT_ONCE: usize = 256;
const TIMER: u64 = u64::MAX;
const TIMER_EVERY: Duration = Duration::from_millis(100);
/// An answer from this length on is large.
const LARGE_BYTES: usize = 16 * 1024;
/// The first piece that is read of a large answer, for its head.
const FIRST_PIECE_BYTES: usize = 4096;

pub struct Epoll {
    variant: Variant,
    target: Target,
    epoll: OwnedFd,
    timer: OwnedFd,
    sockets: Vec<TcpStream>,
    /// The number of bytes that are missing from each answer in flight.
    missing: Vec<usize>,
    /// From how many bytes on each socket is readable.
    low_water: Vec<usize>,
    book: Book,
    buffer: Box<[u8]>,
    /// The users of the present batch whose answer is whole, and its timestamp.
    whole: Vec<(u32, u64)>,
    /// The number of requests in the present slice.
    sent: u64,
    done: Done,
}

impl Epoll {
    pub fn new(variant: &Variant, target: &Target, connections: usize) -> Self {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the kernel has epoll");
        let sockets: Vec<TcpStream> = (0..connections).map(|_| target.dial()).collect();
        for (index, socket) in sockets.iter().enumerate() {
            socket
                .set_nonblocking(true)
                .expect("a socket can be non-blocking");
            if variant.stamped {
                wire::ask_for_stamps(socket);
            }
            let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(&epoll, socket, EventData::new_u64(index as u64), interest)
                .expect("it can be watched");
        }
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).expect("a timer");
        if variant.wait == Wait::Timerfd {
            let every = Timespec::try_from(TIMER_EVERY).expect("it is short");
            let when = Itimerspec {
                it_interval: every,
                it_value: every,
            };
            timerfd_settime(&timer, TimerfdTimerFlags::empty(), &when).expect("it can be set");
            epoll::add(
                &epoll,
                &timer,
                EventData::new_u64(TIMER),
                EventFlags::IN | EventFlags::ET,
            )
            .expect("it can be watched");
        }
        Self {
            variant: variant.clone(),
            target: target.clone(),
            epoll,
            timer,
            missing: vec![0; connections],
            low_water: vec![1; connections],
            sockets,
            book: Book::new(connections, variant.lines, variant.first_byte),
            buffer: vec![0; variant.buffer_bytes].into_boxed_slice(),
            whole: Vec::with_capacity(EVENTS_AT_ONCE),
            sent: 0,
            done: Done::default(),
        }
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, now_ns: u64, ends_ns: u64) {
        events.clear();
        let timeout = (self.variant.wait == Wait::Timeout).then(|| {
            let ns = ends_ns
                .saturating_sub(now_ns)
                .clamp(1_000_000, TIMER_EVERY.as_nanos() as u64);
            Timespec {
                tv_sec: (ns / 1_000_000_000) as i64,
                tv_nsec: (ns % 1_000_000_000) as _,
            }
        });
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => panic!("epoll: {errno}"),
        }
    }

    #[inline]
    fn send(&mut self, user: usize, now_ns: u64) {
        self.missing[user] = self.target.answer_bytes;
        self.sent += 1;
        if self.variant.stamped {
            self.book.sent(user, now_ns);
        }
        wire::send(&self.sockets[user], &self.target.request);
    }

    /// Reads what has come for a user. Returns the timestamp of the last piece once the answer is whole.
    #[inline]
    fn receive(&mut self, user: usize) -> Option<u64> {
        while self.missing[user] > 0 {
            let (bytes, asked, stamp_unix_ns) = self.read(user)?;
            assert_ne!(bytes, 0, "the server has closed the connection");
            self.done.received_bytes += bytes as u64;
            self.missing[user] = self.missing[user]
                .checked_sub(bytes)
                .expect("answers are as long as the first");
            let missing = self.missing[user];
            if let Some(at_most) = self.variant.low_water_bytes {
                let before = self.low_water[user];
                let low_water = missing.clamp(1, at_most);
                if low_water != before {
                    wire::set_low_water(&self.sockets[user], low_water);
                    self.low_water[user] = low_water;
                }
            }
            if missing == 0 {
                return Some(stamp_unix_ns);
            }
            if bytes < asked {
                return None; // Edges report what comes later.
            }
        }
        None
    }

    /// Reads once. Returns the bytes, the bytes asked for, and the timestamp; `None` if there is nothing to read.
    #[inline]
    fn read(&mut self, user: usize) -> Option<(usize, usize, u64)> {
        let (socket, missing) = (&self.sockets[user], self.missing[user]);
        let is_rest = missing < self.target.answer_bytes;
        let read = if self.variant.discards && is_rest {
            if self.variant.stamped {
                wire::discard_stamped(socket, missing)
            } else {
                wire::discard(socket, missing).map(|bytes| (bytes, 0))
            }
            .map(|(bytes, stamp)| (bytes, missing, stamp))
        } else {
            let is_first_of_large = self.variant.discards && missing > LARGE_BYTES;
            let room = if is_first_of_large {
                FIRST_PIECE_BYTES
            } else {
                self.buffer.len()
            };
            let buffer = &mut self.buffer[..room];
            if self.variant.stamped {
                wire::receive_stamped(socket, buffer)
            } else {
                wire::receive(socket, buffer).map(|bytes| (bytes, 0))
            }
            .map(|(bytes, stamp)| (bytes, room, stamp))
        };
        match read {
            Ok(read) => Some(read),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(errno) => panic!("receive: {errno}"),
        }
    }

    /// Receives, counts and sends one by one. Returns the last reading of the clock, or 0 if there was none.
    fn in_one_pass(&mut self, events: &[epoll::Event], ends_ns: u64) -> u64 {
        let mut seen_ns = 0;
        for event in events {
            let user = event.data.u64() as usize;
            let Some(stamp_unix_ns) = self.of_user(event).and_then(|user| self.receive(user))
            else {
                continue;
            };
            self.done.answered += 1;
            if self.variant.stamped {
                seen_ns = now_ns();
                self.book.answered(user, stamp_unix_ns, seen_ns);
            }
            if seen_ns < ends_ns {
                self.send(user, seen_ns);
            }
        }
        seen_ns
    }

    /// Receives all and counts all, in one pass or in two, and then sends all.
    fn in_passes(&mut self, events: &[epoll::Event], ends_ns: u64) -> u64 {
        let counts_apart = self.variant.passes == 3;
        self.whole.clear();
        for event in events {
            let Some(user) = self.of_user(event) else {
                continue;
            };
            let Some(stamp_unix_ns) = self.receive(user) else {
                continue;
            };
            if self.variant.stamped && !counts_apart {
                self.book.answered(user, stamp_unix_ns, now_ns());
            }
            self.whole.push((user as u32, stamp_unix_ns));
        }
        let whole = std::mem::take(&mut self.whole);
        self.done.answered += whole.len() as u64;
        if self.variant.stamped && counts_apart {
            let now_ns = now_ns();
            for &(user, stamp_unix_ns) in &whole {
                self.book.answered(user as usize, stamp_unix_ns, now_ns);
            }
        }
        let mut seen_ns = 0;
        for &(user, _) in &whole {
            if self.variant.stamped {
                seen_ns = now_ns();
            }
            if seen_ns < ends_ns {
                self.send(user as usize, seen_ns);
            }
        }
        self.whole = whole;
        seen_ns
    }

    #[inline]
    fn of_user(&self, event: &epoll::Event) -> Option<usize> {
        if event.data.u64() == TIMER {
            let _ = rustix::io::read(&self.timer, &mut [0; 8]);
            return None;
        }
        let flags = event.flags;
        flags
            .contains(EventFlags::IN)
            .then_some(event.data.u64() as usize)
    }
}

impl Loop for Epoll {
    fn slice(&mut self, ends_ns: u64) -> Done {
        self.done = Done::default();
        let mut now = now_ns();
        self.sent = 0;
        for user in 0..self.sockets.len() {
            self.send(user, now);
        }
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        while self.done.answered < self.sent {
            self.wait(&mut events, now, ends_ns);
            self.done.waits += 1;
            // A loop that measures nothing reads the clock once per batch, to know when to end.
            let goes_on_until_ns = if self.variant.stamped || now < ends_ns {
                ends_ns
            } else {
                0
            };
            let seen_ns = if self.variant.passes == 1 {
                self.in_one_pass(&events, goes_on_until_ns)
            } else {
                self.in_passes(&events, goes_on_until_ns)
            };
            now = if seen_ns == 0 { now_ns() } else { seen_ns };
        }
        self.done
    }
}
