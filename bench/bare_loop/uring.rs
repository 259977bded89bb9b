//! The loop on io_uring: one multishot receive for each connection, with the kernel's timestamps, into a ring of
//! buffers that all connections share; sends whose success is not reported; one call to the kernel for each batch.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fixed, RecvMsgOut};
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::book::Book;
use crate::variant::Variant;
use crate::wire::{self, Control, Target};
use crate::{Done, Loop, now_ns};

/// The length of a buffer, for an answer and what the kernel puts before it. Longer answers come in pieces.
const BUFFER_BYTES: usize = 2048;
const PAGE_BYTES: usize = 4096;
const QUEUE: u32 = 4096;
const GROUP: u16 = 0;
/// Marks a completion of a send. Only failed sends have one.
const SEND: u64 = 1 << 32;

pub struct Uring {
    target: Target,
    stamped: bool,
    ring: IoUring,
    buffers: Buffers,
    /// Says how much of each buffer is for the control message.
    message: Box<libc::msghdr>,
    sockets: Vec<TcpStream>,
    missing: Vec<usize>,
    book: Book,
    sent: u64,
    done: Done,
}

impl Uring {
    /// Fails if io_uring cannot be had, because it is forbidden or the kernel is too old.
    pub fn new(variant: &Variant, target: &Target, connections: usize) -> io::Result<Self> {
        // The completion queue holds at least as many completions as there can be.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(2 * QUEUE)
            .build(QUEUE)?;
        let sockets: Vec<TcpStream> = (0..connections).map(|_| target.dial()).collect();
        let descriptors: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        if variant.stamped {
            sockets.iter().for_each(wire::ask_for_stamps);
        }
        let buffers = Buffers::register(
            &ring,
            connections.next_power_of_two().clamp(256, 16_384) as u16,
        )?;
        // SAFETY: zero is valid for each field.
        let mut message: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        message.msg_controllen = size_of::<Control>() as _;
        let mut uring = Self {
            target: target.clone(),
            stamped: variant.stamped,
            ring,
            buffers,
            message,
            missing: vec![0; connections],
            sockets,
            book: Book::new(connections, variant.lines, variant.first_byte),
            sent: 0,
            done: Done::default(),
        };
        for user in 0..connections {
            uring.arm(user);
        }
        uring.ring.submit()?;
        Ok(uring)
    }

    /// Begins to receive for a user. This lasts until the kernel reports its end.
    fn arm(&mut self, user: usize) {
        let message: *const libc::msghdr = &raw const *self.message;
        self.push(
            &opcode::RecvMsgMulti::new(Fixed(user as u32), message, GROUP)
                .build()
                .user_data(user as u64),
        );
    }

    #[inline]
    fn send(&mut self, user: usize, now_ns: u64) {
        self.missing[user] = self.target.answer_bytes;
        self.sent += 1;
        if self.stamped {
            self.book.sent(user, now_ns);
        }
        let (request, bytes) = (
            self.target.request.as_ptr(),
            self.target.request.len() as u32,
        );
        let entry = opcode::Send::new(Fixed(user as u32), request, bytes)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        self.push(
            &entry
                .flags(squeue::Flags::SKIP_SUCCESS)
                .user_data(SEND | user as u64),
        );
    }

    #[inline]
    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: requests and the message header live as long as the ring, and neither moves.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit().expect("the queue is submitted");
        }
    }

    /// Handles one completion. Returns the reading of the clock, or 0 if there was none.
    #[inline]
    fn complete(&mut self, completion: &cqueue::Entry, ends_ns: u64) -> u64 {
        let (user, result) = (completion.user_data() as usize, completion.result());
        assert!(
            completion.user_data() & SEND == 0,
            "send: {}",
            io::Error::from_raw_os_error(-result)
        );
        if !cqueue::more(completion.flags()) {
            self.arm(user);
        }
        let Some(buffer) = cqueue::buffer_select(completion.flags()) else {
            assert_eq!(
                -result,
                libc::ENOBUFS,
                "receive: {}",
                io::Error::from_raw_os_error(-result)
            );
            return 0;
        };
        let (bytes, stamp_unix_ns) = self.read(buffer);
        self.buffers.give_back(buffer);
        assert_ne!(bytes, 0, "the server has closed the connection");
        self.done.received_bytes += bytes as u64;
        self.missing[user] = self.missing[user]
            .checked_sub(bytes)
            .expect("answers are as long as the first");
        if self.missing[user] > 0 {
            return 0;
        }
        self.done.answered += 1;
        let seen_ns = if self.stamped { now_ns() } else { 0 };
        if self.stamped {
            self.book.answered(user, stamp_unix_ns, seen_ns);
        }
        if seen_ns < ends_ns {
            self.send(user, seen_ns);
        }
        seen_ns
    }

    /// Returns the length of the payload in a buffer, and its timestamp.
    #[inline]
    fn read(&self, buffer: u16) -> (usize, u64) {
        let out = RecvMsgOut::parse(self.buffers.get(buffer), &self.message)
            .expect("a buffer holds a header");
        let control = out.control_data();
        let stamp_unix_ns = if control.len() >= size_of::<Control>() {
            // SAFETY: it is long enough, and any bytes are a valid value.
            unsafe { control.as_ptr().cast::<Control>().read_unaligned() }.stamp_unix_ns()
        } else {
            0
        };
        (out.payload_data().len(), stamp_unix_ns)
    }
}

impl Loop for Uring {
    fn slice(&mut self, ends_ns: u64) -> Done {
        self.done = Done::default();
        self.sent = 0;
        let mut now = now_ns();
        for user in 0..self.sockets.len() {
            self.send(user, now);
        }
        let mut completions = Vec::with_capacity(QUEUE as usize);
        while self.done.answered < self.sent {
            self.ring.submit_and_wait(1).expect("completions come");
            self.done.waits += 1;
            let goes_on_until_ns = if self.stamped || now < ends_ns {
                ends_ns
            } else {
                0
            };
            completions.clear();
            completions.extend(self.ring.completion());
            let mut seen_ns = 0;
            for completion in &completions {
                seen_ns = self.complete(completion, goes_on_until_ns).max(seen_ns);
            }
            self.buffers.publish();
            now = if seen_ns == 0 { now_ns() } else { seen_ns };
        }
        self.done
    }
}

/// A ring of buffers, which the kernel takes as it needs them.
struct Buffers {
    entries: *mut BufRingEntry,
    layout: Layout,
    count: u16,
    tail: u16,
    bytes: Box<[u8]>,
}

impl Buffers {
    fn register(ring: &IoUring, count: u16) -> io::Result<Self> {
        let layout = Layout::array::<BufRingEntry>(usize::from(count))
            .and_then(|layout| layout.align_to(PAGE_BYTES))
            .map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let entries = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        assert!(!entries.is_null(), "there is memory");
        let bytes = vec![0; usize::from(count) * BUFFER_BYTES].into_boxed_slice();
        let mut buffers = Self {
            entries,
            layout,
            count,
            tail: 0,
            bytes,
        };
        // SAFETY: the entries are page-aligned and live as long as `buffers`, which is dropped after the ring (fields
        // are dropped in order).
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(entries as u64, count, GROUP, 0)?
        };
        (0..count).for_each(|buffer| buffers.give_back(buffer));
        buffers.publish();
        Ok(buffers)
    }

    fn get(&self, buffer: u16) -> &[u8] {
        &self.bytes[usize::from(buffer) * BUFFER_BYTES..][..BUFFER_BYTES]
    }

    #[inline]
    fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        let address = self.bytes[usize::from(buffer) * BUFFER_BYTES..].as_mut_ptr();
        // SAFETY: `place` is within the ring, and the kernel reads it only after the tail is published.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(address as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the first entry exists, and its tail is shared with the kernel as an atomic.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: they were allocated with this layout.
        unsafe { dealloc(self.entries.cast(), self.layout) };
    }
}
